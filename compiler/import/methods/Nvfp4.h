//===- Nvfp4.h - NVFP4, as three projects store it --------------------------===//
//
// E2M1 codes, an E4M3 scale per 16 codes, and one f32 factor per matrix:
//
//   w[n][k] = e2m1(q[n][k]) * (e4m3(s[n][k / 16]) * f)
//
//   modelopt            X.weight        U8 [N, K / 2], the low nibble first       f = weight_scale_2
//                       X.weight_scale  F8_E4M3 [N, K / 16]
//   compressed-tensors  X.weight_packed, X.weight_scale: the same                 f = 1 / weight_global_scale
//   GGUF                per 64 values 4 unsigned scales, then 8 bytes of codes for each: byte j has values j
//                       and 8 + j; scale 0x7f means 0                             f = X.scale, or 1
//
// The tensor has blocks of 256 (Codes.h), each with f / 2, because the table holds doubled values. Matrices
// of a model have different f, and experts that no calibration data reached have f = 0, so nothing divides by
// it. What compressed-tensors computes, e4m3(s) / weight_global_scale, differs from this in at most the last
// bit of f32.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// Rows of `columns` values; each run of `rowsOfMatrix` rows uses the next of `factors` (f above).
struct Nvfp4Source {
  int64_t columns, rowsOfMatrix;
  std::span<const std::byte> codes, scales; ///< GGUF: both in `codes`
  std::vector<float> factors;
};
std::shared_ptr<const BlockMaker> makeNvfp4(Nvfp4Source source);

/// The rows of `tensor` with other factors, for a tensor whose maker is makeNvfp4's.
std::shared_ptr<const BlockMaker> withFactors(const Tensor &tensor, std::vector<float> factors);

constexpr int64_t kGgufNvfp4Values = 64, kGgufNvfp4Bytes = 36;

/// For a GGUF whose tensors are all read: gives NVFP4 matrices the factors stored next to them (NAME.scale),
/// and drops the activation scales (NAME.input_scale). E0477: the number of factors differs from the number
/// of matrices.
Result<void> attachNvfp4Factors(CheckpointBuilder &builder);

} // namespace ingot::import
