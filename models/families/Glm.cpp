//===- Glm.cpp - GLM-4 9B and 32B -----------------------------------------===//
//
// Half of each head is rotated, in adjacent pairs; gate and up are one tensor. GLM-4-0414 has norms around
// both sublayers; the GLM-4 of 2024 (chatglm in GGUF files) has them only before. (HF modeling_glm.py,
// modeling_glm4.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's GlmConfig and Glm4Config.
void models::readGlm(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  const bool around = llvm::StringRef(checkpoint.architecture).starts_with_insensitive("glm4");
  if (around) {
    m.normPlace = NormPlace::Around;
    m.names.postAttentionNorm.hf = "post_self_attn_layernorm";
    m.names.postFfnNorm.hf = "post_mlp_layernorm";
  }
  m.context = 131072;
  m.kvHeads = 2;
  m.headDim = 128;
  m.eps = 0.00000015625;
  m.gateUp = true;
  m.style = lm::RopeStyle::Interleaved;
  m.rotatesInPart = true;
  m.partialRotary = 0.5;
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias}, true);
}
