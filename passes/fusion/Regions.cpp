//===- Regions.cpp - Convexity, wrapping, remarks -------------------------===//
#include "passes/fusion/Regions.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"

#include <cassert>

using namespace mlir;
using namespace ingot;

bool ingot::isConvex(const OpGroup &group) {
  Block *block = group.front()->getBlock();
  SmallVector<Operation *> worklist;
  llvm::SmallPtrSet<Operation *, 32> seen;
  auto visitUsers =
      [&](Operation *op) -> bool { // false: the op is outside the group, but a user is in it
    for (Operation *user : op->getUsers()) {
      Operation *top = block->findAncestorOpInBlock(*user);
      if (!top)
        continue;
      if (group.contains(top)) {
        if (!group.contains(op))
          return false;
      } else if (seen.insert(top).second) {
        worklist.push_back(top);
      }
    }
    return true;
  };
  for (Operation *op : group)
    visitUsers(op);
  while (!worklist.empty())
    if (!visitUsers(worklist.pop_back_val()))
      return false;
  return true;
}

lm::FusedOp ingot::wrap(const OpGroup &group, StringRef pattern) {
  assert(isConvex(group) && "a group must be convex");
  SmallVector<Operation *> ops(group.begin(), group.end());
  Block *block = ops.front()->getBlock();
  assert(llvm::all_of(ops, [&](Operation *op) { return op->getBlock() == block; }) &&
         "a group lies in one block");
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  SmallVector<Value> results;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !group.contains(block->findAncestorOpInBlock(*user));
          }))
        results.push_back(result);

  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  OpBuilder b(ops.back());
  Location location = FusedLoc::get(b.getContext(), locations);
  auto fused = lm::FusedOp::create(b, location, ValueRange(results).getTypes(), pattern);
  Block &body = fused.getBody().emplaceBlock();
  for (Operation *op : ops)
    op->moveBefore(&body, body.end());
  for (auto [inner, outer] : llvm::zip(results, fused.getResults()))
    inner.replaceUsesWithIf(
        outer, [&](OpOperand &use) { return !fused->isProperAncestor(use.getOwner()); });
  b.setInsertionPointToEnd(&body);
  lm::YieldOp::create(b, location, results);
  sortTopologically(block);
  return fused;
}

/// The name of the function, section or kernel that contains the op, or that the op is; usually a layer kind.
static StringRef whereIs(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op); symbol && symbol.getNameAttr())
      return symbol.getName();
  return "";
}

static remark::RemarkOpts fusionRemark(Operation *op, StringRef pattern) {
  return remark::RemarkOpts::name(pattern).category("fusion").function(whereIs(op));
}

/// "lm.linear, lm.add"; for a region, the ops in it.
static std::string namesOf(Operation *op) {
  auto fused = dyn_cast<lm::FusedOp>(op);
  if (!fused)
    return op->getName().getStringRef().str();
  std::string names;
  for (Operation &inner : fused.getBody().front().without_terminator())
    names += (names.empty() ? "" : ", ") + inner.getName().getStringRef().str();
  return names;
}

OpGroup ingot::inlineRegion(RewriterBase &rewriter, lm::FusedOp fused) {
  OpGroup ops;
  Block &body = fused.getBody().front();
  SmallVector<Value> results(body.getTerminator()->getOperands());
  while (&body.front() != body.getTerminator()) {
    ops.insert(&body.front());
    body.front().moveBefore(fused);
  }
  rewriter.replaceOp(fused, results);
  return ops;
}

lm::FusedOp ingot::fuse(const OpGroup &group, StringRef pattern) {
  lm::FusedOp fused = wrap(group, pattern);
  remarkPassed(fused, pattern, std::to_string(group.size()) + " ops in one launch");
  return fused;
}

void ingot::remarkPassed(Operation *op, StringRef pattern, const Twine &what) {
  if (op->getContext()->getRemarkEngine())
    remark::passed(op->getLoc(), fusionRemark(op, pattern))
        << what.str() << remark::metric("Op", namesOf(op));
}

void ingot::remarkMissed(Operation *op, StringRef pattern, const Twine &reason) {
  if (op->getContext()->getRemarkEngine())
    remark::missed(op->getLoc(), fusionRemark(op, pattern))
        << remark::reason("{0}", reason.str()) << remark::metric("Op", namesOf(op));
}
