//===- Lfm2.cpp - LFM2 and LFM2.5 ------------------------------------------===//
//
//   h += mix(operator_norm(h))
//   h += ffn_down(silu(ffn_gate) * ffn_up)                      gate and up applied to ffn_norm(h)
//
// where mix is, depending on the layer, attention with a norm of each head of q and k, or a short convolution
// (ShortConvolution.h). In LFM2-MoE (Lfm2Moe.cpp), the layers after the first few have experts. (LFM2
// technical report, arXiv:2511.23404; HF modeling_lfm2.py.) The final norm is called embedding_norm; GGUF
// files call it token_embd_norm, or output_norm if written by ollama.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"
#include "models/ShortConvolution.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// Checks that a convolution sees the token and at least one before it; otherwise there would be no state.
static int64_t checkTaps(Config &config, llvm::StringRef key, int64_t taps) {
  if (taps < 2)
    config.refuseValue(key, import::line(taps), "2 or more");
  return std::max<int64_t>(taps, 2);
}

/// Returns whether each layer has attention rather than a convolution. In a GGUF, layers with KV heads have attention;
/// they must all have the same number of KV heads.
static std::vector<bool> readKvHeads(Config &config, Decoder &m) {
  constexpr const char *key = "attention.head_count_kv";
  const std::vector<int64_t> heads = config.integers(key);
  m.kvHeads = heads.empty() ? 1 : std::max<int64_t>(1, *llvm::max_element(heads));
  std::vector<bool> attends;
  for (int64_t count : heads) {
    attends.push_back(count != 0);
    if (count != 0 && count != m.kvHeads)
      config.refuseValue(key, import::line(count, " and ", m.kvHeads), "one number, or 0");
  }
  if (static_cast<int64_t>(attends.size()) != m.layers)
    config.refuseValue(key, import::line(attends.size(), " layers"),
                       import::line("a list of ", m.layers));
  return attends;
}

/// Returns the same for HF, from the list of types or from the indices of attention layers. Without either, all layers
/// have attention.
static std::vector<bool> readLayerTypes(Config &config, int64_t layers) {
  std::vector<bool> attends;
  if (config.hasArray("layer_types")) {
    for (const std::string &type : config.texts("layer_types")) {
      attends.push_back(type == "full_attention");
      if (!attends.back() && type != "conv")
        config.refuseValue("layer_types", import::inQuotes(type), "full_attention, conv");
    }
    if (static_cast<int64_t>(attends.size()) != layers)
      config.refuseValue("layer_types", import::line(attends.size(), " layers"),
                         import::line(layers, " layers"));
    config.passOver({"full_attn_idxs"});
    return attends;
  }
  const bool listed = config.hasArray("full_attn_idxs");
  attends.assign(static_cast<size_t>(layers), !listed);
  for (int64_t i : config.integers("full_attn_idxs"))
    if (i >= 0 && i < layers)
      attends[static_cast<size_t>(i)] = true;
  return attends;
}

/// The actual width is two thirds of the configured one (times a factor, then rounded up), unless the
/// configuration disables this.
static int64_t readFeedForward(Config &config) {
  int64_t width = config.countOr("intermediate_size", 12288);
  width = config.countOr("block_ff_dim", width);
  const double factor = config.positiveOr("block_ffn_dim_multiplier", 1);
  const int64_t multiple = config.countOr("block_multiple_of", 256);
  if (!config.flagOr("block_auto_adjust_ff_dim", true))
    return width;
  width = static_cast<int64_t>(2.0 * static_cast<double>(width) / 3);
  if (config.isNull("block_ffn_dim_multiplier"))
    return width;
  width = static_cast<int64_t>(factor * static_cast<double>(width));
  return (width + multiple - 1) / multiple * multiple;
}

static void readHfExperts(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  experts.selectBias = config.flagOr("use_expert_bias", true);
  if (!config.flagOr("norm_topk_prob", true))
    experts.route.normalize = lm::RouteNorm::None;
  experts.route.scale = config.positiveOr("routed_scaling_factor", 1);
  const auto dense = static_cast<int64_t>(config.numberOr("num_dense_layers", 2));
  readExpertLayers(m, [&](int64_t i) { return i >= dense; });
}

static std::vector<bool> readHf(Config &config, Decoder &m) {
  if (m.experts)
    readHfExperts(config, m);
  else
    m.feedForward = readFeedForward(config);
  m.taps = checkTaps(config, "conv_L_cache", config.countOr("conv_L_cache", 3));
  m.tied = config.flagOr("tie_embedding", m.tied);
  readBias(config, "conv_bias", {&m.mixerBias});
  return readLayerTypes(config, m.layers);
}

/// Defaults of HF's Lfm2Config.
void models::readLfm2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.headNorm = HeadNorm::Head;
  m.taps = 3;
  m.context = 128000;
  m.feedForward = 12288;
  m.kvHeads = 8;
  m.eps = 1e-5;
  m.tied = true;
  m.rope.base = 1000000;
  m.hf.outputNorm = "model.embedding_norm";
  m.keys.eps = "norm_eps";
  if (config.has("theta") && !config.has("rope_theta"))
    m.keys.ropeBase = "theta";
  m.names.attnNorm.hf = "operator_norm";
  m.names.qNorm.hf = "self_attn.q_layernorm";
  m.names.kNorm.hf = "self_attn.k_layernorm";
  m.names.output.hf = "self_attn.out_proj";
  m.names.ffnNorm.hf = "ffn_norm";
  m.names.gate.hf = "feed_forward.w1";
  m.names.up.hf = "feed_forward.w3";
  m.names.down.hf = "feed_forward.w2";
  readSizes(config, checkpoint, m);
  if (m.experts)
    readExperts(config, m);
  std::vector<bool> attends;
  if (config.isGguf()) {
    config.requireCount("rope.dimension_count", m.headDim);
    m.taps = checkTaps(config, "shortconv.l_cache", config.count("shortconv.l_cache"));
    m.mixerBias = Bias::IfPresent;
    if (checkpoint.find("token_embd_norm.weight"))
      m.ggufOutputNorm = "token_embd_norm";
    attends = readKvHeads(config, m);
  } else {
    attends = readHf(config, m);
  }
  m.rules.resize(static_cast<size_t>(m.layers));
  for (auto [rules, attend] : llvm::zip(m.rules, attends)) {
    rules.kind = attend ? "attention" : "conv";
    rules.mixer = attend ? nullptr : &kShortConvolution;
  }
}
