//===- Decoder.h - What a decoder-only model is made of -------------------===//
//
// Families differ in few ways: where norms stand, how heads turn, which projections are packed, what is
// scaled. A family's file says so in a `Decoder`; how a layer of it takes its tensors (DecoderWeights.cpp)
// and computes (DecoderLayer.cpp) is said once, for all:
//
//   Before       h = x + attend(norm x)           Parallel    x + attend(norm x) + mlp(norm' x)
//                    h + mlp(norm' h)             OneNorm     n = norm x: x + attend(n) + mlp(n)
//   After        h = x + norm(attend x)
//                    h + norm'(mlp h)             attend(x) = output(attention(turn q, turn k, v))
//   Around       h = x + norm'(attend(norm x))    mlp(x)    = down(act(gate x) * up x), or
//                    h + norm'''(mlp(norm'' h))               down(act(up x))
//
// A family whose layers mix tokens in another way than by attention brings a `Mixer`.
//===----------------------------------------------------------------------===//
#pragma once

#include "models/Experts.h"
#include "models/Family.h"
#include "models/Rope.h"

namespace ingot::models {

/// Far more than any model has: what says more is no model, and would take minutes to plan.
constexpr int64_t kMostLayers = 10'000;

enum class NormPlace { Before, After, Around }; ///< of what a sublayer adds to the residual
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
}; ///< of q and k: heads by one weight, heads by a weight each, or the row
enum class Packing {
  Apart,
  Rows,
  Heads
}; ///< q, k, v: tensors; one, of rows [q|k|v]; [head][q|k|v]

/// What a layer's tensors are called; see LayerTensor. Families change the second name (of GGUF) or the third
/// (of safetensors) of those that differ.
struct DecoderNames {
  LayerTensor attnNorm = {"attn_norm", "attn_norm", "input_layernorm"};
  LayerTensor q = {"attn_q", "attn_q", "self_attn.q_proj"};
  LayerTensor k = {"attn_k", "attn_k", "self_attn.k_proj"};
  LayerTensor v = {"attn_v", "attn_v", "self_attn.v_proj"};
  LayerTensor qkv = {"", "attn_qkv", "self_attn.qkv_proj"}; ///< of packed ones
  LayerTensor qNorm = {"attn_q_norm", "attn_q_norm", "self_attn.q_norm"};
  LayerTensor kNorm = {"attn_k_norm", "attn_k_norm", "self_attn.k_norm"};
  LayerTensor output = {"attn_output", "attn_output", "self_attn.o_proj"};
  LayerTensor sinks = {"attn_sinks", "attn_sinks.weight", "self_attn.sinks", /*whole=*/true};
  LayerTensor postAttentionNorm = {"post_attention_norm", "post_attention_norm",
                                   "post_attention_layernorm"};
  LayerTensor ffnNorm = {"ffn_norm", "ffn_norm", "post_attention_layernorm"};
  LayerTensor gate = {"ffn_gate", "ffn_gate", "mlp.gate_proj"};
  LayerTensor up = {"ffn_up", "ffn_up", "mlp.up_proj"};
  LayerTensor gateUp = {"", "ffn_up", "mlp.gate_up_proj"}; ///< rows [gate|up], of packed ones
  LayerTensor down = {"ffn_down", "ffn_down", "mlp.down_proj"};
  LayerTensor postFfnNorm = {"post_ffw_norm", "post_ffw_norm", "post_feedforward_layernorm"};
};

/// What a config.json calls the sizes. An eps that is missing is the family's.
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

/// Mixes tokens in another way than attention.
struct Mixer {
  void (*take)(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m);
  mlir::Value (*emit)(LayerEmitter &layer, mlir::Value normed, const Decoder &m);
};

/// What may differ from layer to layer.
struct LayerRules {
  llvm::StringRef kind = "layer"; ///< the base of the layer kind's name: other rules, another name
  int64_t window = 0;             ///< positions that attention sees; 0: all
  bool rotates = true;            ///< q and k know their positions
  bool localRope = false;         ///< they turn by the second rope
  const Mixer *mixer = nullptr;   ///< null: attention
  bool experts = true;            ///< where the model has any: these are its MLP
};

/// Set before readSizes, a field is the default of its key; afterwards it is what the checkpoint says.
struct Decoder {
  int64_t layers = 0, hidden = 0, feedForward = 0, heads = 0, context = 2048, vocab = 0;
  int64_t kvHeads = 0; ///< 0 before: as many as heads
  int64_t headDim = 0; ///< 0 before: hidden / heads

