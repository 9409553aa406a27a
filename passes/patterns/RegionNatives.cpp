//===- RegionNatives.cpp - Fuse, Missed, and what norms read a value ------===//
#include "dialects/lm/LmOps.h"
#include "passes/fusion/OneLaunch.h"
#include "passes/lowering/RowForms.h"
#include "passes/patterns/Natives.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using patterns::asks;
using patterns::does;
using patterns::Native;
using patterns::Run;

//===----------------------------------------------------------------------===//
// What a run remembers
//===----------------------------------------------------------------------===//

static thread_local bool nothingChanged = false;
/// Of each op the reasons that were given, while a run lasts. Ops that go may leave their address to another, which then
/// says a thing too little: it is a remark.
static thread_local llvm::DenseMap<Operation *, llvm::StringSet<>> said;
static thread_local int runs = 0;

Run::Run() { ++runs; }
Run::~Run() {
  if (--runs == 0)
    said.clear();
}
bool Run::leftAsItWas() { return std::exchange(nothingChanged, false); }

static StringRef textOf(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? text.getValue() : "";
}

static void sayMissed(Operation *op, StringRef name, const std::string &why) {
  nothingChanged = true;
  if (isa<lm::FusedOp>(op->getParentOp()))
    return; // what is fused was not missed
  if (said[op].insert((name + ": " + why).str()).second)
    remarkMissed(op, name, why);
}

/// A remark, and all stays as it is.
static void missed(PatternRewriter &, Attribute name, Attribute why, Operation *op) {
  sayMissed(op, textOf(name), textOf(why).str());
}

//===----------------------------------------------------------------------===//
// Fuse
//===----------------------------------------------------------------------===//

/// Puts the ops of a region before it, and takes it away.
static void open(PatternRewriter &rewriter, lm::FusedOp fused, OpGroup &group) {
  Block &body = fused.getBody().front();
  SmallVector<Value> results(body.getTerminator()->getOperands());
  while (&body.front() != body.getTerminator()) {
    group.insert(&body.front());
    body.front().moveBefore(fused);
  }
  rewriter.replaceOp(fused, results);
}

/// Why a kernel from outside cannot compute these ops; none: it can.
static std::optional<std::string> whyNotRowByRow(const OpGroup &group) {
  for (Operation *op : group)
    for (Operation *inner : opsOf(op))
      if (isa<lm::AttentionOp, lm::CombineOp, lm::DispatchOp, lm::EmbedOp, lm::EmbedPositionsOp,
              lm::GetWeightOp, lm::KvAppendOp, lm::LayersOp, lm::LinearOp, lm::RouteOp,
              lm::SelectRowsOp>(inner))
        return inner->getName().getStringRef().str() +
               " does not make a row of rows, vectors and a fixed state";
  return std::nullopt;
}

/// The ops that make these values become one region, if a launch can compute it. Regions among them are taken in.
template <std::optional<std::string> whyNot(const OpGroup &)>
static void fuseOps(PatternRewriter &rewriter, Attribute name, ValueRange values) {
  OpGroup group;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      group.insert(op);
  nothingChanged = true;
  if (group.empty() || isa<lm::FusedOp>(group.front()->getParentOp()))
    return;
  Operation *last = values.back().getDefiningOp() ? values.back().getDefiningOp() : group.back();
  auto no = [&](const std::string &why) { sayMissed(last, textOf(name), why); };
  if (llvm::any_of(group, [&](Operation *op) { return op->getBlock() != last->getBlock(); }))
    return no("some of its ops are in another region");
  if (!isConvex(group))
    return no("a value leaves it and comes back");
  if (auto why = whyNot(group))
    return no(*why);
  OpGroup ops;
  for (Operation *op : group)
    if (auto fused = dyn_cast<lm::FusedOp>(op))
      open(rewriter, fused, ops);
    else
      ops.insert(op);
  fuse(ops, textOf(name));
  nothingChanged = false;
}

//===----------------------------------------------------------------------===//
// Norms that read a value
//===----------------------------------------------------------------------===//

static SmallVector<Value> normReaders(Value value) {
  SmallVector<Value> norms;
  Operation *maker = value ? value.getDefiningOp() : nullptr;
  if (!maker)
    return norms;
  for (Operation *user : value.getUsers())
    if (lm::isRowNorm(user) && user->getBlock() == maker->getBlock() &&
        !llvm::is_contained(norms, user->getResult(0)))
      norms.push_back(user->getResult(0));
  return norms;
}
static SmallVector<Value> readingNorms(PatternRewriter &, Value value) {
  return normReaders(value);
}
static LogicalResult hasReadingNorms(PatternRewriter &, Value value, Attribute count) {
  auto number = dyn_cast_or_null<IntegerAttr>(count);
  return success(number && int64_t(normReaders(value).size()) == number.getInt());
}

static constexpr Native kNatives[] = {
    does<fuseOps<whyNotOneLaunch>>("Fuse(attribute, range<value>)"),
    does<fuseOps<whyNotRowByRow>>("FuseForKernel(attribute, range<value>)"),
    does<missed>("Missed(attribute, attribute, operation)"),
    asks<hasReadingNorms>("HasReadingNorms(value, attribute)"),
    does<readingNorms>("ReadingNorms(value) -> range<value>"),
};

ArrayRef<Native> patterns::regionNatives() { return kNatives; }
