//===- ChooseEncodings.cpp - Rows in the encodings that consumers expect --===//
//
// Inserts one conversion, shared by all consumers, for each value that projections read in an encoding other
// than f32. Where the kernel of the producer can write that encoding itself, the conversion moves into the
// producer's region, and the f32 rows are dropped if no consumer is left. If the producer is a single op, a region is
// made of it first.
//
//   lm.rms_norm %x    read only by projections    lm.fused "norm" { lm.rms_norm, lm.cast } -> "q8"
//   lm.fused "norms"  also read by an addition    … -> f32, "q8"
//   lm.causal_conv    cannot write q8             lm.causal_conv, then lm.cast: one more launch
//===----------------------------------------------------------------------===//
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/LmOps.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/select/RowEncodings.h"

namespace ingot {
#define GEN_PASS_DEF_CHOOSEENCODINGSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::RowKind;

namespace {

/// Chooses encodings for one device.
class EncodingChooser {
public:
  EncodingChooser(const Target &target, bool fp8Rows)
      : device(target.name()), bf16(target.readsBf16Rows()), fp8Rows(fp8Rows) {}

  void choose(lm::ModelOp model) {
    model.walk([&](FunctionOpInterface function) {
      // On CPUs the head (the entry's own projections) gets two planes: it runs on few rows and is bound by
      // memory, and int8 costs more quality there than in any other projection (docs/numerics.md).
      encoding = bf16 ? RowKind::BF16 : isa<lm::EntryOp>(function) ? RowKind::Q8x2 : RowKind::Q8;
      convert(function.getFunctionBody().front());
    });
  }

private:
  void convert(Block &block) {
    auto atBegin = OpBuilder::atBlockBegin(&block);
    for (Value argument : block.getArguments())
      (void)castOf(argument, atBegin);
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      OpBuilder behind(&block, std::next(op.getIterator()));
      OpGroup within;
      for (Value result : op.getResults())
        if (lm::CastOp made = castOf(result, behind); made && writes(&op, made))
          within.insert(made);
      if (!within.empty())
        moveInto(&op, within);
    }
  }

  /// Converts a value for all projections that read it rounded, and makes them read the conversion. Returns null if
  /// there are none.
  lm::CastOp castOf(Value value, OpBuilder &b) {
    auto rows = dyn_cast<RankedTensorType>(value.getType());
    if (!rows || rows.getEncoding())
      return {};
    SmallVector<OpOperand *> consumers, ofFp8;
    for (OpOperand &use : value.getUses())
      if (auto linear = dyn_cast<lm::LinearOp>(use.getOwner()); linear && readsRounded(linear))
        (readsFp8(linear) ? ofFp8 : consumers).push_back(&use);
    if (consumers.empty() && ofFp8.empty())
      return {};
    auto rounded = lm::CastOp::create(b, value.getLoc(), withEncoding(rows, encoding), value);
    for (OpOperand *use : consumers)
      use->set(rounded);
    if (ofFp8.empty())
      return rounded;
    // The fp8 rows are made from the bf16 rows, which projections of other weights read. The conversion to fp8 is
    // therefore inserted late, right before its first consumer.
    auto consumerOf = [&](OpOperand *use) {
      return value.getParentBlock()->findAncestorOpInBlock(*use->getOwner());
    };
    OpBuilder before(consumerOf(*llvm::min_element(ofFp8, [&](OpOperand *one, OpOperand *other) {
      return consumerOf(one)->isBeforeInBlock(consumerOf(other));
    })));
    auto fp8 =
        lm::CastOp::create(before, value.getLoc(), withEncoding(rows, RowKind::FP8), rounded);
    for (OpOperand *use : ofFp8)
      use->set(fp8);
    return rounded;
  }

  bool readsRounded(lm::LinearOp linear) const {
    if (!bf16)
      return linear.getWeight().getType().numeric().hasIntegerCodes();
    // All projections read rounded rows, except routers (they choose the experts of tokens) whose launch has only float
    // weights.
    if (!choosesExperts(launchOf(linear)))
      return true;
    if (allWeights(linear, &NumericFormat::isFloat))
      return false;
    remarkMissed(linear, "router", "its launch has quantised weights, which read rounded rows");
    return true;
  }
  /// Whether all weights of the projection's launch are fp8.
  bool readsFp8(lm::LinearOp linear) const {
    return bf16 && fp8Rows && allWeights(linear, &NumericFormat::isScaledFloat);
  }

  /// The launch that contains a projection: a region, or the projection itself.
  static Operation *launchOf(lm::LinearOp linear) {
    auto fused = dyn_cast<lm::FusedOp>(linear->getParentOp());
    return fused ? fused.getOperation() : linear;
  }
  /// Whether all weights of the projection's launch are of that kind.
  static bool allWeights(lm::LinearOp linear, bool (NumericFormat::*kind)() const) {
    return llvm::all_of(opsOf(launchOf(linear)), [&](Operation *op) {
      auto other = dyn_cast<lm::LinearOp>(op);
      return !other || (other.getWeight().getType().numeric().*kind)();
    });
  }

  /// Whether the launch `producer` can write the result of `conversion` itself.
  bool writes(Operation *producer, lm::CastOp conversion) const {
    if (producer->hasAttr(lm::kernelAttrOf(device))) // an external kernel
      return false;
    SmallVector<Operation *> ops = opsOf(producer);
    if (llvm::all_of(ops, isRowwise) || isa<lm::PermuteOp>(ops.front()))
      return true;
    // Projections and attention write a single encoding, and never two planes.
    if (!conversion.getX().hasOneUse() || encoding == RowKind::Q8x2)
      return false;
    if (auto attention = dyn_cast<lm::AttentionOp>(ops.front()))
      return bf16 || lm::widthOf(attention.getResult()) / attention.getHeads() % kGroupK == 0;
    return llvm::any_of(ops, llvm::IsaPred<lm::LinearOp>);
  }

  /// Makes one region of the ops of `producer` and the conversions of its results.
  static void moveInto(Operation *producer, OpGroup within) {
    const std::string pattern = launchName(producer).str();
    OpGroup group;
    if (auto old = dyn_cast<lm::FusedOp>(producer)) {
      IRRewriter rewriter(old);
      group = inlineRegion(rewriter, old);
    } else {
      group.insert(producer);
    }
    group.insert_range(within);
    wrap(group, pattern);
  }

  StringRef device;
  bool bf16, fp8Rows;
  RowKind encoding = RowKind::F32; ///< the encoding that projections of this function read
};

struct ChooseEncodings : ingot::impl::ChooseEncodingsPassBase<ChooseEncodings> {
  using ChooseEncodingsPassBase::ChooseEncodingsPassBase;

  void runOnOperation() override {
    if (precision == Precision::Fast)
      chooseEncodings(getOperation(), targetOf(device), fp8Rows);
  }
};
} // namespace

void ingot::chooseEncodings(lm::ModelOp model, const Target &target, bool fp8Rows) {
  EncodingChooser(target, fp8Rows).choose(model);
}
