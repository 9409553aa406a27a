//===- Fading.cpp - An unpublished model family ------------------------------===//
//
// Llama's layers, except that every other layer mixes tokens by an activation with memory (sample.fading)
// instead of attention: mix(h) = fading_out(fading(fading_in(h))).
//===----------------------------------------------------------------------===//
#include "Sample.h"

#include "models/Decoder.h"
#include "models/ModelBuilder.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::models;

static constexpr LayerTensor kIn = {"fading_in", "fading_in", "fading.in_proj"};
static constexpr LayerTensor kOut = {"fading_out", "fading_out", "fading.out_proj"};

static void takeFading(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                       const Decoder &m) {
  model.addMatrix(weights, layer, kIn, m.hidden, m.hidden, Bias::None);
  model.addMatrix(weights, layer, kOut, m.hidden, m.hidden, Bias::None);
}

static Value emitFading(LayerEmitter &layer, Value normed, const Decoder &m) {
  Value x = layer.linear(normed, kIn.role);
  Value &state = layer.addState("fading", {{"s", 1, m.hidden}}, /*fixed=*/true);
  auto op = sample::FadingOp::create(layer.ops(), layer.at("fading"), x, state,
                                     layer.ops().getF32FloatAttr(0.75));
  state = op.getAfter();
  return layer.linear(op.getResult(), kOut.role);
}

static const Mixer kFading = {takeFading, emitFading};

static void readFading(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  readSizes(config, checkpoint, m);
  m.rules.resize(static_cast<size_t>(m.layers));
  for (int64_t i = 0; i < m.layers; ++i)
    m.rules[size_t(i)] =
        i % 2 ? LayerRules{"attention"} : LayerRules{"fading", 0, true, false, &kFading};
}

Family sample::fadingFamily() {
  static constexpr llvm::StringLiteral kNames[] = {"FadingForCausalLM", "fading"};
  return {"fading", kNames, readFading};
}
