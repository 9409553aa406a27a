//===- NormPrologues.cpp - Steps of few tokens have no norm launches -------===//
//
//   plan.when [tokens <= few] {              } else {
//     projections   x ─▶ [norm] ─▶ q, k, v     norm        x ─▶ n
//                                              projections n ─▶ q, k, v
//   }                                        }
//
// A launch that writes bf16 rows for projections alone is left out of steps of few tokens: those
// projections compute the rows themselves, from the same inputs by the same region. How many tokens
// are few is the target's to say, for each projection around which the norm would stand.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/KernelEdits.h"
#include "passes/lowering/Origin.h"

namespace ingot {
#define GEN_PASS_DEF_NORMPROLOGUESPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::MatmulOp;
using kernel::RowKind;
using kernel::RowsType;

namespace {

constexpr StringLiteral kPattern = "norm_prologue";

struct NormPrologues : ingot::impl::NormProloguesPassBase<NormPrologues> {
  using NormProloguesPassBase::NormProloguesPassBase;

  void runOnOperation() override {
    target = expectTarget(getOperation(), device);
    if (!target)
      return signalPassFailure();
    KernelEdits edits(getOperation());
    for (plan::LaunchOp norm : edits.launchesOf<kernel::RowwiseOp>())
      fuse(edits, norm, cast<kernel::RowwiseOp>(norm.anchor()));
    edits.finish();
  }

  void fuse(KernelEdits &edits, plan::LaunchOp norm, kernel::RowwiseOp rowwise) {
    Value rounded;
    for (Value y : rowwise.getOutputs())
      if (cast<RowsType>(y.getType()).getKind() == RowKind::BF16)
        rounded = y;
    if (!rounded || rowwise.getRowsOfToken() > 1)
      return; // what is written is no projection's, or rows of experts, which are found by routes
    if (rowwise.getColumns())
      return remarkMissed(norm, kPattern, "it orders columns, which blocks of projections do not");
    if (rowwise.getOutputs().size() > 1)
      return remarkMissed(norm, kPattern,
                          "it writes f32 rows too, which are not the blocks' to write");
    SmallVector<plan::LaunchOp> readers, roundings;
    if (std::string why = findReaders(edits, norm, rowwise, readers, roundings); !why.empty())
      return remarkMissed(norm, kPattern, why);

    SmallVector<LaunchOperand> inputs;
    for (Value input : rowwise.getInputs())
      inputs.push_back({input.getType(), edits.passedFor(norm, input)});
    auto compute = [&](Operation *op, ValueRange added) {
      auto matmul = cast<MatmulOp>(op);
      OpBuilder b(matmul);
      auto flow = kernel::FlowType::get(b.getContext(), rowwise.width(), RowKind::BF16);
      auto rows = kernel::RowwiseOp::create(b, rowwise.getLoc(), flow, added, ValueRange(),
                                            /*routes=*/Value(), /*columns=*/Value(),
                                            rowwise.getExtent(), rowwise.getGather());
      IRMapping mapping;
      rowwise.getBody().cloneInto(&rows.getBody(), mapping);
      matmul.getXMutable().assign(rows.getFlow());
      matmul.getXFp8Mutable().clear();
    };
    const kernel::KernelShape shape = edits.shapeWith(*target, readers, inputs, compute);
    if (!shape.refused.empty())
      return remarkMissed(norm, kPattern, "a reader of its rows " + shape.refused);
    IRMapping copies = edits.split(norm, norm->getBlock()->findAncestorOpInBlock(*readers.back()),
                                   {quantityOf(rowwise.getExtent()), uint64_t(shape.mostUnits)});
    for (plan::LaunchOp reader : readers) {
      auto copy = cast<plan::LaunchOp>(copies.lookup(reader.getOperation()));
      edits.edit(copy, "norm", inputs, compute);
      addOriginBefore(copy, norm);
    }
    for (plan::LaunchOp launch : roundings)
      copies.lookup(launch.getOperation())->erase();
    copies.lookup(norm.getOperation())->erase();
    remarkPassed(norm, kPattern,
                 "computed by " + std::to_string(readers.size()) +
                     " projections in steps of at most " + std::to_string(shape.mostUnits));
  }

  const Target *target = nullptr;

  /// Who reads the rows that the norm writes; why they cannot compute them, if so. `roundings`: who makes fp8 rows of
  /// them, for projections of many tokens.
  static std::string findReaders(KernelEdits &edits, plan::LaunchOp norm, kernel::RowwiseOp rowwise,
                                 SmallVectorImpl<plan::LaunchOp> &readers,
                                 SmallVectorImpl<plan::LaunchOp> &roundings) {
    Attribute rows = edits.passedFor(norm, rowwise.getOutputs().front());
    SmallVector<Attribute> inputs;
    for (Value input : rowwise.getInputs())
      inputs.push_back(edits.passedFor(norm, input));
    bool changed = false; // an input has other values by now
    for (plan::LaunchOp launch : launchesBehind(norm)) {
      Operation *anchor = launch.anchor();
      bool reads = false, overwrites = false;
      for (auto [effect, passed] : llvm::zip(launch.operandEffects(), launch.getArgs())) {
        changed |= effect.writes && llvm::is_contained(inputs, passed);
        reads |= effect.reads && passed == rows;
        overwrites |= effect.writes && passed == rows;
      }
      if (reads && isa<kernel::Fp8RowsOp>(anchor)) {
        roundings.push_back(launch);
      } else if (reads) {
        auto matmul = dyn_cast<MatmulOp>(anchor);
        if (!matmul || !isa<RowsType>(matmul.getX().getType()) ||
            edits.passedFor(launch, matmul.getX()) != rows ||
            llvm::count(launch.getArgs(), rows) != 1)
          return "a reader of its rows is not a projection of them";
        if (matmul.getExtent() != rowwise.getExtent())
          return "a reader of its rows counts tokens where it counts logits rows, or the other way round";
        if (changed) // also by the reader itself: other blocks of it still read
          return "its input is overwritten before a reader of its rows is done";
        readers.push_back(launch);
      }
      if (overwrites)
        break;
    }
    if (edits.areReadAcrossSections(rows))
      return "its rows are read in a section that does not write them";
    return readers.empty() ? "nobody in its section reads its rows" : "";
  }
};
} // namespace
