//===- Gemma3.cpp - Gemma 3, text -----------------------------------------===//
//
//   h += post_attention_norm(attn_output(attention(rope(qn(q)), rope(kn(k)), v)))   of attn_norm(h)
//   h += post_ffw_norm(ffn_down(gelu(ffn_gate) * ffn_up))                           of ffn_norm(h)
//
// with qn, kn a norm of each head. Most layers see a window and turn by a rope base
// of 10,000; every sixth sees everything, with a base and scaling of its own. Norms
// multiply by 1 + w: GGUF files store the sum, HF's store w. The embedding is scaled
// by sqrt(hidden). (Gemma 3 technical report, arXiv:2503.19786; HF modeling_gemma3.py.)
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

struct Gemma3 : Decoder {
  int64_t window;
  double attentionScale, finalSoftcap;
  double normWeightOffset; ///< 1 where the stored norms lack it
  Rope globalRope, localRope;
  std::vector<bool> local; ///< of each layer
};

constexpr LayerTensor kAttnQNorm = {"attn_q_norm", "attn_q_norm", "self_attn.q_norm"};
constexpr LayerTensor kAttnKNorm = {"attn_k_norm", "attn_k_norm", "self_attn.k_norm"};
constexpr LayerTensor kPostAttentionNorm = {"post_attention_norm", "post_attention_norm",
                                            "post_attention_layernorm"};
constexpr LayerTensor kFfnNorm = {"ffn_norm", "ffn_norm", "pre_feedforward_layernorm"};
constexpr LayerTensor kPostFfwNorm = {"post_ffw_norm", "post_ffw_norm",
                                      "post_feedforward_layernorm"};

} // namespace

/// Five layers with the window, then one without, unless the checkpoint says otherwise.
static std::vector<bool> windowPattern(int64_t layers, int64_t period) {
  std::vector<bool> local(layers);
  for (int64_t i = 0; i < layers; ++i)
    local[i] = (i + 1) % period != 0;
  return local;
}

static void checkPattern(Config &config, const Gemma3 &m, llvm::StringRef key) {
  if (int64_t(m.local.size()) != m.layers)
    config.refuseValue(key, import::line(m.local.size(), " layers"),
                       import::line(m.layers, " layers"));
}

static Gemma3 readGguf(Config &config, const import::Checkpoint &checkpoint) {
  Gemma3 m{};
  readGgufSizes(config, checkpoint, m);
  config.requireCount("rope.dimension_count", m.headDim);
  m.window = config.count("attention.sliding_window");
  m.globalRope = readGgufRope(config, 1000000);
  m.localRope.base = config.positiveOr("rope.freq_base_swa", 10000);
  m.finalSoftcap = config.positiveOr("final_logit_softcapping", 0);
  // The 27B model alone scales by its hidden size per head; a GGUF has no key that says
  // so, and llama.cpp too tells it by its 62 layers.
  int64_t scaledBy = m.layers == 62 ? m.hidden / m.heads : m.headDim;
  m.attentionScale = 1 / std::sqrt(static_cast<double>(scaledBy));
  const char *pattern = "attention.sliding_window_pattern";
  m.local = config.hasArray(pattern) ? config.flags(pattern)
                                     : windowPattern(m.layers, config.countOr(pattern, 6));
  checkPattern(config, m, pattern);
  m.activation = lm::ActivationKind::GeluTanh;
  m.mlpBias = Bias::None;
  return m;
}

static std::vector<bool> readLayerTypes(Config &config, int64_t layers) {
  // The list of layers decides, if it is there. The other spelling of the period stands beside
  // such a list alone, and HF reads it nowhere else.
  config.harmless({"_sliding_window_pattern"});
  int64_t period = config.countOr("sliding_window_pattern", 6);
  if (!config.has("layer_types"))
    return windowPattern(layers, period);
  std::vector<bool> local;
  for (const std::string &type : config.texts("layer_types")) {
    local.push_back(type == "sliding_attention");
    if (!local.back() && type != "full_attention")
      config.refuseValue("layer_types", import::inQuotes(type),
                         "sliding_attention, full_attention");
  }
  return local;
}

static void readHfRopes(Config &config, Gemma3 &m) {
  if (config.hasScope("rope_parameters.")) {
    m.globalRope =
        readRope(config, "rope_parameters.full_attention.", "rope_theta", 1000000, m.context);
    m.localRope = readRope(config, "rope_parameters.sliding_attention.", "rope_local_base_freq",
                           10000, m.context);
    return;
  }
  m.globalRope = readRope(config, "rope_scaling.", "rope_theta", 1000000, m.context);
  m.localRope.base = config.positiveOr("rope_local_base_freq", 10000);
}

