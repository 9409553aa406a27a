//===- Dequantize.h - Stored weights as f32: the reference arithmetic -----===//
//
// This file defines the value of a weight. It computes the formulas of NumericFormat.h in f32, with one rounding for
// each operation that they contain. The results equal the results of the `gguf` Python package (gguf.quants.dequantize)
// bit for bit. The plan interpreter, `exact` kernels and `--quantize` all start from these values.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/blocks/Codes.h"
#include "compiler/import/checkpoint/Checkpoint.h"

namespace ingot::import {

/// Decodes one row in the file's packing to out.size() values. The two lengths must match (storedRowBytes); the error
/// is E0207 otherwise. No alignment is needed. fp8 rows are not supported, because their scales are stored elsewhere.
Result<void> dequantizeRow(WeightFormat storedFormat, std::span<const std::byte> row,
                           std::span<float> out);

/// Decodes row `index` of a tensor, counted as in tensorRow. Supports fp8 formats as well.
Result<void> dequantizeRow(const Tensor &tensor, int64_t index, std::span<float> out);

/// Computes the storedBlockValues(format) values of an unpacked block.
void dequantizeParts(WeightFormat format, const BlockParts &parts, float *out);

/// Returns the bytes of row `index`. A row is along the last dimension, and rows are counted over all outer dimensions.
/// The tensor's rows must not be made on demand.
std::span<const std::byte> tensorRow(const Tensor &tensor, int64_t index);

/// Returns the bytes of `count` rows. Rows that are made on demand are written to `room`.
std::span<const std::byte> tensorRows(const Tensor &tensor, int64_t first, int64_t count,
                                      std::vector<std::byte> &room);

/// Refuses a tensor with a NaN or infinite value or scale and names its first place (E0208). It reads the stored bytes
/// once, and of quantised formats only the scales. Scales of fp8 were already checked when they were read. It allocates
/// nothing.
Result<void> checkFinite(const Tensor &tensor);
/// Checks only `count` rows starting at `first`, counted as in tensorRow. In a vector, elements are counted instead.
Result<void> checkFinite(const Tensor &tensor, int64_t first, int64_t count);

} // namespace ingot::import
