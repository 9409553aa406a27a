//===- Llama.cpp - Llama 1 to 3, Mistral, SmolLM and their like -----------===//
//
//   h += attn_output(attention(rope(q), rope(k), v))    of attn_norm(h)
//   h += ffn_down(silu(ffn_gate) * ffn_up)              of ffn_norm(h)
//
// GGUF files hold q and k with the rows of each head permuted, so that rope turns
// neighbours (2i, 2i+1); HF's turns (i, i + half).
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

struct Llama : Decoder {
  int64_t rotary, window;
  Rope rope;
  lm::RopeStyle style;
};

constexpr LayerTensor kFfnNorm = {"ffn_norm", "ffn_norm", "post_attention_layernorm"};

} // namespace

static Llama readGguf(Config &config, const import::Checkpoint &checkpoint) {
  Llama m{};
  readGgufSizes(config, checkpoint, m);
  m.rotary = config.countOr("rope.dimension_count", m.headDim);
  m.rope = readGgufRope(config, 10000);
  m.style = lm::RopeStyle::Interleaved;
  m.activation = lm::ActivationKind::Silu;
  config.requireCount("expert_count", 0);
  config.requireCount("expert_used_count", 0);
  return m;
}

/// Defaults of HF's LlamaConfig and MistralConfig. Only Mistral has a window: HF's Llama passes
/// over the key, which some configurations carry.
static Llama readHf(Config &config, bool mistral) {
  Llama m{};
  m.layers = config.count("num_hidden_layers", kMostLayers);
  m.context = config.countOr("max_position_embeddings", mistral ? 131072 : 2048);
  m.hidden = config.count("hidden_size");
  m.feedForward = config.count("intermediate_size");
  m.heads = config.count("num_attention_heads");
  m.kvHeads = config.countOr("num_key_value_heads",
                             mistral && !config.isNull("num_key_value_heads") ? 8 : m.heads);
  m.headDim = config.countOr("head_dim", m.hidden / m.heads);
  m.rotary = m.headDim;
  m.vocab = config.count("vocab_size");
  m.eps = config.positiveOr("rms_norm_eps", 1e-6);
  if (mistral)
    m.window = config.countOr("sliding_window", config.isNull("sliding_window") ? 0 : 4096);
  else
    config.harmless({"sliding_window", "max_window_layers"});
  config.requireFlag("use_sliding_window", false);
  for (const std::string &type : config.texts("layer_types"))
    if (type != "full_attention" && !(mistral && type == "sliding_attention"))
      config.refuseValue("layer_types", import::inQuotes(type), "full_attention");
  m.rope = config.hasScope("rope_parameters.")
               ? readRope(config, "rope_parameters.", "rope_theta", 10000, m.context)
               : readRope(config, "rope_scaling.", "rope_theta", 10000, m.context);
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
  takeProjections(model, weights, i, m);
  weights.add("rope_freqs", frequencies);
  takeAttentionOutput(model, weights, i, m);
  model.addVector(weights, i, kFfnNorm, m.hidden);
  takeMlp(model, weights, i, m);
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
  Llama m =
      gguf ? readGguf(config, checkpoint)
           : readHf(config,
                    llvm::StringRef(checkpoint.architecture).starts_with_insensitive("mistral"));
  if (auto read = finishConfig(config, m, m.rotary); !read) {
    why = std::move(read.error());
    return mlir::failure();
  }

  ModelBuilder model(context, checkpoint, {"llama", m.vocab, m.hidden, m.context});
  EntryWeights entry = takeEmbedding(model, m, gguf);
  lm::WeightOp frequencies = takeFrequencies(model, m);
  for (int64_t i = 0; i < m.layers && !model.failed(); ++i)
    model.layer("layer", takeLayer(model, m, i, frequencies),
                [&](LayerEmitter &layer) { return emitLayer(layer, m); });
  takeHead(model, entry, m, gguf);
  return model.finish(entry, why);
}
