//===- Ernie.cpp - ERNIE 4.5 ----------------------------------------------===//
//
// Llama's layer; heads rotate adjacent pairs in both containers. A range of layers has experts and a shared
// MLP. Experts are chosen by a softmax over the scores of all experts, plus a bias. Their weights are normalised
// without the bias.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

static void setDefaults(Decoder &m) {
  m.style = lm::RopeStyle::Interleaved;
  m.context = 131072;
  m.eps = 1e-5;
  m.rope.base = 500000;
  m.tied = true;
}

/// Defaults of HF's Ernie4_5Config.
void models::readErnie(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  setDefaults(m);
  m.kvHeads = 2;
  m.headDim = 128;
  readSizes(config, checkpoint, m);
  readBias(config, "use_bias", {&m.attentionBias, &m.outputBias, &m.mlpBias});
}

static void readHfExperts(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  experts.route.normFloor = config.positiveOr("moe_norm_min", 1e-12);
  experts.sharedWidth =
      experts.width * static_cast<int64_t>(config.numberOr("moe_num_shared_experts", 2));
  const auto first = static_cast<int64_t>(config.numberOr("moe_layer_start_index", 1)),
             last = static_cast<int64_t>(config.numberOr("moe_layer_end_index", -1));
  const int64_t step = config.countOr("moe_layer_interval", 1);
  readExpertLayers(m, [&](int64_t i) {
    return (i + 1) % step == 0 && i >= first && i <= (last == -1 ? m.layers : last);
  });
}

/// Defaults of HF's Ernie4_5_MoeConfig.
void models::readErnieMoe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  setDefaults(m);
  m.kvHeads = 4;
  Experts &experts = m.experts.emplace();
  experts.selectBias = true;
  experts.names.selectBias.hf = "mlp.moe_statics.e_score_correction_bias";
  if (checkpoint.find("model.layers.1.mlp.gate.moe_statics.e_score_correction_bias"))
    experts.names.selectBias.hf = "mlp.gate.moe_statics.e_score_correction_bias";
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  if (!config.isGguf())
    readHfExperts(config, m);
}