static Gemma3 readHf(Config &config) {
  Gemma3 m{};
  m.layers = config.count("num_hidden_layers", kMostLayers);
  m.context = config.countOr("max_position_embeddings", 131072);
  m.hidden = config.count("hidden_size");
  m.feedForward = config.count("intermediate_size");
  m.heads = config.count("num_attention_heads");
  m.kvHeads = config.countOr("num_key_value_heads", 4);
  m.headDim = config.countOr("head_dim", 256);
  m.vocab = config.countOr("vocab_size", 262208);
  m.eps = config.positiveOr("rms_norm_eps", 1e-6);
  for (const char *key : {"sliding_window", "hidden_activation"}) // HF fails on these
    if (config.isNull(key))
      config.refuseValue(key, "null", "a value, or no such key");
  m.window = config.countOr("sliding_window", 4096);
  m.local = readLayerTypes(config, m.layers);
  checkPattern(config, m, "layer_types");
  readHfRopes(config, m);
  m.attentionScale = 1 / std::sqrt(config.positiveOr("query_pre_attn_scalar", 256));
  m.finalSoftcap = config.positiveOr("final_logit_softcapping", 0);
  m.normWeightOffset = 1;
  m.tied = config.flagOr("tie_word_embeddings", true);
  m.activation = readActivation(config, "hidden_activation", "gelu_pytorch_tanh");
  m.attentionBias = config.flagOr("attention_bias", false) ? Bias::Required : Bias::None;
  config.requireFlag("use_bidirectional_attention", false);
  // Left over from Gemma 2: HF's Gemma 3 reads it and never applies it, and what HF
  // computes is what a checkpoint means (the tiny gemma3-layer-types sets it).
  // hidden_act is read by nobody either: hidden_activation decides.
  config.harmless({"attn_logit_softcapping", "hidden_act"});
  return m;
}

static LayerWeights takeLayer(ModelBuilder &model, const Gemma3 &m, int64_t i,
                              lm::WeightOp frequencies) {
  LayerWeights weights;
  model.addVector(weights, i, kAttnNorm, m.hidden);
  takeProjections(model, weights, i, m);
  model.addVector(weights, i, kAttnQNorm, m.headDim);
  model.addVector(weights, i, kAttnKNorm, m.headDim);
  weights.add("rope_freqs", frequencies);
  takeAttentionOutput(model, weights, i, m);
  model.addVector(weights, i, kPostAttentionNorm, m.hidden);
  model.addVector(weights, i, kFfnNorm, m.hidden);
  takeMlp(model, weights, i, m);
  model.addVector(weights, i, kPostFfwNorm, m.hidden);
  return weights;
}

static mlir::Value emitLayer(LayerEmitter &layer, const Gemma3 &m, bool local) {
  auto norm = [&](mlir::Value value, llvm::StringRef role, int64_t heads = 1) {
    return layer.rmsNorm(value, role, m.eps, heads, m.normWeightOffset);
  };
  auto rope = [&](mlir::Value value, int64_t heads) {
    return layer.rope(value, "rope_freqs", heads, lm::RopeStyle::Half);
  };
  mlir::Value normed = norm(layer.x, "attn_norm");
  mlir::Value q = layer.linear(normed, "attn_q");
  mlir::Value k = layer.linear(normed, "attn_k");
  mlir::Value v = layer.linear(normed, "attn_v");
  q = rope(norm(q, "attn_q_norm", m.heads), m.heads);
  k = rope(norm(k, "attn_k_norm", m.kvHeads), m.kvHeads);
  mlir::Value attended = layer.attention(
      q, k, v, {m.heads, m.kvHeads, m.attentionScale, local ? m.window : 0, /*softcap=*/0});
  mlir::Value h =
      layer.add(layer.x, norm(layer.linear(attended, "attn_output"), "post_attention_norm"));
  mlir::Value mlp = layer.gatedMlp(norm(h, "ffn_norm"), m.activation);
  return layer.add(h, norm(mlp, "post_ffw_norm"));
}

ImportedModel models::importGemma3(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                                   Error &why) {
  bool gguf = checkpoint.container == import::Container::Gguf;
  Config config(checkpoint, gguf ? "gemma3." : "");
  Gemma3 m = gguf ? readGguf(config, checkpoint) : readHf(config);
  if (auto read = finishConfig(config, m, m.headDim); !read) {
    why = std::move(read.error());
    return mlir::failure();
  }

  ModelBuilder model(context, checkpoint, {"gemma3", m.vocab, m.hidden, m.context});
  EntryWeights entry = takeEmbedding(model, m, gguf);
  lm::WeightOp global = model.values("rope_freqs_global", ropeFrequencies(m.globalRope, m.headDim));
  lm::WeightOp local = model.values("rope_freqs_local", ropeFrequencies(m.localRope, m.headDim));
  for (int64_t i = 0; i < m.layers && !model.failed(); ++i) {
    bool isLocal = m.local[i];
    model.layer(isLocal ? "local" : "global", takeLayer(model, m, i, isLocal ? local : global),
                [&](LayerEmitter &layer) { return emitLayer(layer, m, isLocal); });
  }
  takeHead(model, entry, m, gguf);
  entry.embeddingScale = std::sqrt(static_cast<float>(m.hidden));
  entry.normWeightOffset = m.normWeightOffset;
  entry.softcap = m.finalSoftcap;
  return model.finish(entry, why);
}
