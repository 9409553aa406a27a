//===- SeedOss.cpp - Seed-OSS ---------------------------------------------===//
//
// Llama's layer with biases of q, k and v. GGUF files call the MLP's norm post_attention_norm.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's SeedOssConfig.
void models::readSeedOss(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 524288;
  m.kvHeads = 8;
  m.headDim = 128;
  m.names.ffnNorm.gguf = "post_attention_norm";
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias}, true);
  readBias(config, "attention_out_bias", {&m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
}
