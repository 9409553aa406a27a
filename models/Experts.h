//===- Experts.h - A mixture of experts in place of an MLP ----------------===//
//
//   route     chooses the best `used` of `count` experts by score(router(x)), and gives each a weight
//   experts   each has its own MLP of `width` values; their matrices are stacks [count][rows][columns] in lm
//   shared    an additional MLP for every token, optionally scaled by a gate of its own
//
// Checkpoints hold the experts' matrices in one of four forms. The tensors' names show which form it is, except that
// the family declares whether stacks have columns first ("across"):
//
//   GGUF          ffn_gate_exps, ffn_up_exps, ffn_down_exps: a stack each, or gate above up in ffn_gate_up_exps;
//                 the first Mixtrals have ffn_gate.0, ffn_gate.1, …
//   each apart    mlp.experts.7.gate_proj.weight: most safetensors
//   stacks        mlp.experts.gate_up_proj [count][2 width][hidden], mlp.experts.down_proj: as transformers
//                 keeps them in memory
//   across        the same, columns first: [count][hidden][2 width], as gpt-oss and Qwen3-VL are stored in BF16
//===----------------------------------------------------------------------===//
#pragma once

#include "models/LayerParts.h"

namespace ingot::models {

class Config;
class LayerEmitter;
class LayerWeights;
class ModelBuilder;
struct Decoder;

/// Names of a layer's tensors in safetensors, after the layer's prefix; GGUF's names are the same for all
/// families.
struct ExpertNames {
  LayerTensor router = {"ffn_gate_inp", "ffn_gate_inp", "mlp.gate"};
  LayerTensor selectBias = {"exp_probs_b", "exp_probs_b.bias", "mlp.gate.e_score_correction_bias",
                            /*whole=*/true};
  /// The parts of the names of individual experts' tensors: <experts>.<expert>.<gate>.weight.
  llvm::StringLiteral experts = "mlp.experts", gate = "gate_proj", up = "up_proj",
                      down = "down_proj";
  /// The full names of stacks after the layer's prefix, endings included.
  llvm::StringLiteral gateUp = "mlp.experts.gate_up_proj", downStack = "mlp.experts.down_proj";
  LayerTensor sharedGate = {"ffn_gate_shexp", "ffn_gate_shexp", "mlp.shared_experts.gate_proj"};
  LayerTensor sharedUp = {"ffn_up_shexp", "ffn_up_shexp", "mlp.shared_experts.up_proj"};
  LayerTensor sharedDown = {"ffn_down_shexp", "ffn_down_shexp", "mlp.shared_experts.down_proj"};
  LayerTensor sharedFactor = {"ffn_gate_inp_shexp", "ffn_gate_inp_shexp", "mlp.shared_expert_gate"};
};

/// Before readExperts, fields hold the family's defaults; afterwards they hold the checkpoint's values.
struct Experts {
  RouteShape route;
  bool selectBias = false; ///< experts are chosen by score + bias; weights ignore the bias
  int64_t width = 0;       ///< of the hidden rows inside each expert
  int64_t sharedWidth = 0; ///< of the hidden rows inside the shared MLP; 0: there is no shared MLP
  bool sharedRows = false; ///< in safetensors, gate and up of the shared MLP are one tensor
  bool sharedFactor =
      false; ///< the shared MLP is scaled by the sigmoid of a projection to one value

  bool bias = false;                           ///< in the router and in the experts' projections
  double swigluLimit = 0, swigluAlpha = 1.702; ///< limit above 0: the activation is lm.swiglu_oai
  bool inTurns = false; ///< rows of the stack gateUp alternate gate, up, gate, up, in safetensors
  bool across = false;  ///< float stacks are [count][columns][rows], in safetensors

  ExpertNames names;
  llvm::StringLiteral widthKey = "moe_intermediate_size"; ///< in config.json
};

/// Sets the defaults of DeepSeek-V3's router (arXiv:2412.19437). Scores are sigmoids. Groups are ranked by the sum of
/// their two best scores, and experts of the best groups are chosen by score plus bias. The weights are the scores
/// without the bias, normalised and scaled.
void setGroupedRouter(Config &config, Experts &experts);
/// Reads the remaining keys of a config.json: DeepSeek-V3's router, the shared experts, and the number of dense first
/// layers. Call it after readExperts. `normalized` and `dense` are the values of missing keys.
void readGroupedRouter(Config &config, Decoder &m, bool normalized, int64_t dense);

/// Takes the tensors of a layer's experts: roles ffn_gate_inp, exp_probs_b, ffn_<gate, up, down>_exps and
/// _shexp, ffn_gate_inp_shexp.
void takeExperts(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m);
mlir::Value emitExperts(LayerEmitter &layer, const Decoder &m, mlir::Value normed);

} // namespace ingot::models
