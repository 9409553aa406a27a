//===- Fp8Cases.cpp - fp8 rows only for steps with many tokens --------------===//
//
//   plan.when [tokens <= few] {   } else {
//     projections n ─▶ q, k, v      fp8_rows    n ─▶ e
//                                   projections n, e ─▶ q, k, v
//   }                             }
//
// Only code for many tokens multiplies in fp8, so in a step of few tokens the fp8 rows would have no consumer. An
// expert has few rows even in larger steps: for experts, `few` applies to their average number of rows.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rows.h"
#include "passes/Passes.h"
#include "passes/lowering/KernelEdits.h"

namespace ingot {
#define GEN_PASS_DEF_FP8CASESPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::Fp8RowsOp;

namespace {
struct Fp8Cases : ingot::impl::Fp8CasesPassBase<Fp8Cases> {
  using Fp8CasesPassBase::Fp8CasesPassBase;

  void runOnOperation() override {
    KernelEdits edits(getOperation());
    for (plan::LaunchOp rounding : edits.launchesOf<Fp8RowsOp>())
      split(edits, rounding, cast<Fp8RowsOp>(rounding.anchor()));
    edits.finish();
  }

  void split(KernelEdits &edits, plan::LaunchOp rounding, Fp8RowsOp op) {
    Attribute rows = edits.passedFor(rounding, op.getOutput());
    SmallVector<plan::LaunchOp> consumers;
    for (plan::LaunchOp launch : launchesBehind(rounding))
      if (llvm::is_contained(launch.getArgs(), rows))
        consumers.push_back(launch);
    if (consumers.empty())
      return;
    IRMapping copies =
        edits.split(rounding, rounding->getBlock()->findAncestorOpInBlock(*consumers.back()),
                    {quantityOf(op.getExtent()), fewOf(consumers)});
    for (plan::LaunchOp consumer : consumers)
      edits.edit(
          cast<plan::LaunchOp>(copies.lookup(consumer.getOperation())), "bf16", {},
          [](Operation *op, ValueRange) { cast<kernel::MatmulOp>(op).getXFp8Mutable().clear(); });
    copies.lookup(rounding.getOperation())->erase();
  }

  /// The largest number of tokens (or rows) that counts as few for the launches. It is a multiple of `few`, because
  /// CUDA graphs are built for such numbers.
  uint64_t fewOf(ArrayRef<plan::LaunchOp> consumers) {
    int64_t most = 1;
    for (plan::LaunchOp consumer : consumers) {
      auto matmul = cast<kernel::MatmulOp>(consumer.anchor());
      most = std::max(most, int64_t(llvm::divideCeil(matmul.experts(), matmul.rowsOfToken())));
    }
    return uint64_t(few * most);
  }
};
} // namespace
