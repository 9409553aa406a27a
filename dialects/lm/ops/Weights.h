//===- Weights.h - Weights, by reference ----------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

#define GET_OP_CLASSES
#include "dialects/lm/ops/Weights.h.inc"

namespace ingot::lm {

/// Rows of another weight, and what they are multiplied by: the vectors of `Factors` are symbols of weights here.
struct WeightRows {
  std::string symbol;
  int64_t first, count;
  int64_t total; ///< rows of that weight
  std::optional<Factors> columnFactors = {}, rowFactors = {};
};

/// What a weight that a pattern made is made of; of any other its own rows. Numbers made from a seed go by the symbol, so
/// they are those of the weights that it names.
std::vector<WeightRows> originsOf(WeightOp weight);
void setOrigins(WeightOp weight, llvm::ArrayRef<WeightRows> origins);

} // namespace ingot::lm
