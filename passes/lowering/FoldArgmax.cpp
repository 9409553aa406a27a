//===- FoldArgmax.cpp - The head finds the largest logit ------------------===//
//
//   GPUs   plan.when [rows <= 32] { head ─▶ logits, keys } else { head ─▶ logits }
//   CPUs   plan.when [mode = greedy] { head ─▶ keys } else { head ─▶ logits, maxima }
//
// A greedy step needs, for each logits row, the index of its largest value. The blocks (or threads) of a
// projection that writes few rows still hold their values: each of them raises a key of the row, so no other
// launch walks the logits again. With more rows, on a GPU, kernel.argmax reads the logits. A step that
// samples needs the few largest values. On a CPU the projection therefore writes the maximum of each panel in addition
// to the logits, and the sampler skips panels that cannot hold one of the largest values.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Fused.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/KernelEdits.h"

namespace ingot {
#define GEN_PASS_DEF_FOLDARGMAXPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

constexpr StringLiteral kPattern = "head_argmax", kKeys = "greedy_keys", kMaxima = "logit_maxima";

struct FoldArgmax : ingot::impl::FoldArgmaxPassBase<FoldArgmax> {
  using FoldArgmaxPassBase::FoldArgmaxPassBase;

  void runOnOperation() override {
    target = &targetOf(device);
    for (plan::ProgramOp program : getOperation().getOps<plan::ProgramOp>())
      fold(program);
  }

  /// Turns the results of a projection with one output into a fused value, and stores it to that output if
  /// `stored`. `after` is the insertion point after the projection.
  static Value fuseResult(Operation *projection, OpBuilder &after, bool stored) {
    auto matmul = cast<kernel::MatmulOp>(projection);
    Value output = matmul.getOutputs().front();
    matmul = matmul.withFusedResults(after);
    Value logits = matmul.getFused().front();
    if (stored)
      kernel::StoreOp::create(after, matmul.getLoc(), logits, output);
    return logits;
  }

  const Target *target = nullptr;

  void fold(plan::ProgramOp program) {
    plan::EntryOp entry = program.generateEntry();
    plan::OutputOp output = entry ? entry.outputOf(plan::OutputRole::Logits) : nullptr;
    if (!output || entry.outputOf(plan::OutputRole::Keys))
      return;
    KernelEdits edits(getOperation());
    Attribute logits = plan::BufferRefAttr::get(&getContext(), output.getBufferAttr());
    SmallVector<plan::LaunchOp> writers;
    program.walk([&](plan::LaunchOp launch) {
      for (auto [effect, passed] : llvm::zip(launch.operandEffects(), launch.getArgs()))
        if (effect.writes && passed == logits)
          writers.push_back(launch);
    });
    if (writers.size() != 1)
      return remarkMissed(program, kPattern, Twine(writers.size()) + " launches write the logits");
    plan::LaunchOp head = writers.front();
    auto matmul = dyn_cast<kernel::MatmulOp>(head.anchor());
    if (!matmul || matmul.getExtent() != kernel::Extent::Rows || matmul.getOutputs().size() != 1)
      return remarkMissed(head, kPattern, "the logits do not come from a single projection");

    const ActivationType keyType = ActivationType::get(&getContext(), 1, RowKind::Key),
                         maximaType = ActivationType::get(
                             &getContext(), (matmul.segmentRows(0) + kPanelRows - 1) / kPanelRows,
                             RowKind::F32);
    bool stored = false; // whether the kernel that raises keys also stores the logits
    auto raise = [&](Operation *op, ValueRange operands) {
      OpBuilder after(op->getNextNode());
      Value logits = fuseResult(op, after, stored);
      kernel::ArgmaxOp::create(after, head.getLoc(), logits, operands.front());
    };
    auto findMaxima = [](Operation *op, ValueRange operands) {
      OpBuilder after(op->getNextNode());
      const Location loc = op->getLoc();
      kernel::PanelMaximaOp::create(after, loc, fuseResult(op, after, true), operands.front());
    };
    // The first choice is a kernel for greedy steps that raises keys and does not store logits. If the target refuses
    // it, the kernel stores the logits as well.
    kernel::KernelShape shape = edits.shapeWith(*target, head, {{keyType, {}}}, raise);
    stored = !shape.refused.empty();
    if (stored)
      shape = edits.shapeWith(*target, head, {{keyType, {}}}, raise);
    if (!shape.refused.empty())
      return remarkMissed(head, kPattern, "the projection " + shape.refused);

    OpBuilder b(&program.getBody().front(), program.getBody().front().begin());
    // Keys and maxima outlive the step: the consumer of the keys resets them for the next step, and the host
    // reads the maxima.
    auto addOutput = [&](plan::OutputRole role, plan::Encoding encoding, StringRef name,
                         ActivationType type) -> LaunchOperand {
      plan::BufferOp::create(b, head.getLoc(), name, plan::BufferClass::PerRow,
                             roundUp(type.rowBytes(), 64), IntegerAttr(),
                             /*persistent=*/true);
      auto symbol = FlatSymbolRefAttr::get(&getContext(), name);
      entry.addOutput(role, encoding, symbol);
      return {type, plan::BufferRefAttr::get(&getContext(), symbol)};
    };
    const LaunchOperand keys =
        addOutput(plan::OutputRole::Keys, plan::Encoding::Key, kKeys, keyType);
    entry.addMode(plan::Mode::Greedy);
    const plan::Condition when =
        stored ? plan::Condition{plan::Quantity::Rows, uint64_t(shape.mostUnits)}
               : plan::Condition{plan::Quantity::Mode, uint64_t(plan::Mode::Greedy)};
    IRMapping copies = edits.split(head, head, when);
    if (!stored && edits.shapeWith(*target, head, {{maximaType, {}}}, findMaxima).refused.empty()) {
      // The first copy keeps the name of the kernel (KernelEdits::finish), so this one is made first.
      const LaunchOperand most =
          addOutput(plan::OutputRole::Maxima, plan::Encoding::F32, kMaxima, maximaType);
      edits.edit(head, "maxima", {most}, findMaxima);
    }
    edits.edit(cast<plan::LaunchOp>(copies.lookup(head.getOperation())), "keys", {keys}, raise);
    edits.finish();
    remarkPassed(head, kPattern,
                 "found by the head in " +
                     (stored ? "steps of at most " + std::to_string(shape.mostUnits) + " rows"
                             : "greedy steps"));
  }
};
} // namespace
