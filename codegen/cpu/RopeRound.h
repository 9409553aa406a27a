//===- RopeRound.h - Rounding to the types of the KV cache ----------------===//
//
// Rounds f32 to bf16 and f16 in generic IR. Conversion instructions differ between ISA levels
// (vcvtneps2bf16 flushes denormals), but the bits of the cache must not.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::codegen::cpu {

/// Returns the scalar type in which an element is stored and loaded (bf16 as i16).
mlir::Type storedType(KernelBuilder &k, KvFormat element);

/// Rounds f32 (a scalar or vector) to nearest even; f16 saturates at +-65504; NaN stays NaN.
mlir::Value roundToStored(KernelBuilder &k, mlir::Value v, KvFormat element);

} // namespace ingot::codegen::cpu
