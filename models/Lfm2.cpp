//===- Lfm2.cpp - LFM2 and LFM2.5, dense -----------------------------------===//
//
//   h += mix(operator_norm(h))
//   h += ffn_down(silu(ffn_gate) * ffn_up)                      of ffn_norm(h)
//
// where mix is, by layer, attention with a norm of each head of q and k, or a short convolution of each
// channel between two gates, which a sequence remembers a few rows of:
//
//   b, c, x = the three thirds of in_proj(h)
//   mix(h)  = out_proj(c * conv(b * x))
//
// (LFM2 technical report, arXiv:2511.23404; HF modeling_lfm2.py.) The last norm is called embedding_norm,
// token_embd_norm in GGUF files, where ollama's have output_norm.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Structure.h"
#include "models/Decoder.h"
#include "models/Families.h"
#include "models/Rope.h"

#include "compiler/import/ImportErrors.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;

namespace {

struct Lfm2 : Decoder {
  int64_t taps; ///< of a convolution: the token's own and those before it
  Bias convBias;
  Rope rope;
  std::vector<bool> attends; ///< by layer
};

constexpr HfNames kNames = {"model.layers.", "model.embed_tokens.weight", "model.embedding_norm",
                            "lm_head.weight"};
constexpr LayerTensor kMixNorm = {"attn_norm", "attn_norm", "operator_norm"};
constexpr LayerTensor kQNorm = {"attn_q_norm", "attn_q_norm", "self_attn.q_layernorm"};
constexpr LayerTensor kKNorm = {"attn_k_norm", "attn_k_norm", "self_attn.k_layernorm"};
constexpr LayerTensor kOutput = {"attn_output", "attn_output", "self_attn.out_proj"};
constexpr LayerTensor kIn[] = {{"conv_b", "shortconv.in_proj", "conv.in_proj"},
                               {"conv_c", "shortconv.in_proj", "conv.in_proj"},
                               {"conv_x", "shortconv.in_proj", "conv.in_proj"}};
constexpr LayerTensor kConv = {"conv", "shortconv.conv", "conv.conv"};
constexpr LayerTensor kOut = {"conv_output", "shortconv.out_proj", "conv.out_proj"};
constexpr LayerTensor kFfnNorm = {"ffn_norm", "ffn_norm", "ffn_norm"};
constexpr LayerTensor kGate = {"ffn_gate", "ffn_gate", "feed_forward.w1"};
constexpr LayerTensor kUp = {"ffn_up", "ffn_up", "feed_forward.w3"};
constexpr LayerTensor kDown = {"ffn_down", "ffn_down", "feed_forward.w2"};

} // namespace

/// A convolution sees the token and at least one before it, or there would be nothing to remember.
static int64_t checkTaps(Config &config, llvm::StringRef key, int64_t taps) {
  if (taps < 2)
    config.refuseValue(key, import::line(taps), "2 and more");
  return std::max<int64_t>(taps, 2);
}

/// Layers without KV heads are convolutions; the others have the same number.
static void readKvHeads(Config &config, Lfm2 &m) {
  constexpr const char *key = "attention.head_count_kv";
  const std::vector<int64_t> heads = config.integers(key);
  m.kvHeads = heads.empty() ? 1 : std::max<int64_t>(1, *llvm::max_element(heads));
  for (int64_t count : heads) {
    m.attends.push_back(count != 0);
    if (count != 0 && count != m.kvHeads)
      config.refuseValue(key, import::line(count, " and ", m.kvHeads), "one number, or 0");
  }
  if (static_cast<int64_t>(m.attends.size()) != m.layers)
    config.refuseValue(key, import::line(m.attends.size(), " layers"),
                       import::line("a list of ", m.layers));
}

static Lfm2 readGguf(Config &config, const import::Checkpoint &checkpoint) {
  Lfm2 m{};
  readGgufSizes(config, checkpoint, m);
  readKvHeads(config, m);
  config.requireCount("rope.dimension_count", m.headDim);
  m.rope = readGgufRope(config, 1000000);
  m.taps = checkTaps(config, "shortconv.l_cache", config.count("shortconv.l_cache"));
  m.activation = lm::ActivationKind::Silu;
  m.convBias = Bias::IfPresent;
  if (checkpoint.find("token_embd_norm.weight"))
    m.ggufOutputNorm = "token_embd_norm";
  return m;
}

/// Of each layer, by their list or by the indices of those that attend; without either all do.
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
    config.harmless({"full_attn_idxs"});
    return attends;
  }
  const bool listed = config.hasArray("full_attn_idxs");
  attends.assign(static_cast<size_t>(layers), !listed);
  for (int64_t i : config.integers("full_attn_idxs"))
    if (i >= 0 && i < layers)
      attends[static_cast<size_t>(i)] = true;
  return attends;
}

/// What the configuration says of it is two thirds larger than it is, unless it says otherwise.
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

