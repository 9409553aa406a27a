//===- WeightFormats.h - Change the numeric format of weights -------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
class WeightOp;
} // namespace ingot::lm

namespace ingot {

/// Gives matrices new formats and retypes everything that mentions them: declarations, layer kinds and get_weight.
/// `choose` returns the format of a weight, its present one to leave it; `insideLayer` is false for an
/// embedding or a head, which the entry reads itself. Layers of one kind that come to differ get kinds of
/// their own, so a choice per layer stays visible in the IR.
void changeMatrixFormats(
    lm::ModelOp model,
    llvm::function_ref<WeightFormat(lm::WeightOp weight, bool insideLayer)> choose);

} // namespace ingot
