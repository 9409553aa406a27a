//===- LayerParts.h - Names and kinds of the parts of layers ----------------===//
//
// A family's file declares the parts of a model with the types in this header; it builds nothing itself.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#include "llvm/ADT/StringRef.h"

namespace ingot::models {

/// Names of the tensors that every model has, in safetensors checkpoints. GGUF has one name for each.
struct HfNames {
  llvm::StringLiteral layers = "model.layers.", embedding = "model.embed_tokens.weight",
                      outputNorm = "model.norm", output = "lm_head.weight", positions = "";
};

/// A weight of a layer, and the names of its tensor in both containers, without the ending ".weight" or
/// ".bias": blk.<i>.<gguf> and model.layers.<i>.<hf> (HfNames::layers).
struct LayerTensor {
  llvm::StringLiteral role, gguf, hf;
  bool whole = false; ///< the names include their endings
};

/// The suffix of the role of a column permutation.
inline constexpr llvm::StringLiteral kColumns = "_columns";

enum class Bias { None, IfPresent, Required };
enum class Norm { Rms, Layer };

/// The router's selection rule: the attributes of lm.route.
struct RouteShape {
  int64_t count = 0, used = 0; ///< all experts, and those used per token
  lm::RouteScore score = lm::RouteScore::Softmax;
  lm::RouteNorm normalize = lm::RouteNorm::Sum;
  int64_t groups = 1, usedGroups = 1;
  lm::GroupScore groupScore = lm::GroupScore::Max;
  double normEps = 0, normFloor = 0, scale = 1;
};

} // namespace ingot::models
