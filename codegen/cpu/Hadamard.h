//===- Hadamard.h - The transform before K and q become int8 ---------------===//
//
// See runtime/formats/KvInt8.h for why, and for the order of additions.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::cpu {

/// A head of headDim f32 in vectors of 16, what is left over being zeros; without the factor
/// 1/sqrt(block).
KernelBuilder::Values hadamard(KernelBuilder &k, KernelBuilder::Values x, int64_t headDim);

} // namespace ingot::cpu
