//===- Decoder.h - The parts of a decoder-only model ----------------------===//
//
// Families differ in a few ways: the positions of norms, the rotation of heads, packed projections, scale
// factors. A family's file declares these in a `Decoder`; how a layer takes its tensors (DecoderWeights.cpp)
// and computes (DecoderLayer.cpp) is implemented once, for all families:
//
//   Before       h = x + attend(norm x)           Parallel    x + attend(norm x) + mlp(norm' x)
//                    h + mlp(norm' h)             OneNorm     n = norm x: x + attend(n) + mlp(n)
//   After        h = x + norm(attend x)
//                    h + norm'(mlp h)             attend(x) = output(attention(rope q, rope k, v))
//   Around       h = x + norm'(attend(norm x))    mlp(x)    = down(act(gate x) * up x), or
//                    h + norm'''(mlp(norm'' h))               down(act(up x))
//
// If the layers of a family mix tokens by an operation other than attention, the family provides a `Mixer`.
//===----------------------------------------------------------------------===//
#pragma once

#include "models/Experts.h"
#include "models/Family.h"
#include "models/Rope.h"

namespace ingot::models {

/// Far more layers than any model has. A larger number indicates a broken file, and planning it would take minutes.
constexpr int64_t kMostLayers = 10'000;

enum class NormPlace { Before, After, Around }; ///< relative to a sublayer of the residual
enum class Residual {
  Sequential,
  Parallel,
  OneNorm
}; ///< whether attention and MLP read the same x
enum class HeadNorm {
  None,
  Head,
  HeadAfterRope,
  EachHead,
  Row
}; ///< norm of q and k: with one weight for all heads, with one per head, or over the whole row
enum class Packing {
  Apart,
  Rows,
  Heads
}; ///< q, k, v: three tensors; one tensor with rows [q|k|v]; one tensor with rows [head][q|k|v]

/// The names of a layer's tensors; see LayerTensor. A family with other names changes the second string (GGUF) or
/// the third (safetensors).
struct DecoderNames {
  LayerTensor attnNorm = {"attn_norm", "attn_norm", "input_layernorm"};
  LayerTensor q = {"attn_q", "attn_q", "self_attn.q_proj"};
  LayerTensor k = {"attn_k", "attn_k", "self_attn.k_proj"};
  LayerTensor v = {"attn_v", "attn_v", "self_attn.v_proj"};
  LayerTensor qkv = {"", "attn_qkv", "self_attn.qkv_proj"}; ///< if packed
  LayerTensor qNorm = {"attn_q_norm", "attn_q_norm", "self_attn.q_norm"};
  LayerTensor kNorm = {"attn_k_norm", "attn_k_norm", "self_attn.k_norm"};
  LayerTensor output = {"attn_output", "attn_output", "self_attn.o_proj"};
  LayerTensor sinks = {"attn_sinks", "attn_sinks.weight", "self_attn.sinks", /*whole=*/true};
  LayerTensor postAttentionNorm = {"post_attention_norm", "post_attention_norm",
                                   "post_attention_layernorm"};
  LayerTensor ffnNorm = {"ffn_norm", "ffn_norm", "post_attention_layernorm"};
  LayerTensor gate = {"ffn_gate", "ffn_gate", "mlp.gate_proj"};
  LayerTensor up = {"ffn_up", "ffn_up", "mlp.up_proj"};
  LayerTensor gateUp = {"", "ffn_up", "mlp.gate_up_proj"}; ///< rows [gate|up], if packed
  LayerTensor down = {"ffn_down", "ffn_down", "mlp.down_proj"};
  LayerTensor postFfnNorm = {"post_ffw_norm", "post_ffw_norm", "post_feedforward_layernorm"};
};

/// The names of the sizes in a config.json. If eps is missing, the family's default is used.
struct ConfigNames {
  llvm::StringLiteral layers = "num_hidden_layers", hidden = "hidden_size",
                      feedForward = "intermediate_size", heads = "num_attention_heads",
                      kvHeads = "num_key_value_heads", headDim = "head_dim",
                      context = "max_position_embeddings", eps = "rms_norm_eps",
                      activation = "hidden_act", ropeBase = "rope_theta",
                      partialRotary = "partial_rotary_factor", tied = "tie_word_embeddings";
};

/// The slopes of a layer's xIELU (lm.xielu).
struct Xielu {
  double linear, positive, negative;
};

struct Decoder;

/// An operation that mixes tokens in place of attention: `take` reads its weights, `emit` builds its ops.
struct Mixer {
  void (*take)(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m);
  mlir::Value (*emit)(LayerEmitter &layer, mlir::Value normed, const Decoder &m);
};

/// The properties that may differ between layers.
struct LayerRules {
  llvm::StringRef kind = "layer"; ///< base of the layer kind's name; other rules need another name
  int64_t window = 0;             ///< number of positions that attention sees; 0: all
  bool rotates = true;            ///< q and k are rotated by position
  bool localRope = false;         ///< q and k use localRope instead of rope
  const Mixer *mixer = nullptr;   ///< null: attention
  bool experts = true;            ///< experts replace the MLP, if the model has any
};

/// Before readSizes, fields hold the defaults of their keys; afterwards they hold the checkpoint's values.
struct Decoder {
  int64_t layers = 0, hidden = 0, feedForward = 0, heads = 0, context = 2048, vocab = 0;
  int64_t kvHeads = 0; ///< 0 before readSizes: as many as heads
  int64_t headDim = 0; ///< 0 before readSizes: hidden / heads

