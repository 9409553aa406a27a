//===- HunYuan.cpp - HunYuan V1, dense and with experts -------------------===//
//
// Llama's layer, with norms of each head of q and k after the rotation. Long contexts use a larger rope base.
// Hunyuan-A13B has a shared MLP and experts. Experts are chosen by the softmax over all of them, and their weights are
// normalised to a sum of 1.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

static void setDefaults(Decoder &m) {
  m.headNorm = HeadNorm::HeadAfterRope;
  m.alphaStretches = true;
  m.eps = 1e-5;
  m.names.qNorm.hf = "self_attn.query_layernorm";
  m.names.kNorm.hf = "self_attn.key_layernorm";
}

/// Reads the keys that both models have for attention, and keys that only unpublished models set.
static void readRest(Config &config, Decoder &m) {
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
  config.requireCount("attention_head_dim", m.headDim);
}

/// Defaults of HF's HunYuanDenseV1Config.
void models::readHunYuan(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  setDefaults(m);
  readSizes(config, checkpoint, m);
  readRest(config, m);
}

/// Reads the width of experts from moe_intermediate_size, which HF ignores: its experts are as wide as the
/// shared MLP.
static void readHunYuanExperts(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  if (config.has("moe_intermediate_size"))
    experts.width = config.count("moe_intermediate_size");
  const int64_t shared = config.has("num_shared_expert") ? config.count("num_shared_expert") : 1;
  experts.sharedWidth = shared * m.feedForward;
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
