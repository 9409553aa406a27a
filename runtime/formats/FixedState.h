//===- FixedState.h - Memory layout of a fixed state -----------------------===//
//
// A fixed state (of a short convolution or a recurrence) is as large for one token as for a thousand. Its
// memory is an array of slots, each of which holds one snapshot of it (runtime/kv/StateSnapshots.h):
//
//   base + slot * bytes of a slot      [ stream 0: row 0, row 1, … | pad ][ stream 1: … | pad ]
//
// Values are f32. A stream takes whole lines of 64 bytes, so every slot and stream begins on one.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// Returns the size in bytes of a stream of `rows` rows of `width` values.
constexpr int64_t fixedStreamBytes(int64_t rows, int64_t width) {
  return (4 * rows * width + 63) / 64 * 64;
}

} // namespace ingot
