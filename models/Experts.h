//===- Experts.h - A choice of experts in the place of an MLP -------------===//
//
//   route     the best `used` of `count` experts by score(router(x)), and a weight for each
//   experts   each its own MLP of `width` values, here stacks of matrices [count][rows][columns]
//   shared    an MLP that every token goes through beside, perhaps scaled by a gate of its own
//
// Checkpoints hold the experts' matrices in one of four forms. Tensors tell them apart, but for columns first, which
// families say:
//
//   GGUF          ffn_gate_exps, ffn_up_exps, ffn_down_exps: a stack each, or gate above up in ffn_gate_up_exps;
//                 the first Mixtrals ffn_gate.0, ffn_gate.1, …
//   each apart    mlp.experts.7.gate_proj.weight: most safetensors
//   stacks        mlp.experts.gate_up_proj [count][2 width][hidden], mlp.experts.down_proj: what transformers has
//                 in memory
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

/// What tensors of a layer are called in safetensors behind its prefix; GGUF's names are one for all families.
struct ExpertNames {
  LayerTensor router = {"ffn_gate_inp", "ffn_gate_inp", "mlp.gate"};
  LayerTensor selectBias = {"exp_probs_b", "exp_probs_b.bias", "mlp.gate.e_score_correction_bias",
                            /*whole=*/true};
  /// Of single experts: <experts>.<expert>.<gate>.weight.
  llvm::StringLiteral experts = "mlp.experts", gate = "gate_proj", up = "up_proj",
                      down = "down_proj";
  /// Of stacks, with their endings.
  llvm::StringLiteral gateUp = "mlp.experts.gate_up_proj", downStack = "mlp.experts.down_proj";
  LayerTensor sharedGate = {"ffn_gate_shexp", "ffn_gate_shexp", "mlp.shared_experts.gate_proj"};
  LayerTensor sharedUp = {"ffn_up_shexp", "ffn_up_shexp", "mlp.shared_experts.up_proj"};
  LayerTensor sharedDown = {"ffn_down_shexp", "ffn_down_shexp", "mlp.shared_experts.down_proj"};
  LayerTensor sharedFactor = {"ffn_gate_inp_shexp", "ffn_gate_inp_shexp", "mlp.shared_expert_gate"};
};

/// Set before readExperts, a field is the family's default; afterwards it is what the checkpoint says.
struct Experts {
  RouteShape route;
  bool selectBias = false;   ///< the choice is by score + a bias of each expert; weights are not
  int64_t width = 0;         ///< values of a hidden row of each expert
  int64_t sharedWidth = 0;   ///< the same of the MLP of every token; 0: there is none
  bool sharedRows = false;   ///< its gate and up are rows of one tensor, in safetensors
  bool sharedFactor = false; ///< which is multiplied by the sigmoid of a projection to one value

  bool bias = false;                           ///< of the router and of the experts' projections
  double swigluLimit = 0, swigluAlpha = 1.702; ///< a limit above 0: the activation is lm.swiglu_oai
  bool inTurns = false; ///< rows of the stack gateUp are gate, up, gate, up, in safetensors
  bool across = false;  ///< stacks of floats are [count][columns][rows], in safetensors

  ExpertNames names;
  llvm::StringLiteral widthKey = "moe_intermediate_size"; ///< of a config.json
};

/// DeepSeek-V3's router (arXiv:2412.19437): scores are sigmoids; the best by score and bias are chosen, of the groups whose
/// two best are best; the weights of the chosen, without the bias, are normalised and scaled. These are its defaults.
void setGroupedRouter(Config &config, Experts &experts);
/// And what a config.json says beside readExperts, behind it: that, the shared experts, and the first layers, which are
/// dense. Where it does not say, they are as given.
void readGroupedRouter(Config &config, Decoder &m, bool normalized, int64_t dense);

/// The experts of a layer: roles ffn_gate_inp, exp_probs_b, ffn_<gate, up, down>_exps and _shexp, ffn_gate_inp_shexp.
void takeExperts(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m);
mlir::Value emitExperts(LayerEmitter &layer, const Decoder &m, mlir::Value normed);

} // namespace ingot::models
