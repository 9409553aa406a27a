//===- Nvfp4.h - NVFP4, as three projects store it --------------------------===//
//
// Codes of E2M1, a scale of E4M3 for 16 of them, and one number of f32 for a matrix:
//
//   w[n][k] = e2m1(q[n][k]) * (e4m3(s[n][k / 16]) * f)
//
//   modelopt            X.weight        U8 [N, K / 2], the lower nibble first     f = weight_scale_2
//                       X.weight_scale  F8_E4M3 [N, K / 16]
//   compressed-tensors  X.weight_packed, X.weight_scale: the same                 f = 1 / weight_global_scale
//   GGUF                per 64 values 4 scales without a sign, then for each 8 bytes: byte j has values j and 8 + j.
//                       0x7f is 0 there                                           f = X.scale, or 1
//
// The tensor has blocks of 256 (Codes.h), with f / 2 in each, since the table has twice the numbers. Matrices of a
// model have different f, and experts that no data reached have 0: nothing divides by it. What compressed-tensors
// computes, e4m3(s) / weight_global_scale, differs from this in the last bit of f32 at most.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/CheckpointBuilder.h"

namespace ingot::import {

/// Rows of `columns` values, of which every `rowsOfMatrix` have the next of `factors` (f above).
struct Nvfp4Source {
  int64_t columns, rowsOfMatrix;
  std::span<const std::byte> codes, scales; ///< GGUF: both in `codes`
  std::vector<float> factors;
};
std::shared_ptr<const BlockMaker> makeNvfp4(Nvfp4Source source);

/// The same rows with other factors, of a tensor that makeNvfp4 makes.
std::shared_ptr<const BlockMaker> withFactors(const Tensor &tensor, std::vector<float> factors);

constexpr int64_t kGgufNvfp4Values = 64, kGgufNvfp4Bytes = 36;

/// Of a GGUF whose tensors are all there: gives matrices of NVFP4 the factors that stand beside them (NAME.scale), and
/// drops what is said of activations (NAME.input_scale). E0477: as many factors as there are no matrices.
Result<void> attachNvfp4Factors(CheckpointBuilder &builder);

} // namespace ingot::import
