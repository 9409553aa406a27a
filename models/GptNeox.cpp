//===- GptNeox.cpp - GPT-NeoX 20B, Pythia and their like -------------------===//
//
//   h += attn_output(attention(rope(q), rope(k), v))    of attn_norm(h)
//   h += ffn_down(gelu(ffn_up))                         of ffn_norm(h): of the same h where
//                                                       the residual is parallel
//
// All norms are layer norms, all projections but the head have biases, and a part of each head
// rotates. q, k and v are packed: HF has rows [head][q, k, v][head_dim], GGUF [q, k, v][head][head_dim].
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

struct GptNeox : Decoder {
  int64_t rotary;
  Rope rope;
  bool parallelResidual;
};

constexpr HfNames kNames = {"gpt_neox.layers.", "gpt_neox.embed_in.weight",
                            "gpt_neox.final_layer_norm", "embed_out.weight"};
constexpr LayerTensor kQkv[] = {{"attn_q", "attn_qkv", "attention.query_key_value"},
                                {"attn_k", "attn_qkv", "attention.query_key_value"},
                                {"attn_v", "attn_qkv", "attention.query_key_value"}};
constexpr LayerTensor kOutput = {"attn_output", "attn_output", "attention.dense"};
constexpr LayerTensor kFfnNorm = {"ffn_norm", "ffn_norm", "post_attention_layernorm"};
constexpr LayerTensor kUp = {"ffn_up", "ffn_up", "mlp.dense_h_to_4h"};
constexpr LayerTensor kDown = {"ffn_down", "ffn_down", "mlp.dense_4h_to_h"};

} // namespace

static GptNeox readGguf(Config &config, const import::Checkpoint &checkpoint) {
  GptNeox m{};
  m.norm = Norm::Layer;
  readGgufSizes(config, checkpoint, m);
  m.rotary = config.countOr("rope.dimension_count", m.headDim);
  m.rope = readGgufRope(config, 10000);
  m.activation = lm::ActivationKind::Gelu; // no key says which; Pythia's
  m.parallelResidual = config.flagOr("use_parallel_residual", true);
  return m;
}

/// Defaults of HF's GPTNeoXConfig.
static GptNeox readHf(Config &config) {
  GptNeox m{};
  m.norm = Norm::Layer;
  m.layers = config.count("num_hidden_layers", kMostLayers);
  m.context = config.countOr("max_position_embeddings", 2048);
  m.hidden = config.count("hidden_size");
  m.feedForward = config.count("intermediate_size");
  m.heads = m.kvHeads = config.count("num_attention_heads");
  if (m.hidden % m.heads)
    config.refuseValue("hidden_size", import::line(m.hidden),
                       import::line("multiples of the ", m.heads, " heads"));
  m.headDim = m.hidden / m.heads;
  m.vocab = config.count("vocab_size");
  m.eps = config.positiveOr("layer_norm_eps", 1e-5);
  const char *scope = config.hasScope("rope_parameters.") ? "rope_parameters." : "rope_scaling.";
  m.rope = readRope(config, scope, "rotary_emb_base", 10000, m.context);
  double share = config.positiveOr("rotary_pct", 0.25);
  share = config.positiveOr(std::string(scope) + "partial_rotary_factor", share);
  m.rotary = static_cast<int64_t>(static_cast<double>(m.headDim) * share);
  m.tied = config.flagOr("tie_word_embeddings", false);
  m.activation = readActivation(config, "hidden_act", "gelu");
  m.attentionBias = config.flagOr("attention_bias", true) ? Bias::Required : Bias::None;
  m.mlpBias = Bias::Required;
  m.parallelResidual = config.flagOr("use_parallel_residual", true);
  config.harmless({"classifier_dropout"});
  return m;
}

static LayerWeights takeLayer(ModelBuilder &model, const GptNeox &m, int64_t i, bool gguf,
                              lm::WeightOp frequencies) {
  const int64_t size = m.headDim, width = m.heads * size;
  LayerWeights weights;
  model.addVector(weights, i, kAttnNorm, m.hidden, Bias::Required);
  for (int64_t j = 0; j < 3; ++j)
    model.addMatrix(weights, i, kQkv[j], width, m.hidden, m.attentionBias,
                    gguf ? RowOrder::range(j * width, width)
                         : RowOrder::ofHeads(j * size, m.heads, size, 3 * size));
  weights.add("rope_freqs", frequencies);
  model.addMatrix(weights, i, kOutput, m.hidden, width, m.attentionBias);
  model.addVector(weights, i, kFfnNorm, m.hidden, Bias::Required);
  model.addMatrix(weights, i, kUp, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, i, kDown, m.hidden, m.feedForward, m.mlpBias);
  // Frequencies that we compute, and the causal mask, of older files.
  for (const char *unread : {"rotary_emb.inv_freq", "bias", "masked_bias"})
    model.takeUnread(import::line(kNames.layers.str(), i, ".attention.", unread));
  return weights;
}

static mlir::Value emitLayer(LayerEmitter &layer, const GptNeox &m) {
  auto ffnNorm = [&](mlir::Value h) { return layer.layerNorm(h, "ffn_norm", m.eps); };
  mlir::Value normed = layer.layerNorm(layer.x, "attn_norm", m.eps);
  // Before x is added to, so that the sum may take its place.
  mlir::Value ffnInput = m.parallelResidual ? ffnNorm(layer.x) : mlir::Value();
  mlir::Value q = layer.linear(normed, "attn_q");
  mlir::Value k = layer.linear(normed, "attn_k");
  mlir::Value v = layer.linear(normed, "attn_v");
  q = layer.rope(q, "rope_freqs", m.heads, lm::RopeStyle::Half);
  k = layer.rope(k, "rope_freqs", m.kvHeads, lm::RopeStyle::Half);
  double scale = 1 / std::sqrt(static_cast<double>(m.headDim));
  mlir::Value attended = layer.attention(q, k, v, {m.heads, m.kvHeads, scale});
  mlir::Value h = layer.add(layer.x, layer.linear(attended, "attn_output"));
  return layer.add(h, layer.mlp(m.parallelResidual ? ffnInput : ffnNorm(h), m.activation));
}

ImportedModel models::importGptNeox(mlir::MLIRContext &context,
                                    const import::Checkpoint &checkpoint, Error &why) {
  bool gguf = checkpoint.container == import::Container::Gguf;
  Config config(checkpoint, gguf ? "gptneox." : "");
  GptNeox m = gguf ? readGguf(config, checkpoint) : readHf(config);
  if (auto read = finishConfig(config, m, m.rotary); !read) {
    why = std::move(read.error());
    return mlir::failure();
  }

  ModelBuilder model(context, checkpoint, {"gptneox", m.vocab, m.hidden, m.context, kNames});
  EntryWeights entry = takeEmbedding(model, m, gguf);
  lm::WeightOp frequencies = model.values("rope_freqs", ropeFrequencies(m.rope, m.rotary));
  for (int64_t i = 0; i < m.layers && !model.failed(); ++i)
    model.layer("layer", takeLayer(model, m, i, gguf, frequencies),
                [&](LayerEmitter &layer) { return emitLayer(layer, m); });
  takeHead(model, entry, m, gguf);
  return model.finish(entry, why);
}
