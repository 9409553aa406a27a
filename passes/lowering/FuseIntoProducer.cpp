//===- FuseIntoProducer.cpp - The producer of rows does its consumer's work -===//
//
//   plan.when [tokens <= 8] {                               } else {
//     projections  n ─▶ q (rotated), k, v ─▶ the pool         projections  n ─▶ q, k, v
//                                                             rope_append  q ─▶ q, k, v ─▶ the pool
//   }                                                       }
//
// The projection of q, k and v rotates the values it stores, and writes keys and values to their place in the
// pool, so the rows of k and v are never written. Heads must not have norms of their own, because no block holds a
// whole head to sum. The target decides whether it has such a kernel, and up to how many tokens.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Fused.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/Compositions.h"
#include "passes/lowering/KernelEdits.h"
#include "passes/lowering/Origin.h"

using namespace mlir;
using namespace ingot;
using kernel::MatmulOp;
using kernel::RopeAppendOp;

struct Compositions::Epilogue {
  RopeAppendOp append;
  SmallVector<plan::LaunchOp> projections;
  SmallVector<LaunchOperand> added;
  kernel::KernelShape shape;

  /// Inserts the rotation after the projection that anchors a kernel; `arguments` are the pool and the table.
  void appends(Operation *op, ValueRange arguments) {
    OpBuilder b(op->getNextNode());
    auto matmul = cast<MatmulOp>(op);
    Value q = matmul.getOutputs().front();
    matmul = matmul.withFusedResults(b);
    auto fusedValues = matmul.getFused();
    auto rope = RopeAppendOp::create(b, append.getLoc(), fusedValues[0].getType(), fusedValues[0],
                                     fusedValues[1], fusedValues[2], arguments[1], Value(), Value(),
                                     Value(), arguments[0], append.getHeadsAttr(),
                                     append.getStyleAttr(), append.getEpsAttr(),
                                     append.getWeightOffsetAttr(), append.getNormAfterAttr(),
                                     append.getCentredAttr(), append.getTemperaturePeriodAttr());
    kernel::StoreOp::create(b, append.getLoc(), rope.getRotated(), q);
  }
};

std::string Compositions::find(plan::LaunchOp launch, Epilogue &found) {
  found.append = dyn_cast<RopeAppendOp>(launch.anchor());
  if (!found.append)
    return "its anchor is not kernel.rope_append, the only kernel that can be fused into its "
           "producer";
  if (std::string why = findProjections(launch, found); !why.empty())
    return why;
  for (Value operand : {Value(found.append.getKv()), Value(found.append.getTable())})
    found.added.push_back({operand.getType(), edits.passedFor(launch, operand)});
  found.shape = edits.shapeWith(target, found.projections, found.added,
                                [&](Operation *op, ValueRange added) { found.appends(op, added); });
  return found.shape.refused.empty() ? "" : "the projection " + found.shape.refused;
}

std::string Compositions::whyNotIntoProducer(plan::LaunchOp launch) {
  Epilogue found;
  return find(launch, found);
}

bool Compositions::fuseIntoProducer(plan::LaunchOp launch, StringRef name, int64_t most) {
  Epilogue found;
  if (std::string why = find(launch, found); !why.empty()) {
    remarkMissed(launch, name, why);
    return false;
  }
  most = std::min(most, found.shape.mostUnits);
  const plan::Condition few{plan::Quantity::Tokens, uint64_t(most)};
  if (isForMore(launch, few))
    return false;
  auto appends = [&](Operation *op, ValueRange added) { found.appends(op, added); };
  IRMapping copies = edits.split(
      launch->getBlock()->findAncestorOpInBlock(*found.projections.front()), launch, few);
  for (plan::LaunchOp projection : found.projections) {
    auto copy = cast<plan::LaunchOp>(copies.lookup(projection.getOperation()));
    edits.edit(copy, "append", found.added, appends);
    addOriginBehind(copy, launch);
  }
  copies.lookup(launch.getOperation())->erase();
  remarkPassed(launch, name, "done by the projections in steps of at most " + std::to_string(most));
  return true;
}

/// Finds the launches that produce q, k and v, in the last op before `rope` that touches them or the pool;
/// returns why they cannot do the work of `append`, or "".
std::string Compositions::findProjections(plan::LaunchOp rope, Epilogue &found) {
  RopeAppendOp append = found.append;
  if (append.getQNorm() || append.getKNorm())
    return "heads have norms, and no block of the projection has a whole head to sum";
  if (append.getTemperature())
    return "queries are scaled by position, which blocks of the projection cannot look up";
  if (!append.getTable())
    return "nothing is rotated, so there is no table to pass";
  SmallVector<Attribute> made;
  for (Value operand : {append.getQ(), append.getK(), append.getV()})
    made.push_back(edits.passedFor(rope, operand));
  Attribute pool = edits.passedFor(rope, append.getKv()),
            table = edits.passedFor(rope, append.getTable());
  auto touches = [&](plan::LaunchOp launch, ArrayRef<Attribute> what) {
    return llvm::any_of(launch.getArgs(),
                        [&](Attribute passed) { return llvm::is_contained(what, passed); });
  };
  bool any = false, others = false, makesTable = false;
  for (Operation *op = rope->getPrevNode(); op && !any; op = op->getPrevNode())
    op->walk([&](plan::LaunchOp launch) {
      for (auto [effect, passed] : llvm::zip(launch.operandEffects(), launch.getArgs()))
        makesTable |= effect.writes && passed == table;
      if (!touches(launch, made) && !touches(launch, pool))
        return;
      auto matmul = dyn_cast<MatmulOp>(launch.anchor());
      SmallVector<Attribute> outputs;
      if (matmul)
        for (Value output : matmul.getOutputs())
          outputs.push_back(edits.passedFor(launch, output));
      any = true;
      others |= outputs != made;
      found.projections.push_back(launch);
    });
  if (makesTable)
    return "the table of angles is computed between the projection and the rotation";
  if (!any || others)
    return "q, k and v do not come from one projection, in this order";
  for (plan::LaunchOp launch : launchesBehind(rope))
    if (touches(launch, ArrayRef(made).drop_front()))
      return "rows of k or v have another use";
  for (Attribute rows : ArrayRef(made).drop_front())
    if (edits.areReadAcrossSections(rows))
      return "rows of k or v are read in a stage that does not write them";
  return "";
}
