//===- SeedGroup.h - Generated codes that do not lie in planes, for each layout -===//
#pragma once

#include "runtime/formats/DummyWeights.h"
#include "runtime/formats/WeightPlace.h"

namespace ingot {

/// Writes the first `count` codes of a group of 32, which must be zero before. The format's Packing is not Planes.
/// `row` is counted from the start of the panel or tile, and `k` from the start of the block. `c` has the four bits of
/// each value (DummyWeights.h).
template <typename Layout>
void putSeedGroup(const Layout &layout, const NumericFormat &format, int64_t row, int64_t k,
                  int64_t count, const uint8_t (&c)[kGroupK], std::byte *block) {
  if (const Grid *grid = format.grid) {
    for (int64_t i = 0; i < count; i += grid->run)
      putRun(layout, format, row, k + i, seedIndex(*grid, c + i),
             c + (grid->signs == GridSigns::Group ? 0 : i), block);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    putCodeOfBlock(layout, format, row, k + i,
                   format.packing == NumericFormat::Packing::Trits ? c[i] % 3 : c[i] & 2, block);
}

} // namespace ingot
