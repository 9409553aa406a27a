//===- Llama.cpp - Llama 1 to 3, Mistral, SmolLM and their like -----------===//
//
//   h += attn_output(attention(rope(q), rope(k), v))    of attn_norm(h)
//   h += ffn_down(silu(ffn_gate) * ffn_up)              of ffn_norm(h)
//
// GGUF files hold q and k with the rows of each head permuted, so that rope turns
// neighbours (2i, 2i+1); HF's turns (i, i + half).
//===----------------------------------------------------------------------===//
#include "models/Families.h"
#include "models/ModelBuilder.h"
#include "models/Rope.h"

#include "compiler/import/ImportErrors.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;

namespace {

struct Llama {
  int64_t layers, hidden, feedForward, heads, kvHeads, headDim, rotary, context, vocab, window;
  double eps;
  Rope rope;
  bool tied;
  lm::RopeStyle style;
  lm::ActivationKind activation;
  Bias attentionBias, mlpBias;
};

constexpr LayerTensor kAttnNorm = {"attn_norm", "attn_norm", "input_layernorm"};
constexpr LayerTensor kAttnQ = {"attn_q", "attn_q", "self_attn.q_proj"};
constexpr LayerTensor kAttnK = {"attn_k", "attn_k", "self_attn.k_proj"};
constexpr LayerTensor kAttnV = {"attn_v", "attn_v", "self_attn.v_proj"};
constexpr LayerTensor kAttnOutput = {"attn_output", "attn_output", "self_attn.o_proj"};
constexpr LayerTensor kFfnNorm = {"ffn_norm", "ffn_norm", "post_attention_layernorm"};
constexpr LayerTensor kFfnGate = {"ffn_gate", "ffn_gate", "mlp.gate_proj"};
constexpr LayerTensor kFfnUp = {"ffn_up", "ffn_up", "mlp.up_proj"};
constexpr LayerTensor kFfnDown = {"ffn_down", "ffn_down", "mlp.down_proj"};

} // namespace

static Llama readGguf(Config &config, const import::Checkpoint &checkpoint) {
  Llama m{};
  m.layers = config.count("block_count");
  m.context = config.count("context_length");
  m.hidden = config.count("embedding_length");
  m.feedForward = config.count("feed_forward_length");
  m.heads = config.count("attention.head_count");
  m.kvHeads = config.countOr("attention.head_count_kv", m.heads);
  m.headDim = config.countOr("attention.key_length", m.hidden / m.heads);
  config.requireCount("attention.value_length", m.headDim);
  m.rotary = config.countOr("rope.dimension_count", m.headDim);
  m.eps = config.positive("attention.layer_norm_rms_epsilon");
  m.rope = readGgufRope(config, 10000);
  m.tied = !checkpoint.find("output.weight");
  m.style = lm::RopeStyle::Interleaved;
  m.activation = lm::ActivationKind::Silu;
  m.attentionBias = m.mlpBias = Bias::IfPresent;
  // Older files have no vocabulary size: the embedding's rows say it.
  const import::Tensor *embedding = checkpoint.find("token_embd.weight");
  m.vocab = config.countOr("vocab_size", embedding ? embedding->shape.front() : 1);
  config.requireCount("expert_count", 0);
  config.requireCount("expert_used_count", 0);
  config.harmless({"rope.scaling.original_context_length", "rope.scaling.finetuned"});
  return m;
}

static Llama readHf(Config &config) {
  Llama m{};
  m.layers = config.count("num_hidden_layers");
  m.context = config.count("max_position_embeddings");
  m.hidden = config.count("hidden_size");
  m.feedForward = config.count("intermediate_size");
  m.heads = config.count("num_attention_heads");
  m.kvHeads = config.countOr("num_key_value_heads", m.heads);
  m.headDim = config.countOr("head_dim", m.hidden / m.heads);
  m.rotary = m.headDim;
  m.vocab = config.count("vocab_size");
  m.eps = config.positiveOr("rms_norm_eps", 1e-6);
  m.window = config.countOr("sliding_window", 0);
  m.rope = config.hasScope("rope_parameters.")
               ? readRope(config, "rope_parameters.", "rope_theta", 10000)
               : readRope(config, "rope_scaling.", "rope_theta", 10000);
  m.tied = config.flagOr("tie_word_embeddings", false);
  m.style = lm::RopeStyle::Half;
  m.activation = readActivation(config, "hidden_act", "silu");
  m.attentionBias = config.flagOr("attention_bias", false) ? Bias::Required : Bias::None;
  m.mlpBias = config.flagOr("mlp_bias", false) ? Bias::Required : Bias::None;
  config.requireFlag("rope_interleaved", false);
  // pretraining_tp only orders the additions of a product; is_llama_config is SmolLM's.
  config.harmless({"pretraining_tp", "is_llama_config"});
  return m;
}

