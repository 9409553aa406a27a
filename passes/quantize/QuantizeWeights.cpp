//===- QuantizeWeights.cpp - Choose quantised formats for float matrices ---===//
#include "passes/Passes.h"
#include "passes/quantize/WeightFormats.h"

namespace ingot {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct QuantizeWeights : ingot::impl::QuantizeWeightsPassBase<QuantizeWeights> {
  using QuantizeWeightsPassBase::QuantizeWeightsPassBase;

  void runOnOperation() override {
    auto target = weightFormatNamed(format);
    if (!target || (*target != WeightFormat::Int8 && *target != WeightFormat::Int4G32 &&
                    *target != WeightFormat::Int4G64 && *target != WeightFormat::Int4G128)) {
      getOperation().emitError("cannot quantise to '")
          << format << "': expects int8, int4_g32, int4_g64 or int4_g128";
      return signalPassFailure();
    }
    changeMatrixFormats(getOperation(), [&](lm::WeightType type, bool insideLayer) {
      if (!type.numeric().isFloat())
        return type.getFormat();
      return insideLayer ? *target : WeightFormat::Int8;
    });
  }
};
} // namespace
