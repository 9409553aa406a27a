//===- Grids.h - Grids of magnitudes of the IQ formats -----------------------===//
//
// IQ1, IQ2 and IQ3 of GGUF store an index for each run of eight or four values of K. It selects an entry of a
// grid, which holds the magnitudes of the whole run. Signs are stored separately. A code in the sense of
// NumericFormat.h is therefore a magnitude of the entry, plus 8 if the sign bit is set.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// The unit that has a sign bit of its own.
enum class GridSigns : uint8_t { Value, Run, Group };

struct Grid {
  const uint16_t *entries; ///< 2^indexBits entries, the first magnitude of each in its lowest bits
  int indexBits;           ///< 8 to 11
  int run;                 ///< values of K per entry: 8 of two bits, or 4 of three
  GridSigns signs;

  constexpr int count() const { return 1 << indexBits; }
  constexpr int upperBits() const { return indexBits - 8; }
  constexpr int bits() const { return run == 8 ? 2 : 3; }
  /// Returns magnitude i of an entry.
  constexpr int magnitude(int index, int i) const {
    return entries[index] >> (bits() * i) & ((1 << bits()) - 1);
  }
};

extern const uint16_t kGridIq2Xxs[256], kGridIq2Xs[512], kGridIq2S[1024]; ///< 8 x 2 bits
extern const uint16_t kGridIq3Xxs[256], kGridIq3S[512];                   ///< 4 x 3 bits
extern const uint16_t kGridIq1[2048];                                     ///< 8 x 2 bits

} // namespace ingot
