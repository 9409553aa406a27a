//===- StarCoder2.cpp - StarCoder2 ----------------------------------------===//
//
// The model has layer norms, biases everywhere, and an MLP without a gate.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Starcoder2Config.
void models::readStarCoder2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.norm = Norm::Layer;
  m.gated = false;
  m.context = 4096;
  m.kvHeads = 2;
  m.eps = 1e-5;
  m.tied = true;
  m.activation = lm::ActivationKind::GeluTanh;
  m.activationOtherwise = "gelu_pytorch_tanh";
  m.keys.eps = "norm_epsilon";
  m.names.up.hf = "mlp.c_fc";
  m.names.down.hf = "mlp.c_proj";
  readSizes(config, checkpoint, m);
  readBias(config, "use_bias", {&m.attentionBias, &m.outputBias, &m.mlpBias}, true);
  if (config.isGguf())
    return;
  m.sameWindow(config.countOr("sliding_window", 0));
}
