//===- Hadamard.h - Transform of K and q before quantisation ---------------===//
//
// runtime/formats/KvInt8.h has the reason and the order of additions.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::codegen::cpu {

/// Transforms a head of headDim f32, given in vectors of 16. Unused lanes are zeros. The factor 1/sqrt(block) is not
/// applied.
KernelBuilder::Values hadamard(KernelBuilder &k, KernelBuilder::Values x, int64_t headDim);

} // namespace ingot::codegen::cpu
