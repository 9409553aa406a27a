//===- Fp8Cases.cpp - Rows of fp8 for many tokens alone ---------------------===//
//
//   plan.when [tokens <= few] {   } else {
//     projections n ─▶ q, k, v      fp8_rows    n ─▶ e
//                                   projections n, e ─▶ q, k, v
//   }                             }
//
// Products of fp8 are of code for many tokens. In a step of few nobody would read the rows. Experts have few rows for
// longer: `few` is then of what each has of a step on average.
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
    SmallVector<plan::LaunchOp> readers;
    for (plan::LaunchOp launch : launchesBehind(rounding))
      if (llvm::is_contained(launch.getArgs(), rows))
        readers.push_back(launch);
    if (readers.empty())
      return;
    IRMapping copies =
        edits.split(rounding, rounding->getBlock()->findAncestorOpInBlock(*readers.back()),
                    {quantityOf(op.getExtent()), fewOf(readers)});
    for (plan::LaunchOp reader : readers)
      edits.edit(
          cast<plan::LaunchOp>(copies.lookup(reader.getOperation())), "bf16", {},
          [](Operation *op, ValueRange) { cast<kernel::MatmulOp>(op).getXFp8Mutable().clear(); });
    copies.lookup(rounding.getOperation())->erase();
  }

  /// Up to how many tokens (or rows) they have few: whole multiples, since graphs are made for those.
  uint64_t fewOf(ArrayRef<plan::LaunchOp> readers) {
    int64_t most = 1;
    for (plan::LaunchOp reader : readers) {
      auto matmul = cast<kernel::MatmulOp>(reader.anchor());
      most = std::max(most, int64_t(llvm::divideCeil(matmul.experts(), matmul.rowsOfToken())));
    }
    return uint64_t(few * most);
  }
};
} // namespace
