//===- Phi2.cpp - Phi-1.5 and Phi-2 ---------------------------------------===//
//
// Both sublayers read the same h through one layer norm; there are biases everywhere, including the head;
// part of each head is rotated. GGUF files hold q, k and v in one tensor.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's PhiConfig.
void models::readPhi2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.norm = Norm::Layer;
  m.residual = Residual::OneNorm;
  m.gated = false;
  m.headBias = true;
  m.eps = 1e-5;
  m.rotatesInPart = true;
  m.partialRotary = 0.5;
  m.activation = lm::ActivationKind::GeluTanh;
  m.activationOtherwise = "gelu_new";
  m.keys.eps = "layer_norm_eps";
  m.hf.outputNorm = "model.final_layernorm";
  m.names.output.hf = "self_attn.dense";
  m.names.up.hf = "mlp.fc1";
  m.names.down.hf = "mlp.fc2";
  readSizes(config, checkpoint, m);
  if (!config.isGguf())
    m.attentionBias = m.outputBias = m.mlpBias = Bias::Required;
}
