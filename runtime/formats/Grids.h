//===- Grids.h - Which magnitudes stand together in IQ formats ---------------===//
//
// IQ1, IQ2 and IQ3 of GGUF store an index for each run of eight or four values of K; it names their magnitudes, which
// stand together in an entry of a grid. Signs are stored apart. So a code, as NumericFormat.h has it, is a magnitude
// of the entry, and 8 for the sign.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// What has a sign of its own.
enum class GridSigns : uint8_t { Value, Run, Group };

struct Grid {
  const uint16_t *entries; ///< 2^indexBits, the first magnitude of each in its lowest bits
  int indexBits;           ///< 8 to 11
  int run;                 ///< values of K: 8 of two bits, or 4 of three
  GridSigns signs;

  constexpr int count() const { return 1 << indexBits; }
  constexpr int upperBits() const { return indexBits - 8; }
  constexpr int bits() const { return run == 8 ? 2 : 3; }
  /// Magnitude i of an entry.
  constexpr int magnitude(int index, int i) const {
    return entries[index] >> (bits() * i) & ((1 << bits()) - 1);
  }
};

extern const uint16_t kGridIq2Xxs[256], kGridIq2Xs[512], kGridIq2S[1024]; ///< 8 x 2 bits
extern const uint16_t kGridIq3Xxs[256], kGridIq3S[512];                   ///< 4 x 3 bits
extern const uint16_t kGridIq1[2048];                                     ///< 8 x 2 bits

} // namespace ingot