static lm::WeightOp takeFrequencies(ModelBuilder &model, const Llama &m) {
  std::vector<float> divisors;
  // Llama 3.1's scaling in a GGUF: numbers that divide the frequencies.
  if (model.hasTensor("rope_freqs.weight"))
    divisors = model.take("rope_freqs.weight", m.rotary / 2);
  return model.values("rope_freqs", ropeFrequencies(m.rope, m.rotary, divisors));
}

static LayerWeights takeLayer(ModelBuilder &model, const Llama &m, int64_t i,
                              lm::WeightOp frequencies) {
  LayerWeights weights;
  model.addVector(weights, i, kAttnNorm, m.hidden);
  model.addMatrix(weights, i, kAttnQ, m.heads * m.headDim, m.hidden, m.attentionBias);
  model.addMatrix(weights, i, kAttnK, m.kvHeads * m.headDim, m.hidden, m.attentionBias);
  model.addMatrix(weights, i, kAttnV, m.kvHeads * m.headDim, m.hidden, m.attentionBias);
  weights.add("rope_freqs", frequencies);
  model.addMatrix(weights, i, kAttnOutput, m.hidden, m.heads * m.headDim, m.attentionBias);
  model.addVector(weights, i, kFfnNorm, m.hidden);
  model.addMatrix(weights, i, kFfnGate, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, i, kFfnUp, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, i, kFfnDown, m.hidden, m.feedForward, m.mlpBias);
  // Files from the first conversions carry the frequencies that we compute.
  model.takeUnread(import::line("model.layers.", i, ".self_attn.rotary_emb.inv_freq"));
  return weights;
}

static mlir::Value emitLayer(LayerEmitter &layer, const Llama &m) {
  mlir::Value normed = layer.rmsNorm(layer.x, "attn_norm", m.eps);
  mlir::Value q = layer.linear(normed, "attn_q");
  mlir::Value k = layer.linear(normed, "attn_k");
  mlir::Value v = layer.linear(normed, "attn_v");
  q = layer.rope(q, "rope_freqs", m.heads, m.style);
  k = layer.rope(k, "rope_freqs", m.kvHeads, m.style);
  double scale = 1 / std::sqrt(static_cast<double>(m.headDim));
  mlir::Value attended =
      layer.attention(q, k, v, {m.heads, m.kvHeads, scale, m.window, /*softcap=*/0});
  mlir::Value h = layer.add(layer.x, layer.linear(attended, "attn_output"));
  return layer.add(h, layer.gatedMlp(layer.rmsNorm(h, "ffn_norm", m.eps), m.activation));
}

ImportedModel models::importLlama(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                                  Error &why) {
  bool gguf = checkpoint.container == import::Container::Gguf;
  Config config(checkpoint, gguf ? "llama." : "");
  Llama m = gguf ? readGguf(config, checkpoint) : readHf(config);
  checkHeads(config, m.heads, m.kvHeads, m.headDim, m.rotary);
  config.harmlessEverywhere();
  if (auto read = config.finish(); !read) {
    why = std::move(read.error());
    return mlir::failure();
  }

  ModelBuilder model(context, checkpoint, {"llama", m.vocab, m.hidden, m.context});
  EntryWeights entry;
  entry.embedding = model.weight(
      "token_embd", gguf ? "token_embd.weight" : "model.embed_tokens.weight", {m.vocab, m.hidden});
  lm::WeightOp frequencies = takeFrequencies(model, m);
  for (int64_t i = 0; i < m.layers && !model.failed(); ++i)
    model.layer("layer", takeLayer(model, m, i, frequencies),
                [&](LayerEmitter &layer) { return emitLayer(layer, m); });
  entry.outputNorm =
      model.weight("output_norm", gguf ? "output_norm.weight" : "model.norm.weight", {m.hidden});
  const char *output = gguf ? "output.weight" : "lm_head.weight";
  entry.output = m.tied ? model.tiedOutput(entry.embedding, output)
                        : model.weight("output", output, {m.vocab, m.hidden});
  entry.normEps = m.eps;
  return model.finish(entry, why);
}
