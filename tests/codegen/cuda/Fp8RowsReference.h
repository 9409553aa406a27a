//===- Fp8RowsReference.h - Activations in E4M3, for tests of GPU kernels ----===//
#pragma once

#include "runtime/formats/E4M3.h"
#include "runtime/formats/FragmentLayout.h"
#include "tests/codegen/cpu/Bf16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace ingot::codegen::cuda::test {

/// Converts bf16 rows to rows of E4M3 as FragmentLayout.h describes them.
inline std::vector<uint8_t> fp8Of(const std::vector<uint16_t> &x, int64_t rows, int64_t k) {
  int64_t width = roundUp(k, 64), codes = roundUp(k, 128), stride = fp8RowBytes(k);
  std::vector<uint8_t> bytes(rows * stride);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t g = 0; g < codes; g += 128) {
      auto at = [&](int64_t i) { return g + i < k ? fromBf16(x[t * width + g + i]) : 0.0f; };
      float largest = 0;
      for (int64_t i = 0; i < 128; ++i)
        largest = std::max(largest, std::abs(at(i)));
      float scale = largest / 448, inverse = largest != 0 ? 448 / largest : 0;
      for (int64_t i = 0; i < 128; ++i)
        bytes[t * stride + g + i / 16 * 16 + fp8Slot(i % 16)] = e4m3FromF32(at(i) * inverse);
      std::memcpy(bytes.data() + t * stride + codes + g / 128 * 4, &scale, 4);
    }
  return bytes;
}

/// Decodes x[k] from such a row.
inline float numberOf(const uint8_t *row, int64_t k, int64_t width) {
  float scale;
  std::memcpy(&scale, row + roundUp(width, 128) + k / 128 * 4, 4);
  return scale * f32FromE4M3(row[k / 16 * 16 + fp8Slot(k % 16)]);
}

} // namespace ingot::codegen::cuda::test
