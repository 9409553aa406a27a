//===- OneLaunch.cpp - See OneLaunch.h ------------------------------------===//
//
//   matmul    projections of one input with a result each, or one or two projections followed by elementwise
//             ops with one result
//   rows      elementwise ops, norms of whole rows, a leading selection of rows
//
// The rules are those of SectionLowering: lowerMatmul, lowerRowwise.
//===----------------------------------------------------------------------===//
#include "passes/fusion/OneLaunch.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Rows.h"
#include "passes/lowering/RowEncodings.h"

using namespace mlir;
using namespace ingot;

static std::string nameOf(Operation *op) { return op->getName().getStringRef().str(); }

namespace {

/// The ops of a group, including those in its regions.
struct Ops {
  explicit Ops(const OpGroup &group) {
    for (Operation *op : group)
      list.insert_range(opsOf(op));
  }

  bool makes(Value value) const { return list.contains(value.getDefiningOp()); }
  bool isSeenOutside(const OpGroup &group) const {
    int seen = 0;
    for (Operation *op : group)
      for (Value result : op->getResults())
        seen += llvm::any_of(result.getUsers(), [&](Operation *user) {
          return !group.contains(user) && !list.contains(user);
        });
    return seen > 1;
  }

  OpGroup list;
};

} // namespace

static std::optional<std::string> whyNoMatmul(const OpGroup &group, const Ops &ops,
                                              ArrayRef<lm::LinearOp> linears) {
  for (lm::LinearOp linear : linears) {
    if (linear.getX() != linears.front()->getOperand(0))
      return "its projections have different inputs";
    if (ops.makes(linear.getX()))
      return "a projection reads rows that the launch produces";
  }
  if (ops.list.size() == linears.size())
    return std::nullopt;
  for (Operation *op : ops.list)
    if (!isa<lm::LinearOp>(op) && !lm::isElementwise(op))
      return nameOf(op) + " cannot follow a projection";
  if (linears.size() > 2)
    return "elementwise ops may follow at most two projections";
  if (ops.isSeenOutside(group))
    return "a projection followed by ops may have only one result";
  return std::nullopt;
}

static std::optional<std::string> whyNoRows(const Ops &ops) {
  std::optional<int64_t> width;
  for (Operation *op : ops.list) {
    if (!isRowwise(op))
      return nameOf(op) + " has its own launch";
    if (isa<lm::SelectRowsOp, lm::DispatchOp>(op) && ops.makes(op->getOperand(0)))
      return nameOf(op) + " can only be the first op";
    if (int64_t own = lm::widthOf(op->getResult(0)); width.value_or(own) != own)
      return "rows of " + std::to_string(*width) + " and of " + std::to_string(own) + " values";
    else
      width = own;
  }
  return std::nullopt;
}

std::optional<std::string> ingot::whyNotOneLaunch(const OpGroup &group) {
  Ops ops(group);
  SmallVector<lm::LinearOp> linears;
  for (Operation *op : ops.list)
    if (auto linear = dyn_cast<lm::LinearOp>(op))
      linears.push_back(linear);
  return linears.empty() ? whyNoRows(ops) : whyNoMatmul(group, ops, linears);
}
