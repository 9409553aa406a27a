//===- WeightFormats.h - Change the numeric format of weights -------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot {

/// Gives weights new formats and retypes everything that mentions them: declarations, arguments of layer
/// kinds and get_weight. `choose` returns the new format of a matrix, or its present one. Layers that share a
/// kind must agree, as they did before: `choose` sees the type and where the weight is read, never a layer number.
void changeMatrixFormats(lm::ModelOp model,
                         llvm::function_ref<WeightFormat(lm::WeightType type, bool insideLayer)> choose);

} // namespace ingot
