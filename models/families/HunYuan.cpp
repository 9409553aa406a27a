//===- HunYuan.cpp - HunYuan V1, dense ------------------------------------===//
//
// Llama's layer with norms of each head of q and k behind their rotation. Long contexts turn by a larger base.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's HunYuanDenseV1Config.
void models::readHunYuan(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.headNorm = HeadNorm::HeadAfterRope;
  m.eps = 1e-5;
  m.names.qNorm.hf = "self_attn.query_layernorm";
  m.names.kNorm.hf = "self_attn.key_layernorm";
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
}
