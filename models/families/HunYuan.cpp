//===- HunYuan.cpp - HunYuan V1, dense and with experts -------------------===//
//
// Llama's layer with norms of each head of q and k behind their rotation. Long contexts turn by a larger base.
// Hunyuan-A13B has a shared MLP and experts: the best by the softmax over all, normalised to a sum of 1.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

static void setDefaults(Decoder &m) {
  m.headNorm = HeadNorm::HeadAfterRope;
  m.eps = 1e-5;
  m.names.qNorm.hf = "self_attn.query_layernorm";
  m.names.kNorm.hf = "self_attn.key_layernorm";
}

/// What both say of attention, and of models that were not published.
static void readRest(Config &config, Decoder &m) {
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

/// Defaults of HF's HunYuanDenseV1Config.
void models::readHunYuan(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  setDefaults(m);
  readSizes(config, checkpoint, m);
  readRest(config, m);
}

/// Widths of experts stand in moe_intermediate_size, which HF passes over: its experts are as wide as the shared MLP.
static void readHunYuanExperts(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  if (config.has("moe_intermediate_size"))
    experts.width = countOfLayers(config, "moe_intermediate_size");
  const int64_t shared =
      config.has("num_shared_expert") ? countOfLayers(config, "num_shared_expert") : 1;
  experts.sharedWidth = shared * m.feedForward;
  config.requireFlag("use_mixed_mlp_moe", true); // the shared MLP
  config.requireFlag("norm_topk_prob", true);
  config.requireFlag("use_mla", false);
  config.requireFlag("group_limited_greedy", false);
  config.requireFlag("mlp_bias", false);
  config.requireFlag("position_embedding_xdrope", false);
  config.requireCount("moe_layer_num_skipped", 0);
  config.requirePositive("routed_scaling_factor", 1);
  // Of training, of classification, and of pictures.
  config.harmless({"anyres_*", "moe_drop_tokens", "moe_random_routing_dropped_token",
                   "num_media_embeds", "skip_cls_token", "vit_*"});
}

/// Defaults of HF's HunYuanMoEV1Config.
void models::readHunYuanMoe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  setDefaults(m);
  Experts &experts = m.experts.emplace();
  experts.widthKey = "intermediate_size";
  experts.names.router.hf = "mlp.gate.wg";
  experts.names.sharedGate.hf = "mlp.shared_mlp.gate_proj";
  experts.names.sharedUp.hf = "mlp.shared_mlp.up_proj";
  experts.names.sharedDown.hf = "mlp.shared_mlp.down_proj";
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  readRest(config, m);
  if (!config.isGguf())
    readHunYuanExperts(config, m);
}
