//===- ShortConvolution.cpp - See ShortConvolution.h ------------------------===//
#include "models/ShortConvolution.h"
#include "models/ModelBuilder.h"

using namespace ingot;
using namespace ingot::models;

static constexpr LayerTensor kIn[] = {{"conv_b", "shortconv.in_proj", "conv.in_proj"},
                                      {"conv_c", "shortconv.in_proj", "conv.in_proj"},
                                      {"conv_x", "shortconv.in_proj", "conv.in_proj"}};
static constexpr LayerTensor kConv = {"conv", "shortconv.conv", "conv.conv"};
static constexpr LayerTensor kOut = {"conv_output", "shortconv.out_proj", "conv.out_proj"};

static void takeConvolution(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                            const Decoder &m) {
  for (int64_t third = 0; third < 3; ++third)
    model.addMatrix(weights, layer, kIn[third], m.hidden, m.hidden, m.mixerBias,
                    RowOrder::range(third * m.hidden, m.hidden));
  model.addTaps(weights, layer, kConv, m.hidden, m.taps, m.mixerBias);
  model.addMatrix(weights, layer, kOut, m.hidden, m.hidden, m.mixerBias);
}

static mlir::Value emitConvolution(LayerEmitter &layer, mlir::Value normed, const Decoder &) {
  mlir::Value b = layer.linear(normed, "conv_b");
  mlir::Value c = layer.linear(normed, "conv_c");
  mlir::Value x = layer.linear(normed, "conv_x");
  mlir::Value mixed = layer.causalConv(layer.multiply(b, x), "conv");
  return layer.linear(layer.multiply(c, mixed), "conv_output");
}

const Mixer models::kShortConvolution = {takeConvolution, emitConvolution};
