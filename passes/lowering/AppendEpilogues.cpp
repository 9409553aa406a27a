//===- AppendEpilogues.cpp - Steps of few tokens have no rope_append launches ===//
//
//   plan.when [tokens <= 8] {                               } else {
//     projections  n ─▶ q (rotated), k, v ─▶ the pool         projections  n ─▶ q, k, v
//                                                             rope_append  q ─▶ q, k, v ─▶ the pool
//   }                                                       }
//
// The projection of q, k and v rotates what it stores and puts keys and values where they belong,
// so that their rows are not written at all. That takes heads without norms of their own, whose sums
// no block has together; the target says whether it can, and up to how many tokens.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Flow.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/KernelEdits.h"
#include "passes/lowering/Origin.h"

namespace ingot {
#define GEN_PASS_DEF_APPENDEPILOGUESPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::MatmulOp;
using kernel::RopeAppendOp;

namespace {

constexpr StringLiteral kPattern = "append_epilogue";

struct AppendEpilogues : ingot::impl::AppendEpiloguesPassBase<AppendEpilogues> {
  using AppendEpiloguesPassBase::AppendEpiloguesPassBase;

  void runOnOperation() override {
    target = expectTarget(getOperation(), device);
    if (!target)
      return signalPassFailure();
    KernelEdits edits(getOperation());
    for (plan::LaunchOp rope : edits.launchesOf<RopeAppendOp>())
      fuse(edits, rope, cast<RopeAppendOp>(rope.anchor()));
    edits.finish();
  }

  void fuse(KernelEdits &edits, plan::LaunchOp rope, RopeAppendOp append) {
    SmallVector<plan::LaunchOp> projections;
    if (std::string why = findProjections(edits, rope, append, projections); !why.empty())
      return remarkMissed(rope, kPattern, why);
    SmallVector<LaunchOperand> added{
        {append.getKv().getType(), edits.passedFor(rope, append.getKv())},
        {append.getTable().getType(), edits.passedFor(rope, append.getTable())}};
    auto appends = [&](Operation *op, ValueRange arguments) {
      OpBuilder b(op->getNextNode());
      auto matmul = cast<MatmulOp>(op);
      Value q = matmul.getOutputs().front();
      matmul = matmul.intoFlows(b);
      auto flows = matmul.getFlows();
      auto rope = RopeAppendOp::create(
          b, append.getLoc(), flows[0].getType(), flows[0], flows[1], flows[2], arguments[1],
          Value(), Value(), Value(), arguments[0], append.getHeadsAttr(), append.getStyleAttr(),
          append.getEpsAttr(), append.getWeightOffsetAttr(), append.getNormAfterAttr(),
          append.getCentredAttr(), append.getGrowthPeriodAttr());
      kernel::StoreOp::create(b, append.getLoc(), rope.getRotated(), q);
    };
    const kernel::KernelShape shape = edits.shapeWith(*target, projections, added, appends);
    if (!shape.refused.empty())
      return remarkMissed(rope, kPattern, "the projection " + shape.refused);
    IRMapping copies = edits.split(rope->getBlock()->findAncestorOpInBlock(*projections.front()),
                                   rope, {plan::Quantity::Tokens, uint64_t(shape.mostUnits)});
    for (plan::LaunchOp launch : projections) {
      auto copy = cast<plan::LaunchOp>(copies.lookup(launch.getOperation()));
      edits.edit(copy, "append", added, appends);
      addOriginBehind(copy, rope);
    }
    copies.lookup(rope.getOperation())->erase();
    remarkPassed(rope, kPattern,
                 "done by the projections in steps of at most " + std::to_string(shape.mostUnits));
  }

  const Target *target = nullptr;

  /// The launches that make q, k and v, in one op of the list of `rope`; why they cannot do what `append` does, if so.
  static std::string findProjections(KernelEdits &edits, plan::LaunchOp rope, RopeAppendOp append,
                                     SmallVectorImpl<plan::LaunchOp> &projections) {
    if (append.getQNorm() || append.getKNorm())
      return "heads are normed, whose sums no block of the projection has";
    if (append.getGrowth())
      return "queries grow with their positions, which no block of the projection looks up";
    if (!append.getTable())
      return "nothing is rotated, so that there is no table to pass";
    SmallVector<Attribute> made;
    for (Value operand : {append.getQ(), append.getK(), append.getV()})
      made.push_back(edits.passedFor(rope, operand));
    Attribute pool = edits.passedFor(rope, append.getKv()),
              table = edits.passedFor(rope, append.getTable());
    auto touches = [&](plan::LaunchOp launch, ArrayRef<Attribute> what) {
      return llvm::any_of(launch.getArgs(),
                          [&](Attribute passed) { return llvm::is_contained(what, passed); });
    };
    bool found = false, others = false, makesTable = false;
    for (Operation *op = rope->getPrevNode(); op && !found; op = op->getPrevNode())
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
        found = true;
        others |= outputs != made;
        projections.push_back(launch);
      });
    if (makesTable)
      return "the table of angles is made between the projection and the rotation";
    if (!found || others)
      return "q, k and v are not made by one projection, in this order";
    for (plan::LaunchOp launch : launchesBehind(rope))
      if (touches(launch, ArrayRef(made).drop_front()))
        return "rows of k or v are used again";
    for (Attribute rows : ArrayRef(made).drop_front())
      if (edits.areReadAcrossSections(rows))
        return "rows of k or v are read in a section that does not write them";
    return "";
  }
};
} // namespace
