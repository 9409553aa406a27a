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
// The resulting tensor has blocks of 256 values (Codes.h). Each block has the scale f / 2, because the table of E2M1
// holds doubled values. The matrices of a model have different f. Experts that no calibration data reached have f = 0,
// so no code may divide by f. compressed-tensors itself computes e4m3(s) / weight_global_scale, which differs from our
// scale by at most the last bit of f32.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// The parts of an NVFP4 tensor with rows of `columns` values. Each matrix has `rowsOfMatrix` rows and one of the
/// `factors` (f above), in order.
struct Nvfp4Source {
  int64_t columns, rowsOfMatrix;
  std::span<const std::byte> codes, scales; ///< GGUF: both in `codes`
  std::vector<float> factors;
};
std::shared_ptr<const BlockMaker> makeNvfp4(Nvfp4Source source);

/// Returns a maker of the rows of `tensor` with other factors. The maker of `tensor` must come from makeNvfp4.
std::shared_ptr<const BlockMaker> withFactors(const Tensor &tensor, std::vector<float> factors);

constexpr int64_t kGgufNvfp4Values = 64, kGgufNvfp4Bytes = 36;

/// Gives the NVFP4 matrices of a GGUF the factors that are stored next to them (NAME.scale), and drops the activation
/// scales (NAME.input_scale). Call it once all tensors are read. Errors: E0477: the number of factors differs from the
/// number of matrices.
Result<void> attachNvfp4Factors(CheckpointBuilder &builder);

} // namespace ingot::import
