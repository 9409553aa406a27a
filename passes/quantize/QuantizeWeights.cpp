//===- QuantizeWeights.cpp - Choose quantised formats for float matrices ---===//
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "passes/Passes.h"
#include "passes/quantize/WeightFormats.h"

#include "llvm/Support/GlobPattern.h"

namespace ingot {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct QuantizeWeights : ingot::impl::QuantizeWeightsPassBase<QuantizeWeights> {
  using QuantizeWeightsPassBase::QuantizeWeightsPassBase;
  QuantizeWeights(const QuantizeWeights &other)
      : QuantizeWeightsPassBase(other) {} // rules are parsed anew

  void runOnOperation() override {
    std::optional<WeightFormat> fallback;
    if (!format.empty() && !(fallback = target(format)))
      return signalPassFailure();
    for (const std::string &text : rules) {
      auto [pattern, name] = StringRef(text).rsplit(':');
      auto glob = llvm::GlobPattern::create(pattern);
      std::optional<WeightFormat> wanted = target(name);
      if (!glob || !wanted) {
        if (!glob)
          getOperation().emitError("rule '")
              << text << "' is not a valid glob: " << llvm::toString(glob.takeError());
        return signalPassFailure();
      }
      parsed.emplace_back(std::move(*glob), *wanted);
    }
    changeMatrixFormats(getOperation(), [&](lm::WeightOp weight, bool insideLayer) {
      for (auto &[glob, wanted] : parsed)
        if (glob.match(weight.getSymName()))
          return wanted;
      lm::WeightType type = weight.getType();
      if (!fallback || !type.numeric().isFloat())
        return type.getFormat();
      return insideLayer ? *fallback : WeightFormat::Int8;
    });
  }

private:
  /// Returns the format with this name. Emits an error if weights cannot be quantised to it.
  std::optional<WeightFormat> target(StringRef name) {
    auto found = weightFormatNamed(std::string_view(name.data(), name.size()));
    if (found && (*found == WeightFormat::Int8 || *found == WeightFormat::Int4G32 ||
                  *found == WeightFormat::Int4G64 || *found == WeightFormat::Int4G128 ||
                  *found == WeightFormat::Fp8 || *found == WeightFormat::BF16))
      return found;
    getOperation().emitError("cannot quantise to '")
        << name << "': expects int8, int4_g32, int4_g64, int4_g128, fp8 or bf16";
    return std::nullopt;
  }

  SmallVector<std::pair<llvm::GlobPattern, WeightFormat>> parsed;
};
} // namespace
