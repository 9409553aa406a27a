//===- Dequantize.h - Stored weights as f32: the reference arithmetic -----===//
//
// Defines the value of a weight: NumericFormat.h's formulas in f32, one rounding per written operation,
// bit-exact with the `gguf` Python package (gguf.quants.dequantize). The plan interpreter, `exact` kernels
// and `--quantize` all start from these numbers.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/blocks/Codes.h"
#include "compiler/import/checkpoint/Checkpoint.h"

namespace ingot::import {

/// Decodes one row in the file's packing to out.size() numbers. The two lengths must match (storedRowBytes);
/// the error is E0207 otherwise. No alignment is needed. Not for fp8, whose scales are stored elsewhere.
Result<void> dequantizeRow(WeightFormat storedFormat, std::span<const std::byte> row,
                           std::span<float> out);

/// Decodes row `index` of a tensor, counted as in tensorRow. Supports fp8 formats as well.
Result<void> dequantizeRow(const Tensor &tensor, int64_t index, std::span<float> out);

/// The numbers of an unpacked block (storedBlockValues(format) of them).
void dequantizeParts(WeightFormat format, const BlockParts &parts, float *out);

/// The bytes of row `index` along the last dimension; rows are counted over all outer dimensions. Not for a
/// tensor whose rows are made on demand.
std::span<const std::byte> tensorRow(const Tensor &tensor, int64_t index);

/// The bytes of `count` rows. Rows made on demand are written to `room`.
std::span<const std::byte> tensorRows(const Tensor &tensor, int64_t first, int64_t count,
                                      std::vector<std::byte> &room);

/// Refuses a tensor with a NaN or infinite value or scale and names the first place (E0208; scales of fp8
/// were checked when they were read). Makes one pass over the stored bytes (scales only for quantised
/// formats) and allocates nothing.
Result<void> checkFinite(const Tensor &tensor);
/// Checks only `count` rows starting at `first`, counted as in tensorRow (for a vector: its
/// numbers).
Result<void> checkFinite(const Tensor &tensor, int64_t first, int64_t count);

} // namespace ingot::import
