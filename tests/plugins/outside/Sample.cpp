//===- Sample.cpp - A plugin: two ops, a pass that uses one, a family -------===//
//
//   ingot compile MODEL --plugin sample.so --insert 'pre-fusion=lm.model(sample-use-qk-norm-rope)' …
//
// Kernels.cpp defines the ops' semantics and code, Fading.cpp the family.
//===----------------------------------------------------------------------===//
#include "Sample.h"

#include "compiler/extend/Plugin.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Norm.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace ingot;

#include "SampleDialect.cpp.inc"
#define GET_OP_CLASSES
#include "Sample.cpp.inc"

void sample::SampleDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Sample.cpp.inc"
      >();
}

namespace {

/// Returns a head's norm if norm and rotation match the kernel's; null if anything differs.
lm::RmsNormOp normOf(lm::RopeOp rope) {
  auto norm = rope ? rope.getX().getDefiningOp<lm::RmsNormOp>() : lm::RmsNormOp();
  if (!norm || !norm->hasOneUse() || !rope->hasOneUse() || !norm.getWeightOffset().isZero() ||
      rope.getAttentionFactor() != APFloat(1.0f) || rope.getStyle() != lm::RopeStyle::Half)
    return {};
  const int64_t headDim = norm.getWeight().getType().rows();
  return norm.getHeads() * uint64_t(headDim) == uint64_t(lm::widthOf(norm.getX())) &&
                 norm.getHeads() == rope.getHeads() &&
                 2 * rope.getFrequencies().getType().rows() == headDim
             ? norm
             : lm::RmsNormOp();
}

struct UseQkNormRope : PassWrapper<UseQkNormRope, OperationPass<lm::ModelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UseQkNormRope)

  StringRef getArgument() const override { return "sample-use-qk-norm-rope"; }
  StringRef getDescription() const override { return "one launch norms and rotates q and k"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<sample::SampleDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](lm::AttentionOp attention) {
      auto append = attention.getKv().getDefiningOp<lm::KvAppendOp>();
      auto q = attention.getQ().getDefiningOp<lm::RopeOp>();
      auto k = append ? append.getK().getDefiningOp<lm::RopeOp>() : lm::RopeOp();
      lm::RmsNormOp qNorm = normOf(q), kNorm = normOf(k);
      if (!qNorm || !kNorm || qNorm.getEps() != kNorm.getEps() ||
          q.getFrequencies() != k.getFrequencies())
        return;
      Operation *last = k->isBeforeInBlock(q) ? q : k;
      OpBuilder b(last);
      if (append->isBeforeInBlock(last))
        append->moveAfter(last);
      auto both = sample::QkNormRopeOp::create(
          b, last->getLoc(), qNorm.getX().getType(), kNorm.getX().getType(), qNorm.getX(),
          kNorm.getX(), qNorm.getWeight(), kNorm.getWeight(), q.getFrequencies(), q.getBatch(),
          qNorm.getEpsAttr());
      q.replaceAllUsesWith(both.getTurnedQ());
      k.replaceAllUsesWith(both.getTurnedK());
      for (Operation *old :
           {q.getOperation(), k.getOperation(), qNorm.getOperation(), kNorm.getOperation()})
        old->erase();
    });
  }
};

} // namespace

extern "C" PluginInfo ingotGetPlugin() {
  return {INGOT_PLUGIN_API, "sample", INGOT_PLUGIN_VERSION, LLVM_VERSION_STRING,
          [](PluginRegistry &registry) {
            registry.dialects.insert<sample::SampleDialect>();
            PassRegistration<UseQkNormRope>();
            registry.addFamily(sample::fadingFamily());
          }};
}
