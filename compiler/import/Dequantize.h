//===- Dequantize.h - Stored weights as f32: the reference arithmetic -----===//
//
// What a weight *is*: NumericFormat.h's formulas in f32, one rounding per
// written operation, bit-exact with the `gguf` Python package
// (gguf.quants.dequantize). The interpreter, `exact` kernels and `--quantize`
// all start from these numbers.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"
#include "compiler/import/Codes.h"

namespace ingot::import {

/// One row in the file's packing to out.size() numbers. The two lengths must fit each
/// other (storedRowBytes); an error of code E0207 otherwise. No alignment is needed. Not for
/// fp8, whose scales lie elsewhere.
Result<void> dequantizeRow(WeightFormat storedFormat, std::span<const std::byte> row,
                           std::span<float> out);

/// Row `index` of a tensor, counted as tensorRow does: the same, and fp8 formats too.
Result<void> dequantizeRow(const Tensor &tensor, int64_t index, std::span<float> out);

/// The numbers of parts already taken apart (storedBlockValues(format) of them).
void dequantizeParts(WeightFormat format, const BlockParts &parts, float *out);

/// The bytes of row `index` of the last dimension: rows are counted over all outer ones. Not of a tensor whose rows
/// are made.
std::span<const std::byte> tensorRow(const Tensor &tensor, int64_t index);

/// The bytes of `count` rows, which may be made: they live in `room` then.
std::span<const std::byte> tensorRows(const Tensor &tensor, int64_t first, int64_t count,
                                      std::vector<std::byte> &room);

/// Refuses a tensor with a NaN or infinite value or scale, naming the first place (E0208; scales of
/// fp8 were checked when they were read).
/// One pass over the stored bytes (scales only for quantised formats); allocates nothing.
Result<void> checkFinite(const Tensor &tensor);
/// The same of `count` rows from `first` on, counted as tensorRow does (of a vector: of its numbers).
Result<void> checkFinite(const Tensor &tensor, int64_t first, int64_t count);

} // namespace ingot::import