  Norm norm = Norm::Rms;
  NormPlace normPlace = NormPlace::Before;
  Residual residual = Residual::Sequential;
  HeadNorm headNorm = HeadNorm::None;
  bool headNormsApart = false; ///< with one weight per head, safetensors have one tensor per head
  double eps = 1e-6;           ///< for all norms
  double normWeightOffset = 0; ///< norms multiply by offset + w
  bool normBias = true;        ///< for layer norms

  Rope rope;
  std::optional<Rope> localRope;   ///< for layers that select it by their rules
  bool alphaStretches = false;     ///< read the alpha of a dynamic rope
  bool contextIsStretched = false; ///< the configured context already includes the rope's factor
  bool rotatesInPart = false; ///< the configuration may limit the rotation to a part of each head
  double partialRotary = 1;   ///< the fraction of a head that is rotated
  int64_t rotary = 0;         ///< number of rotated values per head; even
  lm::RopeStyle style = lm::RopeStyle::Half;
  double attentionScale = 0; ///< 0: 1 / sqrt(headDim)
  double attentionSoftcap = 0;
  bool sinks = false; ///< each head's softmax has an extra term with no value attached
  double queryTemperature =
      0; ///< queries at p are multiplied by 1 + this * ln(1 + floor(p / queryPeriod))
  int64_t queryPeriod = 1;
  Packing packing = Packing::Apart; ///< for safetensors; in GGUFs the tensors show it
  Bias attentionBias = Bias::None;  ///< for q, k and v
  Bias outputBias = Bias::None;

  bool gated = true;   ///< the MLP has a gate
  bool gateUp = false; ///< gate and up are one tensor, laid out as in `packing`
  lm::ActivationKind activation = lm::ActivationKind::Silu;
  llvm::StringRef activationOtherwise = "silu"; ///< default in a config.json
  std::vector<Xielu> xielu; ///< per layer; if not empty, xIELU replaces `activation`
  Bias mlpBias = Bias::None;
  std::optional<Experts> experts;

  double embeddingScale = 1, residualScale = 1, logitsScale = 1;
  double finalSoftcap = 0; ///< for the logits; 0: none
  bool tied = false;       ///< the head is the embedding
  bool headBias = false;
  bool positions = false;  ///< learned positions are added to the embedding
  bool transposed = false; ///< layer matrices are [columns][rows] in safetensors

  // For mixers other than attention.
  int64_t taps = 0; ///< number of taps of a short convolution, the current token's included
  Bias mixerBias = Bias::None;

  DecoderNames names;
  HfNames hf;
  ConfigNames keys;
  llvm::StringRef ggufOutputNorm = "output_norm";
  std::vector<LayerRules> rules; ///< per layer; empty: all alike
  std::vector<std::string>
      unread; ///< redundant tensors of a layer, named without the layer's prefix

  /// Sets one window for all layers; 0: none.
  void sameWindow(int64_t window) { rules.assign(size_t(layers), LayerRules{"layer", window}); }
  const LayerRules &rulesOf(int64_t layer) const {
    static const LayerRules alike;
    return rules.empty() ? alike : rules[size_t(layer)];
  }
};

/// Reads a family's configuration into `m`, which holds its defaults.
using ReadDecoder = void (*)(Config &config, const import::Checkpoint &checkpoint, Decoder &m);

/// Reads the sizes, eps, the activation, the rope, and whether the head is tied. In a config.json, the keys have the
/// names in `m`.
void readSizes(Config &config, const import::Checkpoint &checkpoint, Decoder &m);

/// Reads a config.json's flag for the biases `of` projections; `otherwise` is the value of a missing key. GGUFs have
/// no such keys, so nothing changes: a bias is used if the file has it.
void readBias(Config &config, llvm::StringRef key, std::initializer_list<Bias *> of,
              bool otherwise = false);

/// Determines the layers with a window. HF: `layer_types` if present, else `otherwise(layer)`; GGUF:
/// attention.sliding_window_pattern as a list or a period, else `otherwise`. A window of 0 or null means
/// no window. If the family allows both kinds of layers, they are named "local" and "global", even in a model that
/// has only one of them.
void readWindows(Config &config, Decoder &m, int64_t window,
                 llvm::function_ref<bool(int64_t)> otherwise);

/// Reads sizes and rules of the experts, with defaults from m.experts. Call it after readSizes.
void readExperts(Config &config, Decoder &m);
/// Selects the layers that have experts. The other layers get the kind "dense".
void readExpertLayers(Decoder &m, llvm::function_ref<bool(int64_t)> has);

/// Imports a model that `read` describes.
ImportedModel importDecoder(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                            llvm::StringRef family, ReadDecoder read, Error &why);

/// Emits the ops of a layer that has these rules.
mlir::Value emitLayer(LayerEmitter &layer, const Decoder &m, const LayerRules &rules);

} // namespace ingot::models
