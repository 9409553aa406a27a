//===- Decoder.h - What decoder-only families have in common --------------===//
//
// Sizes, the names of tensors and the weights of projections, said once. A family's file
// holds what is its own: which norms there are, how heads turn, what is scaled.
//===----------------------------------------------------------------------===//
#pragma once

#include "models/ModelBuilder.h"

namespace ingot::models {

/// Far more than any model has: what says more is no model, and would take minutes to plan.
constexpr int64_t kMostLayers = 10'000;

struct Decoder {
  int64_t layers, hidden, feedForward, heads, kvHeads, headDim, context, vocab;
  double eps; ///< of all norms
  bool tied;  ///< the head is the embedding
  lm::ActivationKind activation;
  Bias attentionBias, mlpBias;
  Norm norm = Norm::Rms; ///< of the output; set before readGgufSizes, whose eps follows it
  llvm::StringLiteral ggufOutputNorm = "output_norm"; ///< its tensor
};

constexpr LayerTensor kAttnNorm = {"attn_norm", "attn_norm", "input_layernorm"};
constexpr LayerTensor kAttnQ = {"attn_q", "attn_q", "self_attn.q_proj"};
constexpr LayerTensor kAttnK = {"attn_k", "attn_k", "self_attn.k_proj"};
constexpr LayerTensor kAttnV = {"attn_v", "attn_v", "self_attn.v_proj"};
constexpr LayerTensor kAttnOutput = {"attn_output", "attn_output", "self_attn.o_proj"};
constexpr LayerTensor kFfnGate = {"ffn_gate", "ffn_gate", "mlp.gate_proj"};
constexpr LayerTensor kFfnUp = {"ffn_up", "ffn_up", "mlp.up_proj"};
constexpr LayerTensor kFfnDown = {"ffn_down", "ffn_down", "mlp.down_proj"};

/// Reads what GGUF metadata says alike for all families. Biases: whichever the file has.
void readGgufSizes(Config &config, const import::Checkpoint &checkpoint, Decoder &to);

/// The checks of a configuration that has been read: heads that fit, no key left over.
Result<void> finishConfig(Config &config, const Decoder &m, int64_t rotary);

/// Queries, keys and values.
void takeProjections(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m);
/// The projection of what attention found.
void takeAttentionOutput(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                         const Decoder &m);
/// Gate, up and down.
void takeMlp(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m);

/// The embedding; before the layers.
EntryWeights takeEmbedding(ModelBuilder &model, const Decoder &m, bool gguf);
/// The last norm and the head; after the layers.
void takeHead(ModelBuilder &model, EntryWeights &entry, const Decoder &m, bool gguf);

} // namespace ingot::models