/// Defaults of HF's Lfm2Config.
static Lfm2 readHf(Config &config) {
  Lfm2 m{};
  m.layers = config.count("num_hidden_layers", kMostLayers);
  m.context = config.countOr("max_position_embeddings", 128000);
  m.hidden = config.count("hidden_size");
  m.feedForward = readFeedForward(config);
  m.heads = config.count("num_attention_heads");
  m.kvHeads = config.countOr("num_key_value_heads", 8);
  m.headDim = config.countOr("head_dim", m.hidden / m.heads);
  m.vocab = config.count("vocab_size");
  m.eps = config.positiveOr("norm_eps", 1e-5);
  m.attends = readLayerTypes(config, m.layers);
  m.taps = checkTaps(config, "conv_L_cache", config.countOr("conv_L_cache", 3));
  const char *scope = config.hasScope("rope_parameters.") ? "rope_parameters." : "rope_scaling.";
  const char *base = config.has("theta") && !config.has("rope_theta") ? "theta" : "rope_theta";
  m.rope = readRope(config, scope, base, 1000000, m.context);
  m.tied = config.flagOr("tie_embedding", config.flagOr("tie_word_embeddings", true));
  m.activation = lm::ActivationKind::Silu;
  m.convBias = config.flagOr("conv_bias", false) ? Bias::Required : Bias::None;
  // Of the training program, and what HF has under other names or as the only way.
  config.harmless({"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
                   "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out",
                   "conv_use_xavier_init", "num_heads", "theta", "use_pos_enc"});
  return m;
}

static LayerWeights takeLayer(ModelBuilder &model, const Lfm2 &m, int64_t i,
                              lm::WeightOp frequencies) {
  LayerWeights weights;
  model.addVector(weights, i, kMixNorm, m.hidden);
  if (m.attends[static_cast<size_t>(i)]) {
    takeProjections(model, weights, i, m);
    model.addVector(weights, i, kQNorm, m.headDim);
    model.addVector(weights, i, kKNorm, m.headDim);
    weights.add("rope_freqs", frequencies);
    model.addMatrix(weights, i, kOutput, m.hidden, m.heads * m.headDim, m.attentionBias);
  } else {
    for (int64_t third = 0; third < 3; ++third)
      model.addMatrix(weights, i, kIn[third], m.hidden, m.hidden, m.convBias,
                      RowOrder::range(third * m.hidden, m.hidden));
    model.addTaps(weights, i, kConv, m.hidden, m.taps, m.convBias);
    model.addMatrix(weights, i, kOut, m.hidden, m.hidden, m.convBias);
  }
  model.addVector(weights, i, kFfnNorm, m.hidden);
  model.addMatrix(weights, i, kGate, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, i, kUp, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, i, kDown, m.hidden, m.feedForward, m.mlpBias);
  return weights;
}

static mlir::Value emitAttention(LayerEmitter &layer, const Lfm2 &m, mlir::Value normed) {
  auto head = [&](llvm::StringRef projection, llvm::StringRef norm, int64_t heads) {
    mlir::Value x = layer.rmsNorm(layer.linear(normed, projection), norm, m.eps, heads);
    return layer.rope(x, "rope_freqs", heads, lm::RopeStyle::Half);
  };
  mlir::Value q = head("attn_q", "attn_q_norm", m.heads);
  mlir::Value k = head("attn_k", "attn_k_norm", m.kvHeads);
  mlir::Value v = layer.linear(normed, "attn_v");
  double scale = 1 / std::sqrt(static_cast<double>(m.headDim));
  return layer.linear(layer.attention(q, k, v, {m.heads, m.kvHeads, scale}), "attn_output");
}

static mlir::Value emitConvolution(LayerEmitter &layer, mlir::Value normed) {
  mlir::Value b = layer.linear(normed, "conv_b");
  mlir::Value c = layer.linear(normed, "conv_c");
  mlir::Value x = layer.linear(normed, "conv_x");
  mlir::Value mixed = layer.causalConv(layer.multiply(b, x), "conv");
  return layer.linear(layer.multiply(c, mixed), "conv_output");
}

static mlir::Value emitLayer(LayerEmitter &layer, const Lfm2 &m, bool attends) {
  mlir::Value normed = layer.rmsNorm(layer.x, "attn_norm", m.eps);
  mlir::Value mixed = attends ? emitAttention(layer, m, normed) : emitConvolution(layer, normed);
  mlir::Value h = layer.add(layer.x, mixed);
  return layer.add(h, layer.gatedMlp(layer.rmsNorm(h, "ffn_norm", m.eps), m.activation));
}

ImportedModel models::importLfm2(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                                 Error &why) {
  bool gguf = checkpoint.container == import::Container::Gguf;
  Config config(checkpoint, gguf ? "lfm2." : "");
  Lfm2 m = gguf ? readGguf(config, checkpoint) : readHf(config);
  if (auto read = finishConfig(config, m, m.headDim); !read) {
    why = std::move(read.error());
    return mlir::failure();
  }

  ModelBuilder model(context, checkpoint, {"lfm2", m.vocab, m.hidden, m.context, kNames});
  EntryWeights entry = takeEmbedding(model, m, gguf);
  lm::WeightOp frequencies = model.values("rope_freqs", ropeFrequencies(m.rope, m.headDim));
  for (int64_t i = 0; i < m.layers && !model.failed(); ++i) {
    const bool attends = m.attends[static_cast<size_t>(i)];
    model.layer(attends ? "attention" : "conv", takeLayer(model, m, i, frequencies),
                [&](LayerEmitter &layer) { return emitLayer(layer, m, attends); });
  }
  takeHead(model, entry, m, gguf);
  return model.finish(entry, why);
}
