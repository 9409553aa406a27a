//===- OneKernel.cpp - See OneKernel.h --------------------------------------===//
#include "passes/select/OneKernel.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Rows.h"
#include "passes/select/RowEncodings.h"

using namespace mlir;
using namespace ingot;

static std::string nameOf(Operation *op) { return op->getName().getStringRef().str(); }
static bool isMadeBy(ArrayRef<Operation *> ops, Value value) {
  return value.getDefiningOp() && llvm::is_contained(ops, value.getDefiningOp());
}

std::optional<std::string> ingot::whyNotOneMatmul(ArrayRef<Operation *> ops, unsigned results) {
  Value x;
  size_t projections = 0;
  for (Operation *op : ops)
    if (auto linear = dyn_cast<lm::LinearOp>(op)) {
      ++projections;
      if (x && linear.getX() != x)
        return "its projections have different inputs";
      x = linear.getX();
      if (isMadeBy(ops, x))
        return "a projection reads rows that the launch produces";
    }
  if (ops.size() == projections)
    return std::nullopt;
  for (Operation *op : ops)
    if (!isa<lm::LinearOp>(op) && !lm::isElementwise(op))
      return nameOf(op) + " cannot follow a projection";
  if (projections > 2)
    return "elementwise ops may follow at most two projections";
  if (results > 1)
    return "a projection followed by ops may have only one result";
  return std::nullopt;
}

std::optional<std::string> ingot::whyNotRowwise(ArrayRef<Operation *> ops) {
  std::optional<int64_t> width;
  for (Operation *op : ops) {
    if (!isRowwise(op))
      return nameOf(op) + " has its own launch";
    if (isa<lm::SelectRowsOp, lm::DispatchOp>(op) && isMadeBy(ops, op->getOperand(0)))
      return nameOf(op) + " can only be the first op";
    if (int64_t own = lm::widthOf(op->getResult(0)); width.value_or(own) != own)
      return "rows of " + std::to_string(*width) + " and of " + std::to_string(own) + " values";
    else
      width = own;
  }
  return std::nullopt;
}

std::optional<std::string> ingot::whyNotOneKernel(const OpGroup &group) {
  OpGroup list;
  for (Operation *op : group)
    list.insert_range(opsOf(op));
  SmallVector<Operation *> ops(list.begin(), list.end());
  if (llvm::none_of(ops, llvm::IsaPred<lm::LinearOp>))
    return whyNotRowwise(ops);
  unsigned results = 0; // values that ops outside of the group read
  for (Operation *op : group)
    for (Value result : op->getResults())
      results += llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !group.contains(user) && !list.contains(user);
      });
  return whyNotOneMatmul(ops, results);
}
