//===- Rounding.h - Rounds numbers to a format ----------------------------===//
//
// A second implementation of the rounding that --quantize and `fast`'s bf16 apply to a weight, independent of
// the packer (compiler/pack). A test compares the two.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/formats/NumericFormat.h"

#include <span>

namespace ingot::reference {

/// Returns the nearest bf16 or f16 number, ties to even. Infinities and NaN are preserved.
float roundToBf16(float value);
float roundToF16(float value);

/// Rounds a vector as the fp8 KV cache stores it: E4M3 codes (ties to even, saturating) times an f32 scale. The scale
/// is the largest magnitude divided by 448, or 1 if the largest magnitude is below 2^-110.
void roundScaledE4m3(std::span<float> vector);

/// Rounds a vector as the int8 KV cache stores it (KvInt8.h): codes times one f32 scale. With `ofK`, a
/// Hadamard transform is applied before rounding and inverted after.
void roundScaledInt8(std::span<float> vector, bool ofK);
/// The unnormalised Hadamard transform: applied twice, it multiplies the vector by kvInt8Block.
void transformHadamard(std::span<float> vector);

/// Replaces each of the K values of a row with the nearest value that `format` can represent. Supports floats, and the
/// formats that --quantize produces:
///   int8    groups of 32: scale f16(largest |w| / 127), codes -127 … 127
///   int4_*  its groups: scale f16(w / -8), w the value of largest magnitude, codes -8 … 7
///   fp8     the row: scale largest |w| / 448, the nearest E4M3 values
/// Any other format is an error (E0452): such formats occur in files, but are never produced.
Result<void> roundRow(WeightFormat format, std::span<float> row);

} // namespace ingot::reference
