//===- Arcee.cpp - AFM 4.5B -----------------------------------------------===//
//
// Llama's layer with an MLP that has a squared ReLU and no gate. GGUF files hold q and k permuted, as Llama's GGUF
// files do.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's ArceeConfig.
void models::readArcee(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.gated = false;
  m.context = 4096;
  m.eps = 1e-5;
  m.activation = lm::ActivationKind::Relu2;
  m.activationOtherwise = "relu2";
  readSizes(config, checkpoint, m);
  if (config.isGguf())
    m.style = lm::RopeStyle::Interleaved;
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
}
