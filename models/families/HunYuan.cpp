//===- HunYuan.cpp - HunYuan V1, dense ------------------------------------===//
//
// Llama's layer with norms of each head of q and k behind their rotation. Long contexts turn by a larger base.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/ImportErrors.h"

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
  readBias(config, "mlp_bias", {&m.mlpBias});
  config.requireFlag("use_cla", false);
  config.requireFlag("use_qk_norm", true);
  config.requireFlag("use_rotary_pos_emb", true);
  config.requireCount("attention_head_dim", m.headDim);
  if (std::string norm = config.textOr("norm_type", "rms"); norm != "rms")
    config.refuseValue("norm_type", import::inQuotes(norm), "rms");
  // Of classification, of pictures, and of sharing caches, which use_cla rules out.
  config.harmless({"add_classification_head", "cla_share_factor", "class_num", "dense_list",
                   "im_end_id", "im_newline_id", "im_start_id", "mask_init_id", "org_vocab_size",
                   "pad_id", "pool_type", "text_end_id", "text_start_id"});
}
