//===- FoldArgmax.cpp - The head looks for the largest logit --------------===//
//
// A greedy step wants of each logits row the index of its largest value. The blocks (or threads) of
// the projection that writes few rows have their values at hand: each raises a key of the row, so
// that nobody walks the logits again. With more rows they do not: on a GPU the argmax kernel
// (codegen/cuda: argmaxProgram) reads the rows, for a CPU the executor asks for logits.
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/KernelEdits.h"
#include "passes/planning/KernelEffects.h"

#include "mlir/IR/Remarks.h"

namespace ingot {
#define GEN_PASS_DEF_FOLDARGMAXPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::RowKind;
using kernel::RowsType;

namespace {

constexpr StringLiteral kPattern = "head_argmax", kKeys = "greedy_keys";

struct FoldArgmax : ingot::impl::FoldArgmaxPassBase<FoldArgmax> {
  using FoldArgmaxPassBase::FoldArgmaxPassBase;

  void runOnOperation() override {
    for (plan::ProgramOp program : getOperation().getOps<plan::ProgramOp>())
      fold(program);
  }

  void fold(plan::ProgramOp program) {
    if (!program.getLogits() || program.getGreedyKeys())
      return;
    KernelEdits edits(getOperation());
    Attribute logits = plan::BufferRefAttr::get(&getContext(), program.getLogitsAttr());
    SmallVector<plan::LaunchOp> writers;
    program.walk([&](plan::LaunchOp launch) {
      for (auto [effect, passed] : llvm::zip(operandEffects(edits.kernelOf(launch)), launch.getArgs()))
        if (effect.writes && passed == logits)
          writers.push_back(launch);
    });
    if (writers.size() != 1)
      return remarkMissed(program, kPattern, Twine(writers.size()) + " launches write the logits");
    plan::LaunchOp head = writers.front();
    auto matmul = dyn_cast<kernel::MatmulOp>(edits.kernelOf(head).structuredOp());
    if (!matmul || matmul.getExtent() != kernel::Extent::Rows || matmul.getOutputs().size() != 1)
      return remarkMissed(head, kPattern, "the logits are not those of one projection");

    auto type = RowsType::get(&getContext(), 1, RowKind::Key);
    OpBuilder b(&program.getBody().front(), program.getBody().front().begin());
    // It outlives the step: whoever reads the keys sets them back for the next.
    plan::BufferOp::create(b, head.getLoc(), kKeys, plan::BufferClass::PerRow, roundUp(type.rowBytes(), 64), IntegerAttr(),
                           /*persistent=*/true);
    auto symbol = FlatSymbolRefAttr::get(&getContext(), kKeys);
    LaunchOperand keys{type, plan::BufferRefAttr::get(&getContext(), symbol)};
    edits.edit(head, keys, [&](Operation *op, ValueRange added) {
      auto copy = cast<kernel::MatmulOp>(op);
      copy.getKeysMutable().assign(added.front());
      copy.setKeysUpTo(rows);
    });
    edits.finish();
    program.setGreedyKeysAttr(symbol);
    program.setGreedyKeysUpTo(rows);
    remark::passed(head.getLoc(), remark::RemarkOpts::name(kPattern).category("fusion"))
        << "found by the head in steps of at most " + std::to_string(rows) + " rows";
  }
};
} // namespace
