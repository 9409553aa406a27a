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

/// If a pattern created the weight from other weights, returns the rows of these weights that make it up. For any other
/// weight, returns its own rows. Dummy weights are generated from the symbol, so a derived weight gets the values of
/// the weights that it is made of.
std::vector<WeightRows> originsOf(WeightOp weight);
void setOrigins(WeightOp weight, llvm::ArrayRef<WeightRows> origins);

} // namespace ingot::lm
