//===- SeedFragments.cpp - Made-up numbers in the layout of GPUs ------------===//
//
// The same numbers as in panels (SeedWeights.h), placed as FragmentLayout.h says. Padding
// is zero: rows beyond N have scales of 0, and activations beyond K are 0.
//===----------------------------------------------------------------------===//
#include "runtime/formats/FragmentLayout.h"
#include "runtime/formats/SeedWeights.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace ingot;

namespace {

template <typename T> void put(std::byte *to, T value) { std::memcpy(to, &value, sizeof value); }

void orWord(std::byte *to, uint32_t bits) {
  uint32_t word;
  std::memcpy(&word, to, sizeof word);
  put(to, word | bits);
}

/// A row's numbers, asked for in rising order of k.
class SeedRow {
public:
  SeedRow(uint64_t seed, uint64_t tensor, int64_t n) {
    for (int plane = 0; plane < 2; ++plane)
      planes[plane].key = seedRow(seed, tensor, static_cast<uint64_t>(n), plane);
  }

  uint32_t code(int bits, int64_t k) {
    if (bits == 8)
      return planes[0].word(k / 8) >> 8 * (k % 8) & 255;
    uint32_t low = planes[0].word(k / 16) >> (8 * (k % 8) + 4 * (k / 8 % 2)) & 15;
    if (bits == 5)
      return low | (planes[1].word(k / 64) >> (32 * (k / 32 % 2) + 8 * (k % 4) + k % 32 / 4) & 1)
                       << 4;
    if (bits == 6)
      return low | (planes[1].word(k / 32) >> (32 * (k / 16 % 2) + 8 * (k % 4) + 2 * (k % 16 / 4)) &
                    3) << 4;
    return low;
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

class SeedTile {
public:
  SeedTile(uint64_t seed, uint64_t tensor, const FragmentLayout &layout, int64_t index,
           std::byte *tile)
      : seed(seed), tensor(tensor), layout(layout), format(numericFormat(layout.format)),
        tile(tile), firstRow(index * kFragmentRows) {}

  void fill() {
    int64_t rows = std::min(kFragmentRows, layout.n - firstRow);
    for (int64_t row = 0; row < rows; ++row) {
      SeedRow numbers(seed, tensor, firstRow + row);
      if (format.isFloat())
        floats(row, numbers);
      else {
        codes(row, numbers);
        scales(row);
      }
    }
  }

private:
  void floats(int64_t row, SeedRow &numbers) {
    for (int64_t k = 0; k < layout.k; ++k) {
      FragmentPlace place = fragmentPlace(row, k % kStepK);
      std::byte *to = tile + k / kStepK * layout.blockBytes + place.lane * 16 + place.value * 2;
      float value = numbers.number(k);
      if (layout.format == WeightFormat::F16)
        put(to, std::bit_cast<uint16_t>(static_cast<_Float16>(value)));
      else
        put(to, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16)); // exact in bf16
    }
  }

  void codes(int64_t row, SeedRow &numbers) {
    for (int64_t k = 0; k < layout.k; ++k)
      place(row, k, numbers.code(format.bits, k) & (format.isScaledFloat() ? kSeedFp8Mask : 0xff));
  }

  void place(int64_t row, int64_t k, uint32_t q) {
    FragmentPlace at = fragmentPlace(row, k % kStepK);
    std::byte *run =
        tile + k / layout.blockK * layout.blockBytes + k % layout.blockK / kRunK * layout.runBytes;
    int64_t step = k % kRunK / kStepK, j = at.value / 2, half = 16 * (at.value % 2);
    if (format.isScaledFloat())
      return orWord(run + step / 2 * 512 + at.lane * 16 + (2 * (step % 2) + j % 2) * 4,
                    q << (8 * (j / 2) + half));
    if (format.bits == 8)
      return orWord(run + step / 2 * 512 + at.lane * 16 + (2 * (step % 2) + j / 2) * 4,
                    q << (8 * (j % 2) + half));
    orWord(run + at.lane * 16 + step * 4, (q & 15) << (4 * j + half));
    if (format.bits == 5)
      orWord(run + 512 + at.lane * 4, (q >> 4) << (4 * step + j + half));
    else if (format.bits == 6)
      orWord(run + 512 + at.lane * 8 + step / 2 * 4, (q >> 4) << (8 * (step % 2) + 2 * j + half));
  }

  /// Of the format's blocks, of which a block of the layout may hold several.
  void scales(int64_t row) {
    const SeedScales made = seedScales(layout.format);
    int64_t blocks = (layout.k + format.block() - 1) / format.block();
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t k = block * format.block();
      std::byte *at = tile + k / layout.blockK * layout.blockBytes;
      if (format.isScaledFloat()) {
        put(at + layout.scaleOffset + 4 * scalePlace(row, 0, 1, format.group), kSeedFp8Scale);
        continue;
      }
      int64_t scales = layout.blockK / format.block();
      int64_t slot = 2 * scalePlace(row, block % scales, scales, format.block());
      bool odd = format.zeroPoint != 0 && (firstRow + row + block) % 2 != 0;
      put(at + layout.scaleOffset + slot, static_cast<uint16_t>(made.d ^ (odd ? 0x8000 : 0)));
      if (format.hasMin)
        put(at + layout.minOffset + slot, made.m);
      for (int64_t i = 0; format.superGroup && i < format.superGroup / format.group; ++i) {
        int64_t place = scalePlace(row, i, format.superGroup / format.group, format.group);
        at[layout.subScaleOffset + place] = static_cast<std::byte>(made.s);
        if (format.hasMin)
          at[layout.subMinOffset + place] = static_cast<std::byte>(made.t);
      }
    }
  }

  uint64_t seed, tensor;
  const FragmentLayout &layout;
  const NumericFormat &format;
  std::byte *tile;
  int64_t firstRow;
};

} // namespace

void ingot::fillSeedFragments(uint64_t seed, uint64_t tensor, const FragmentLayout &layout,
                              int64_t first, std::span<std::byte> out) {
  int64_t tiles = static_cast<int64_t>(out.size()) / layout.tileBytes();
  for (int64_t t = 0; t < tiles; ++t)
    SeedTile(seed, tensor, layout, first + t, out.data() + t * layout.tileBytes()).fill();
}
