//===- Glm4Moe.cpp - GLM-4.5, 4.6 and 4.7 ---------------------------------===//
//
// Half of each head turns, in halves; heads may be normed. The first layers are dense, the others have a shared
// MLP and experts, chosen as in DeepSeek-V3 (arXiv:2412.19437): by sigmoid and a bias, weights normalised and
// scaled. (HF modeling_glm4_moe.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

static void readHf(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  RouteShape &route = experts.route;
  if (!config.flagOr("norm_topk_prob", true))
    route.normalize = lm::RouteNorm::None;
  route.scale = config.positiveOr("routed_scaling_factor", 1);
  experts.sharedWidth = experts.width * config.countOr("n_shared_experts", 1);
  const auto dense = static_cast<int64_t>(config.numberOr("first_k_dense_replace", 1));
  readExpertLayers(m, [&](int64_t i) { return i >= dense; });
  readBias(config, "attention_bias", {&m.attentionBias});
}

/// Defaults of HF's Glm4MoeConfig.
void models::readGlm4Moe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 131072;
  m.kvHeads = 8;
  m.eps = 1e-5;
  m.rotatesInPart = true;
  m.partialRotary = 0.5;
  m.names.ffnNorm.gguf = "post_attention_norm";
  Experts &experts = m.experts.emplace();
  experts.route.score = lm::RouteScore::Sigmoid;
  experts.route.normEps = 1e-20;
  experts.route.groupScore = lm::GroupScore::Top2Sum;
  experts.selectBias = true;
  experts.route.groups = config.countOr("n_group", 1);
  experts.route.usedGroups = config.countOr("topk_group", 1);
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  const bool normed = config.isGguf() ? checkpoint.find("blk.0.attn_q_norm.weight") != nullptr
                                      : config.flagOr("use_qk_norm", false);
  m.headNorm = normed ? HeadNorm::Head : HeadNorm::None;
  if (!config.isGguf())
    readHf(config, m);
}
