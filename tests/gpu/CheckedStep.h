//===- CheckedStep.h - Random rows and steps, and the error of results ------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "tests/codegen/cpu/Bf16.h"
#include "tests/gpu/reference_generated.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace ingot::cuda::check {

using Bytes = std::vector<uint8_t>;

/// Pseudo-random numbers, the same in every run.
class Numbers {
public:
  explicit Numbers(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint32_t bits() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return uint32_t(state >> 32);
  }
  float uniform() { return float(bits()) * 0x1p-31f - 1; }

private:
  uint64_t state;
};

/// Returns random rows, padded with zeros after their n values.
inline Bytes randomRows(const reference::Rows &rows, int64_t count, uint64_t seed) {
  Numbers random(seed);
  const size_t width = rows.bf16() ? 2 : 4;
  Bytes bytes(size_t(count) * rows.stride() * width);
  for (int64_t r = 0; r < count; ++r)
    for (uint32_t i = 0; i < rows.n(); ++i) {
      float value = random.uniform();
      uint16_t narrow = toBf16(value);
      std::memcpy(&bytes[(size_t(r) * rows.stride() + i) * width],
                  rows.bf16() ? static_cast<void *>(&narrow) : &value, width);
    }
  return bytes;
}

inline float elementOf(const Bytes &bytes, const reference::Rows &rows, int64_t row, int64_t i) {
  size_t at = size_t(row) * rows.stride() + size_t(i);
  if (rows.bf16()) {
    uint16_t bits;
    std::memcpy(&bits, &bytes[2 * at], 2);
    return fromBf16(bits);
  }
  float value;
  std::memcpy(&value, &bytes[4 * at], 4);
  return value;
}

/// The largest difference so far.
struct Worst {
  double limit, value = 0;
  /// `allowed` is the change of the result that corresponds to a difference of `limit`.
  void add(double is, double want, double allowed, bool bf16) {
    // A bf16 may be off by half a step of a number just above a power of two, and an f32 by the epilogue's error.
    double beyond = std::abs(is - want) - std::abs(want) * (bf16 ? 0x1.01p-8 : 2e-6) - 1e-30;
    if (std::isnan(beyond))
      value = INFINITY;
    else if (beyond > 0)
      value = std::max(value, allowed > 0 ? limit * beyond / allowed : double(INFINITY));
  }
  void must(bool holds) { value = holds ? value : double(INFINITY); }
};

/// A step: tokens of sequences, each at its own position.
struct Step {
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens, blockTable;
  std::vector<AttentionTile> tiles;
  int64_t stride = 1; ///< of the block table

  void add(int32_t sequence, int64_t first, int64_t count) {
    for (int64_t from = 0; from < count; from += kAttentionTile) {
      int64_t size = std::min(kAttentionTile, count - from);
      tiles.push_back({int32_t(positions.size()), int32_t(size), sequence, int32_t(first + from)});
      for (int64_t i = 0; i < size; ++i) {
        ids.push_back(0);
        positions.push_back(int32_t(first + from + i)), sequenceOf.push_back(sequence);
      }
    }
  }
  int64_t tokens() const { return int64_t(positions.size()); }
  BatchView view(int64_t rows) const {
    BatchView batch{};
    batch.tokens = tokens(), batch.rows = rows, batch.tiles = int64_t(tiles.size());
    batch.ids = ids.data(), batch.positions = positions.data();
    batch.sequenceOf = sequenceOf.data(), batch.rowTokens = rowTokens.data();
    batch.attentionTiles = tiles.data(), batch.blockTable = blockTable.data();
    batch.blockTableStride = stride;
    batch.sequences = int64_t(blockTable.size()) / stride;
    return batch;
  }
};

} // namespace ingot::cuda::check
