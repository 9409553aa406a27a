//===- WeightFormats.h - Change the numeric format of weights -------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
class WeightOp;
} // namespace ingot::lm

namespace ingot {

/// Gives matrices new formats and retypes everything that refers to them: declarations, layer kinds and
/// get_weight. `choose` returns the format of a weight, or its present one to keep it; `insideLayer` is false
/// for an embedding or a head, which the entry reads directly. Layers of one kind whose formats come to
/// differ get separate kinds, so a per-layer choice stays visible in the IR.
void changeMatrixFormats(
    lm::ModelOp model,
    llvm::function_ref<WeightFormat(lm::WeightOp weight, bool insideLayer)> choose);

} // namespace ingot
