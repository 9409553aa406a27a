//===- DummyFragments.cpp - Generated weights in the GPU layout -----------===//
//
// Writes the same values as in panels (DummyWeights.h), in the layout of FragmentLayout.h. Padding is zero: rows from N
// on have scales of 0, and codes from K on are multiplied by activations of 0.
//===----------------------------------------------------------------------===//
#include "runtime/formats/DummyWeights.h"
#include "runtime/formats/SeedGroup.h"

#include <algorithm>
#include <bit>
#include <cassert>

using namespace ingot;

namespace {

/// Generates the values of a row. It keeps the last word of each plane, so ascending k are fastest.
class SeedRow {
public:
  SeedRow(uint64_t seed, uint64_t tensor, int64_t n) {
    for (int plane = 0; plane < 2; ++plane)
      planes[plane].key = seedRow(seed, tensor, static_cast<uint64_t>(n), plane);
  }

  /// Returns four bits of plane 0.
  uint32_t nibble(int64_t k) {
    return planes[0].word(k / 16) >> (8 * (k % 8) + 4 * (k / 8 % 2)) & 15;
  }
  uint32_t code(int bits, int64_t k) {
    if (bits == 8)
      return planes[0].word(k / 8) >> 8 * (k % 8) & 255;
    const uint32_t low = nibble(k);
    if (bits == 5)
      return low | (planes[1].word(k / 64) >> (32 * (k / 32 % 2) + 8 * (k % 4) + k % 32 / 4) & 1)
                       << 4;
    if (bits == 6)
      return low | (planes[1].word(k / 32) >> (32 * (k / 16 % 2) + 8 * (k % 4) + 2 * (k % 16 / 4)) &
                    3) << 4;
    return low & ((1u << bits) - 1);
  }

  float number(int64_t k) {
    uint64_t fields = planes[0].word(k / 4) >> 16 * (k % 4);
    int sum = 0;
    for (int field = 0; field < 5; ++field)
      sum += static_cast<int>(fields >> 3 * field & 7);
    return static_cast<float>(2 * sum - 35) / 512.0f;
  }

private:
  struct Plane {
    uint64_t key = 0, last = 0;
    int64_t index = -1;
    uint64_t word(int64_t i) {
      if (i != index) {
        index = i;
        last = seedWord(key, static_cast<uint64_t>(i));
      }
      return last;
    }
  };
  Plane planes[2];
};

void putNumber(std::byte *to, WeightFormat format, float value) {
  if (format == WeightFormat::F16)
    putBits(to, std::bit_cast<uint16_t>(static_cast<_Float16>(value)));
  else
    putBits(to, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16)); // exact in bf16
}

/// Fills in a row of a tile with `numbers`, except for scales.
void fillRow(SeedRow numbers, const FragmentLayout &layout, std::byte *tile, int64_t row) {
  const NumericFormat &format = numericFormat(layout.format);
  if (format.isFloat()) {
    for (int64_t k = 0; k < layout.k; ++k)
      putNumber(tile + numberPlace(layout, format, row, k), layout.format, numbers.number(k));
    return;
  }
  if (format.packing != NumericFormat::Packing::Planes) {
    for (int64_t from = 0; from < layout.k; from += kGroupK) {
      uint8_t c[kGroupK];
      for (int64_t i = 0; i < kGroupK; ++i)
        c[i] = static_cast<uint8_t>(numbers.nibble(from + i));
      putSeedGroup(layout, format, row, from % layout.blockK, std::min(kGroupK, layout.k - from), c,
                   tile + from / layout.blockK * layout.blockBytes);
    }
    return;
  }
  const uint32_t mask = format.isScaledFloat() ? kSeedFp8Mask : 0xff;
  const auto places = codesOfRun(layout, format, row);
  for (int64_t from = 0; from < layout.k; from += kRunK) {
    std::byte *run = tile + from / layout.blockK * layout.blockBytes +
                     from % layout.blockK / kRunK * layout.runBytes;
    for (int64_t k = from; k < std::min(from + kRunK, layout.k); ++k)
      putCode(places[static_cast<size_t>(k - from)], format.bits, run,
              static_cast<int>(numbers.code(format.bits, k) & mask));
  }
}

} // namespace

void ingot::fillSeedFragments(uint64_t seed, uint64_t tensor, const FragmentLayout &layout,
                              int64_t first, std::span<std::byte> out) {
  assert(static_cast<int64_t>(out.size()) % layout.tileBytes() == 0 && "tiles are whole");
  for (std::byte *tile = out.data(); tile != out.data() + out.size();
       tile += layout.tileBytes(), ++first) {
    const RowSpan rows = layout.rowsOf(first);
    if (!numericFormat(layout.format).isFloat())
      fillSeedScales(layout, first, tile); // codes may add signs to them
    for (int64_t row = 0; row < rows.count; ++row)
      fillRow(SeedRow(seed, tensor, rows.first + row), layout, tile, row);
  }
}
