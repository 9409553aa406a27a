//===- Nemotron.cpp - Nemotron 4 and Minitron, dense ----------------------===//
//
// Layer norms multiply by 1 + w (GGUF files store 1 + w), the MLP has a squared ReLU and no gate, and half of each
// head is rotated.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's NemotronConfig.
void models::readNemotron(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.norm = Norm::Layer;
  m.normWeightOffset = 1;
  m.gated = false;
  m.context = 4096;
  m.eps = 1e-5;
  m.rotatesInPart = true;
  m.partialRotary = 0.5;
  m.activation = lm::ActivationKind::Relu2;
  m.activationOtherwise = "relu2";
  m.keys.eps = "norm_eps";
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
}