  Norm norm = Norm::Rms;
  NormPlace normPlace = NormPlace::Before;
  Residual residual = Residual::Sequential;
  HeadNorm headNorm = HeadNorm::None;
  bool headNormsApart = false; ///< of each head's weight: a tensor each, in safetensors
  double eps = 1e-6;           ///< of all norms
  double normWeightOffset = 0; ///< norms multiply by offset + w
  bool normBias = true;        ///< of layer norms

  Rope rope;
  std::optional<Rope> localRope;   ///< of the layers whose rules say so
  bool alphaStretches = false;     ///< a dynamic rope's alpha is read
  bool contextIsStretched = false; ///< what the configuration says of it counts the rope's factor
  bool rotatesInPart = false;      ///< a share of each head turns, as the configuration says
  double partialRotary = 1;        ///< that share
  int64_t rotary = 0;              ///< values of a head that turn; even
  lm::RopeStyle style = lm::RopeStyle::Half;
  double attentionScale = 0; ///< 0: 1 / sqrt(headDim)
  double attentionSoftcap = 0;
  bool sinks = false; ///< each head's softmax has one value more, which takes its share of nothing
  double queryGrowth =
      0; ///< queries at p are multiplied by 1 + this * ln(1 + floor(p / queryPeriod))
  int64_t queryPeriod = 1;
  Packing packing =
      Packing::Apart;              ///< in a config.json's checkpoint; of GGUFs their tensors say it
  Bias attentionBias = Bias::None; ///< of q, k and v
  Bias outputBias = Bias::None;

  bool gated = true;   ///< the MLP has a gate
  bool gateUp = false; ///< gate and up are one tensor, as `packing`
  lm::ActivationKind activation = lm::ActivationKind::Silu;
  llvm::StringRef activationOtherwise = "silu"; ///< a config.json's default
  std::vector<Xielu> xielu; ///< of each layer; where there are any, they are the activation
  Bias mlpBias = Bias::None;
  std::optional<Experts> experts;

  double embeddingScale = 1, residualScale = 1, logitsScale = 1;
  double finalSoftcap = 0; ///< of the logits; 0: none
  bool tied = false;       ///< the head is the embedding
  bool headBias = false;
  bool positions = false;  ///< learned ones are added to the embedding
  bool transposed = false; ///< matrices of layers lie [columns][rows] in a config.json's checkpoint

  // Of mixers that are no attention.
  int64_t taps = 0; ///< of a short convolution: the token's own and those before it
  Bias mixerBias = Bias::None;

  DecoderNames names;
  HfNames hf;
  ConfigNames keys;
  llvm::StringRef ggufOutputNorm = "output_norm";
  std::vector<LayerRules> rules; ///< of each layer; empty: all alike
  std::vector<std::string>
      unread; ///< tensors of a layer that say nothing new, after the layer's prefix

  /// One window for all layers; 0: none.
  void sameWindow(int64_t window) { rules.assign(size_t(layers), LayerRules{"layer", window}); }
  const LayerRules &rulesOf(int64_t layer) const {
    static const LayerRules alike;
    return rules.empty() ? alike : rules[size_t(layer)];
  }
};

/// Reads a family's configuration into `m`, which holds its defaults.
using ReadDecoder = void (*)(Config &config, const import::Checkpoint &checkpoint, Decoder &m);

/// Sizes, eps, activation, rope and whether the head is tied: from the keys of a GGUF or, by the names that
/// `m` says, of a config.json.
void readSizes(Config &config, const import::Checkpoint &checkpoint, Decoder &m);

/// Biases of projections by flags of a config.json, whose default is what `m` has; of GGUFs, which have no
/// such keys, nothing changes: their biases are those that the file has.
void readBias(Config &config, llvm::StringRef key, std::initializer_list<Bias *> of,
              bool otherwise = false);

/// The layers with a window. HF: `layer_types` if it is there, else `otherwise(layer)` says which; GGUF:
/// attention.sliding_window_pattern as list or period, else `otherwise`. A window of 0 or null is none. The
/// kinds are "local" and "global" where both may be, whatever a model has of them.
void readWindows(Config &config, Decoder &m, int64_t window,
                 llvm::function_ref<bool(int64_t)> otherwise);

/// Sizes and rules of the experts that m.experts has the defaults of. Call it behind readSizes.
void readExperts(Config &config, Decoder &m);
/// The layers that have them; the others are dense, of that kind.
void readExpertLayers(Decoder &m, llvm::function_ref<bool(int64_t)> has);

/// Imports a model that `read` describes.
ImportedModel importDecoder(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                            llvm::StringRef family, ReadDecoder read, Error &why);

/// Emits the ops of a layer that has these rules.
mlir::Value emitLayer(LayerEmitter &layer, const Decoder &m, const LayerRules &rules);

} // namespace ingot::models
