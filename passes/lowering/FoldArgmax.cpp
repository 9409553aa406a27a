//===- FoldArgmax.cpp - The head looks for the largest logit --------------===//
//
// A greedy step wants of each logits row the index of its largest value. The blocks (or threads) of
// the projection that writes few rows have their values at hand: each raises a key of the row, so
// that nobody walks the logits again. With more rows they do not: on a GPU kernel.argmax reads the
// rows, for a CPU the executor asks for logits. A step that
// samples wants the few largest: on a CPU the projection leaves the largest of each panel beside the
// logits, and nobody reads panels that cannot hold one of them.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
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

constexpr StringLiteral kPattern = "head_argmax", kKeys = "greedy_keys", kMaxima = "logit_maxima";

struct FoldArgmax : ingot::impl::FoldArgmaxPassBase<FoldArgmax> {
  using FoldArgmaxPassBase::FoldArgmaxPassBase;

  void runOnOperation() override {
    for (plan::ProgramOp program : getOperation().getOps<plan::ProgramOp>())
      fold(program);
  }

  void fold(plan::ProgramOp program) {
    plan::EntryOp entry = program.generateEntry();
    plan::OutputOp output = entry ? entry.outputOf(plan::OutputRole::Logits) : nullptr;
    if (!output || entry.outputOf(plan::OutputRole::Keys))
      return;
    KernelEdits edits(getOperation());
    Attribute logits = plan::BufferRefAttr::get(&getContext(), output.getBufferAttr());
    SmallVector<plan::LaunchOp> writers;
    program.walk([&](plan::LaunchOp launch) {
      for (auto [effect, passed] :
           llvm::zip(operandEffects(edits.kernelOf(launch)), launch.getArgs()))
        if (effect.writes && passed == logits)
          writers.push_back(launch);
    });
    if (writers.size() != 1)
      return remarkMissed(program, kPattern, Twine(writers.size()) + " launches write the logits");
    plan::LaunchOp head = writers.front();
    auto matmul = dyn_cast<kernel::MatmulOp>(edits.kernelOf(head).structuredOp());
    if (!matmul || matmul.getExtent() != kernel::Extent::Rows || matmul.getOutputs().size() != 1)
      return remarkMissed(head, kPattern, "the logits are not those of one projection");

    OpBuilder b(&program.getBody().front(), program.getBody().front().begin());
    SmallVector<LaunchOperand> added;
    // They outlive the step: whoever reads the keys sets them back for the next, and the host reads maxima.
    auto addOutput = [&](plan::OutputRole role, plan::Encoding encoding, StringRef name,
                         RowsType type) {
      plan::BufferOp::create(b, head.getLoc(), name, plan::BufferClass::PerRow,
                             roundUp(type.rowBytes(), 64), IntegerAttr(),
                             /*persistent=*/true);
      auto symbol = FlatSymbolRefAttr::get(&getContext(), name);
      added.push_back({type, plan::BufferRefAttr::get(&getContext(), symbol)});
      entry.addOutput(role, encoding, symbol);
    };
    addOutput(plan::OutputRole::Keys, plan::Encoding::Key, kKeys,
              RowsType::get(&getContext(), 1, RowKind::Key));
    entry.addMode(plan::Mode::Greedy);
    if (maxima) {
      int64_t values = cast<RowsType>(matmul.getOutputs()[0].getType()).getN();
      int64_t panels = (values + kPanelRows - 1) / kPanelRows;
      addOutput(plan::OutputRole::Maxima, plan::Encoding::F32, kMaxima,
                RowsType::get(&getContext(), panels, RowKind::F32));
    }
    edits.edit(head, added, [&](Operation *op, ValueRange operands) {
      auto copy = cast<kernel::MatmulOp>(op);
      copy.getKeysMutable().assign(operands.front());
      copy.setKeysUpTo(rows);
      if (maxima)
        copy.getMaximaMutable().assign(operands.back());
    });
    edits.finish();
    remark::passed(head.getLoc(), remark::RemarkOpts::name(kPattern).category("fusion"))
        << "found by the head in steps of at most " + std::to_string(rows) + " rows";
  }
};
} // namespace
