//===- Rounding.h - Numbers that a format can hold ------------------------===//
//
// What --quantize and `fast`'s bf16 do to a weight, written down a second time, apart
// from the packer (compiler/pack), and compared with it in a test.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/formats/NumericFormat.h"

#include <span>

namespace ingot::reference {

/// The nearest bf16 or f16, ties to even; infinities and NaN stay.
float roundToBf16(float value);
float roundToF16(float value);

/// A vector as the KV cache of fp8 holds it: E4M3 codes (ties to even, saturating) times the f32
/// scale largest magnitude / 448; 1 where the largest magnitude is below 2^-110.
void roundScaledE4m3(std::span<float> vector);

/// A vector as the KV cache of int8 holds it (KvInt8.h): codes times one f32 scale; `ofK`: after a
/// Hadamard transform, which is taken back.
void roundScaledInt8(std::span<float> vector, bool ofK);
/// That transform, without a factor: of what it gives it makes the vector again, times kvInt8Block.
void transformHadamard(std::span<float> vector);

/// Replaces each number of a row of K by the nearest that `format` holds: floats, and the
/// formats that --quantize makes:
///   int8    groups of 32: scale f16(largest |w| / 127), codes -127 … 127
///   int4_*  its groups: scale f16(w / -8), w the value of largest magnitude, codes -8 … 7
///   fp8     the row: scale largest |w| / 448, the nearest E4M3 numbers
/// Any other format is an error (E0452): files hold those, nobody makes them.
Result<void> roundRow(WeightFormat format, std::span<float> row);

} // namespace ingot::reference
