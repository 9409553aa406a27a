//===- Glm4Moe.cpp - GLM-4.5, 4.6 and 4.7 ---------------------------------===//
//
// Half of each head is rotated, with pairs (i, i + half of the rotated part). Heads may be normed. The first layers are
// dense; the others have a shared MLP and DeepSeek-V3's experts. (HF modeling_glm4_moe.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Glm4MoeConfig.
void models::readGlm4Moe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 131072;
  m.kvHeads = 8;
  m.eps = 1e-5;
  m.rotatesInPart = true;
  m.partialRotary = 0.5;
  m.names.ffnNorm.gguf = "post_attention_norm";
  setGroupedRouter(config, m.experts.emplace());
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  const bool normed = config.isGguf() ? checkpoint.find("blk.0.attn_q_norm.weight") != nullptr
                                      : config.flagOr("use_qk_norm", false);
  m.headNorm = normed ? HeadNorm::Head : HeadNorm::None;
  if (config.isGguf())
    return;
  readGroupedRouter(config, m, /*normalized=*/true, /*dense=*/1);
  readBias(config, "attention_bias", {&m.attentionBias});
}
