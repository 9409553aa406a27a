//===- RoundFloats.cpp - Float matrices become bf16 -----------------------===//
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "passes/Passes.h"
#include "passes/quantize/WeightFormats.h"

namespace ingot {
#define GEN_PASS_DEF_ROUNDFLOATSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct RoundFloats : ingot::impl::RoundFloatsPassBase<RoundFloats> {
  void runOnOperation() override {
    changeMatrixFormats(getOperation(), [](lm::WeightOp weight, bool) {
      lm::WeightType type = weight.getType();
      return type.numeric().isFloat() ? WeightFormat::BF16 : type.getFormat();
    });
  }
};
} // namespace
