//===- LayerParts.h - Names and kinds of what layers are made of ------------===//
//
// What a family's file is written in: it says which of these a model has, and builds nothing itself.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#include "llvm/ADT/StringRef.h"

namespace ingot::models {

/// What checkpoints of safetensors call the tensors that every model has. Those of GGUF have one name each.
struct HfNames {
  llvm::StringLiteral layers = "model.layers.", embedding = "model.embed_tokens.weight",
                      outputNorm = "model.norm", output = "lm_head.weight", positions = "";
};

/// A weight of a layer, and the tensor that holds it in both containers' words, without the ending
/// ".weight" or ".bias": blk.<i>.<gguf> and model.layers.<i>.<hf> (HfNames::layers).
struct LayerTensor {
  llvm::StringLiteral role, gguf, hf;
  bool whole = false; ///< the names have their endings
};

/// What the role of an order of columns ends with.
inline constexpr llvm::StringLiteral kColumns = "_columns";

enum class Bias { None, IfPresent, Required };
enum class Norm { Rms, Layer };

/// How a router chooses: the attributes of lm.route.
struct RouteShape {
  int64_t count = 0, used = 0; ///< all experts, those of a token
  lm::RouteScore score = lm::RouteScore::Softmax;
  lm::RouteNorm normalize = lm::RouteNorm::Sum;
  int64_t groups = 1, usedGroups = 1;
  lm::GroupScore groupScore = lm::GroupScore::Max;
  double normEps = 0, normFloor = 0, scale = 1;
};

} // namespace ingot::models
