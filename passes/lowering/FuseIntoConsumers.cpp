//===- FuseIntoConsumers.cpp - The consumers of rows compute them ---------===//
//
//   plan.when [tokens <= few] {              } else {
//     projections   x ─▶ [norm] ─▶ q, k, v     norm        x ─▶ n
//                                              projections n ─▶ q, k, v
//   }                                        }
//
// A launch that writes rows only for projections is left out of steps of few tokens: those projections
// compute the rows themselves, from the same inputs with the same region. The target decides how many tokens
// are few, for each projection that would include the norm.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rows.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/Compositions.h"
#include "passes/lowering/KernelEdits.h"
#include "passes/lowering/Origin.h"

using namespace mlir;
using namespace ingot;
using kernel::ActivationType;
using kernel::MatmulOp;

Compositions::Compositions(ModuleOp module, const Target &target)
    : owned(std::make_unique<KernelEdits>(module)), edits(*owned), target(target) {}
Compositions::~Compositions() = default;
void Compositions::finish() { edits.finish(); }

SmallVector<Operation *> Compositions::launchesOf(ModuleOp module) {
  SmallVector<Operation *> launches;
  module.walk([&](plan::LaunchOp launch) { launches.push_back(launch); });
  return launches;
}

struct Compositions::Prologue {
  kernel::RowwiseOp rowwise;
  SmallVector<plan::LaunchOp> consumers;
  SmallVector<plan::LaunchOp>
      roundings; ///< launches that make fp8 rows of these rows, for projections of many tokens
  SmallVector<LaunchOperand> inputs;
  kernel::KernelShape shape;

  /// Inserts the region before the projection that anchors a kernel; `added` are its inputs.
  void compute(Operation *op, ValueRange added) {
    auto matmul = cast<MatmulOp>(op);
    OpBuilder b(matmul);
    auto encoding = cast<ActivationType>(rowwise.getOutputs().front().getType()).getKind();
    auto fusedValue = kernel::FusedType::get(b.getContext(), rowwise.width(), encoding);
    auto rows = kernel::RowwiseOp::create(b, rowwise.getLoc(), fusedValue, added, ValueRange(),
                                          /*routes=*/Value(), /*columns=*/Value(),
                                          rowwise.getExtent(), rowwise.getGather());
    IRMapping mapping;
    rowwise.getBody().cloneInto(&rows.getBody(), mapping);
    matmul.getXMutable().assign(rows.getFused());
    matmul.getXFp8Mutable().clear();
  }
};

bool Compositions::isForMore(plan::LaunchOp launch, plan::Condition few) {
  for (Operation *op = launch; auto when = op->getParentOfType<plan::WhenOp>(); op = when)
    if (when.getOtherwise().isAncestor(op->getParentRegion()))
      for (const plan::Condition &condition : when.getWhen().getConditions())
        if (condition.quantity == few.quantity && condition.value >= few.value &&
            when.getWhen().getConditions().size() == 1)
          return true;
  return false;
}

std::string Compositions::find(plan::LaunchOp launch, Prologue &found) {
  found.rowwise = dyn_cast<kernel::RowwiseOp>(launch.anchor());
  if (!found.rowwise)
    return "its anchor is not kernel.rowwise, the only kernel that can be fused into its consumers";
  if (found.rowwise.getRoutes() || found.rowwise.getRowsOfToken() > 1)
    return "it produces rows of experts, which consumers find by routes";
  if (found.rowwise.getColumns())
    return "it permutes columns, which blocks of projections cannot do";
  if (found.rowwise.getOutputs().size() > 1)
    return "it also writes f32 rows, which the blocks must not write";
  if (std::string why = findConsumers(launch, found); !why.empty())
    return why;
  for (Value input : found.rowwise.getInputs())
    found.inputs.push_back({input.getType(), edits.passedFor(launch, input)});
  found.shape = edits.shapeWith(target, found.consumers, found.inputs,
                                [&](Operation *op, ValueRange added) { found.compute(op, added); });
  return found.shape.refused.empty() ? "" : "a consumer of its rows " + found.shape.refused;
}

std::string Compositions::whyNotIntoConsumers(plan::LaunchOp launch) {
  Prologue found;
  return find(launch, found);
}

bool Compositions::fuseIntoConsumers(plan::LaunchOp launch, StringRef name, int64_t most) {
  Prologue found;
  if (std::string why = find(launch, found); !why.empty()) {
    remarkMissed(launch, name, why);
    return false;
  }
  most = std::min(most, found.shape.mostUnits);
  const plan::Condition few{quantityOf(found.rowwise.getExtent()), uint64_t(most)};
  if (isForMore(launch, few))
    return false;
  auto compute = [&](Operation *op, ValueRange added) { found.compute(op, added); };
  IRMapping copies =
      edits.split(launch, launch->getBlock()->findAncestorOpInBlock(*found.consumers.back()), few);
  for (plan::LaunchOp consumer : found.consumers) {
    auto copy = cast<plan::LaunchOp>(copies.lookup(consumer.getOperation()));
    edits.edit(copy, "norm", found.inputs, compute);
    addOriginBefore(copy, launch);
  }
  for (plan::LaunchOp rounding : found.roundings)
    copies.lookup(rounding.getOperation())->erase();
  copies.lookup(launch.getOperation())->erase();
  remarkPassed(launch, name,
               "computed by " + std::to_string(found.consumers.size()) +
                   " projections in steps of at most " + std::to_string(most));
  return true;
}

/// Finds the consumers of the rows that the launch writes; returns why they cannot compute the rows, or "".
std::string Compositions::findConsumers(plan::LaunchOp norm, Prologue &found) {
  kernel::RowwiseOp rowwise = found.rowwise;
  Attribute rows = edits.passedFor(norm, rowwise.getOutputs().front());
  SmallVector<Attribute> inputs;
  for (Value input : rowwise.getInputs())
    inputs.push_back(edits.passedFor(norm, input));
  bool changed = false; // an input has been overwritten
  for (plan::LaunchOp launch : launchesBehind(norm)) {
    Operation *anchor = launch.anchor();
    bool reads = false, overwrites = false;
    for (auto [effect, passed] : llvm::zip(launch.operandEffects(), launch.getArgs())) {
      changed |= effect.writes && llvm::is_contained(inputs, passed);
      reads |= effect.reads && passed == rows;
      overwrites |= effect.writes && passed == rows;
    }
    if (reads && isa<kernel::Fp8RowsOp>(anchor)) {
      found.roundings.push_back(launch);
    } else if (reads) {
      auto matmul = dyn_cast<MatmulOp>(anchor);
      if (!matmul || !isa<ActivationType>(matmul.getX().getType()) ||
          edits.passedFor(launch, matmul.getX()) != rows ||
          llvm::count(launch.getArgs(), rows) != 1)
        return "a consumer of its rows is not a projection";
      if (matmul.getRoutes()) // with one expert per token there are as many rows as tokens, so the
                              // count does not exclude them
        return "a consumer of its rows finds them by routes";
      if (matmul.getExtent() != rowwise.getExtent())
        return "it and a consumer of its rows count differently: one tokens, the other logits rows";
      if (changed) // even by the consumer itself, whose other blocks still read the input
        return "its input is overwritten before all consumers of its rows are done";
      found.consumers.push_back(launch);
    }
    if (overwrites)
      break;
  }
  if (edits.areReadAcrossSections(rows))
    return "its rows are read in a stage that does not write them";
  return found.consumers.empty() ? "nothing in its stage reads its rows" : "";
}
