//===- DecoderConfig.cpp - Reads the settings of a decoder ----------------===//
#include "models/Decoder.h"

#include "compiler/import/error/ImportErrors.h"

#include <cmath>
#include <limits>

using namespace ingot;
using namespace ingot::models;
using import::line;

/// Raises the context of a model to the length to which its RoPE was scaled, if the configuration still has the
/// original length (the README of Qwen2.5 tells users to add only the rope settings).
static void stretchContext(Config &config, llvm::StringRef key, Decoder &m) {
  if (m.contextIsStretched || m.rope.reach <= static_cast<double>(m.context))
    return;
  if (m.rope.reach > std::numeric_limits<int32_t>::max())
    return config.refuseValue(key, line(m.rope.reach, " positions, stretched"),
                              line("at most ", std::numeric_limits<int32_t>::max()));
  m.context = static_cast<int64_t>(m.rope.reach);
}

static void readGgufSizes(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.layers = config.count("block_count", kMostLayers);
  m.context = config.count("context_length");
  m.hidden = config.count("embedding_length");
  m.feedForward = config.count("feed_forward_length");
  m.heads = config.count("attention.head_count");
  if (!m.taps) // layers with a convolution have no KV heads: the family then reads the list
    m.kvHeads = config.countOr("attention.head_count_kv", m.heads);
  m.headDim = config.countOr("attention.key_length", m.hidden / m.heads);
  config.requireCount("attention.value_length", m.headDim);
  m.eps = config.positive(m.norm == Norm::Layer ? "attention.layer_norm_epsilon"
                                                : "attention.layer_norm_rms_epsilon");
  m.normWeightOffset = 0; // files store w plus the offset
  m.tied = !checkpoint.find("output.weight");
  m.attentionBias = m.outputBias = m.mlpBias = Bias::IfPresent;
  // The number of embedding rows is reliable in every file, whereas keys may include padding tokens.
  const import::Tensor *embedding = checkpoint.find("token_embd.weight");
  m.vocab = config.countOr("vocab_size", 1);
  if (embedding)
    m.vocab = embedding->shape.front();
  m.rotary = config.countOr("rope.dimension_count",
                            static_cast<int64_t>(double(m.headDim) * m.partialRotary));
  m.rope = readGgufRope(config, m.rope.base, m.context);
  stretchContext(config, "context_length", m);
  if (!m.experts) {
    config.requireCount("expert_count", 0);
    config.passOver({"expert_used_count"}); // there are no experts
  }
}

static void readHfRope(Config &config, Decoder &m) {
  const bool byType = config.hasScope("rope_parameters.full_attention.") ||
                      config.hasScope("rope_parameters.sliding_attention.");
  const std::string scope = byType ? "rope_parameters.full_attention."
                            : config.hasScope("rope_parameters.") ? "rope_parameters."
                                                                  : "rope_scaling.";
  m.rope = readRope(config, scope, m.keys.ropeBase, m.rope.base, m.context);
  if (byType && m.localRope)
    m.localRope = readRope(config, "rope_parameters.sliding_attention.", "rope_local_base_freq",
                           m.localRope->base, m.context);
  auto scopes = {std::string(), scope};
  double share = m.partialRotary;
  for (const std::string &in : scopes) {
    const std::string key =
        in + (in.empty() ? m.keys.partialRotary.str() : "partial_rotary_factor");
    if (m.rotatesInPart)
      share = config.positiveOr(key, share);
    else
      config.requirePositive(key, 1);
  }
  m.rotary = static_cast<int64_t>(static_cast<double>(m.headDim) * share);
  if (!m.alphaStretches)
    m.rope.alpha = 1; // transformers ignores it
  stretchContext(config, m.keys.context, m);
}

static void readHfSizes(Config &config, Decoder &m) {
  const ConfigNames &keys = m.keys;
  m.layers = config.count(keys.layers, kMostLayers);
  m.context = config.countOr(keys.context, m.context);
  m.hidden = config.count(keys.hidden);
  m.feedForward = m.feedForward ? config.countOr(keys.feedForward, m.feedForward)
                                : config.count(keys.feedForward);
  m.heads = config.count(keys.heads);
  const bool own = m.kvHeads && !config.isNull(keys.kvHeads);
  m.kvHeads = config.countOr(keys.kvHeads, own ? m.kvHeads : m.heads);
  m.headDim = config.countOr(keys.headDim, m.headDim ? m.headDim : m.hidden / m.heads);
  m.vocab = m.vocab ? config.countOr("vocab_size", m.vocab) : config.count("vocab_size");
  m.eps = config.positiveOr(keys.eps, m.eps);
  m.tied = config.flagOr(keys.tied, m.tied);
  if (m.activationOtherwise != "xielu") // the family reads the slopes of xielu
    m.activation = readActivation(config, keys.activation, m.activationOtherwise);
  readHfRope(config, m);
}

void models::readSizes(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  if (config.isGguf())
    readGgufSizes(config, checkpoint, m);
  else
    readHfSizes(config, m);
}

void models::readBias(Config &config, llvm::StringRef key, std::initializer_list<Bias *> of,
                      bool otherwise) {
  if (config.isGguf())
    return;
  const bool there = config.flagOr(key, otherwise);
  for (Bias *bias : of)
    *bias = there ? Bias::Required : Bias::None;
}

/// Returns the local layers according to the checkpoint's own list; empty if it has none.
static std::vector<bool> listedLayers(Config &config) {
  if (config.isGguf())
    return config.hasArray("attention.sliding_window_pattern")
               ? config.flags("attention.sliding_window_pattern")
               : std::vector<bool>();
  std::vector<bool> local;
  for (const std::string &type : config.texts("layer_types")) {
    local.push_back(type == "sliding_attention");
    if (!local.back() && type != "full_attention")
      config.refuseValue("layer_types", import::inQuotes(type),
                         "sliding_attention, full_attention");
  }
  return local;
}

void models::readWindows(Config &config, Decoder &m, int64_t window,
                         llvm::function_ref<bool(int64_t)> otherwise) {
  const char *key = config.isGguf() ? "attention.sliding_window_pattern" : "layer_types";
  std::vector<bool> local = listedLayers(config);
  if (local.empty() && config.isGguf() && config.has(key)) {
    const int64_t period = config.count(key);
    for (int64_t i = 0; i < m.layers; ++i)
      local.push_back((i + 1) % period != 0);
  }
  if (local.empty())
    for (int64_t i = 0; i < m.layers; ++i)
      local.push_back(otherwise(i));
  if (int64_t(local.size()) != m.layers) {
    config.refuseValue(key, line(local.size(), " layers"), line(m.layers, " layers"));
    local.resize(size_t(m.layers));
  }
  m.rules.resize(size_t(m.layers));
  for (size_t i = 0; i < local.size(); ++i) {
    m.rules[i].window = local[i] ? window : 0;
    m.rules[i].localRope = local[i] && m.localRope;
    m.rules[i].kind = local[i] ? "local" : "global";
  }
}
