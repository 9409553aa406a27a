//===- Weights.h - Weights, by reference ----------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

#define GET_OP_CLASSES
#include "dialects/lm/ops/Weights.h.inc"

namespace ingot::lm {

/// Rows of another weight and their factors; here the vectors of `Factors` are symbols of weights.
struct WeightRows {
  std::string symbol;
  int64_t first, count;
  int64_t total; ///< number of rows of that weight
  std::optional<Factors> columnFactors = {}, rowFactors = {};
};

/// The rows of other weights that make up a weight that a pattern created; for any other weight, its own rows.
/// Dummy weights are generated from the symbol, so a derived weight gets the numbers of the weights that it names.
std::vector<WeightRows> originsOf(WeightOp weight);
void setOrigins(WeightOp weight, llvm::ArrayRef<WeightRows> origins);

} // namespace ingot::lm
