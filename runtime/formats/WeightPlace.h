//===- WeightPlace.h - Where each number of a weight lies, once for each layout ===//
//
// A weight's code is a few bits somewhere in a panel or a tile, and its scales are somewhere beside them: the pictures are
// in PanelLayout.h and FragmentLayout.h, and here are the formulas. Slow readers and packers follow them, value by value;
// fast ones (compiler/pack, seeds, kernels), which move words of many codes, are held against them
// (tests/compiler/pack/WeightPlaceTest.cpp, tests/runtime/formats/SeedWeightsTest.cpp, tests/codegen).
//
//   codePlace    the code of w[row][k], of formats that have codes of so many bits
//   runInBlock   of panels: the index of a grid that names it (signInBlock: its sign); tritInBlock: its digit of base 3
//   codeOf       the code itself, however it lies; putCodeOfBlock and putRun put it there
//   scalePlaces  what scales it
//   numberPlace  w[row][k] itself, of floats
//
// Each is the start of a block (blockPlace) and a place in it (…InBlock), which is what packers take that walk blocks: there
// `row` is one of the panel or the tile, and `k` or `group` one of the block.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace ingot {

/// Writes the bits of a number to where a formula says, aligned or not.
template <typename T> void putBits(std::byte *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Bits of one code in bytes of the weight. The lower four (of 8-bit codes all, of 2 and 3 bits two) are bits `bit` and up of
/// byte `byte`. What is above them, one bit or two (upperBitsOf), is at `upperBit` of `upperByte`; -1: there is nothing.
struct CodePlace {
  int64_t byte;
  int bit;
  int64_t upperByte = -1;
  int upperBit = 0;

  constexpr CodePlace behind(int64_t start) const {
    return {start + byte, bit, upperByte < 0 ? -1 : start + upperByte, upperBit};
  }
};

/// Bytes of what scales a code, as NumericFormat.h names it; -1: the format has none.
struct ScalePlaces {
  int64_t d;       ///< as NumericFormat::scale has it; s of scaled floats, f32
  int64_t m = -1;  ///< m or dmin, f16
  int64_t s = -1;  ///< 8 bits, signed where there is no minimum
  int64_t t = -1;  ///< t or z, 8 bits
  int nibble = -1; ///< of s, which is odd, only four bits are there, from this one on; -1: all
};

/// A bit.
struct BitPlace {
  int64_t byte;
  int bit;
};

/// Of a digit of base 3: four bits of the number, from `bit` on; a fifth (byte -1: there is none); and 1, 3 or 9.
struct TritPlace {
  int64_t byte;
  int bit;
  BitPlace fifth;
  int weight;
};

/// Of a grid's index: a byte, and bits above it, each `maskBytes` behind the one before.
struct RunPlace {
  int64_t byte;
  BitPlace upper;
  int64_t maskBytes;

  constexpr BitPlace upperBit(int i) const { return {upper.byte + i * maskBytes, upper.bit}; }
};

constexpr bool hasScaledFloats(const NumericFormat &format) {
  return format.kind == NumericFormat::Kind::ScaledFloat;
}

constexpr int64_t rowsOfUnit(const PanelLayout &) { return kPanelRows; }
constexpr int64_t rowsOfUnit(const FragmentLayout &) { return kFragmentRows; }

/// The first byte of the block that holds w[row][k].
template <typename Layout>
constexpr int64_t blockPlace(const Layout &layout, int64_t row, int64_t k) {
  return (row / rowsOfUnit(layout) * layout.blocks + k / layout.blockK) * layout.blockBytes;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// Of step s (k = 4s … 4s + 3) in a plane of `bits` bits: its line's first byte, and the bit in each.
constexpr CodePlace stepInPlane(int bits, int64_t s) {
  if (bits == 4) // both halves of a byte, so that one mask parts them
    return {kPanelLine * (s % 4), s < 4 ? 0 : 4};
  const int64_t inLine = 8 / bits; // steps
  return {kPanelLine * (s / inLine), static_cast<int>(s % inLine * bits)};
}

/// Of a group of 32 rows x 32 k of a panel.
constexpr CodePlace codeInGroup(int bits, int64_t row, int64_t k) {
  CodePlace place = stepInPlane(lowBitsOf(bits), k / 4);
  if (const int upperBits = upperBitsOf(bits)) {
    const CodePlace upper = stepInPlane(upperBits, k / 4);
    place.byte += kPanelLine * upperBits;
    place.upperByte = upper.byte, place.upperBit = upper.bit;
  }
  return place.behind(row * 4 + k % 4);
}

/// Where the codes of group g of a block begin.
constexpr int64_t groupInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t g) {
  if (format.packing == NumericFormat::Packing::Trits)
    g = g / kTritGroups * kTritGroups;
  return layout.codeOffset + g * layout.groupCodeBytes;
}

constexpr CodePlace codeInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                                int64_t k) {
  if (hasScaledFloats(format))
    return {layout.codeOffset + k * kPanelRows + row, 0};
  return codeInGroup(format.bits, row, k % kGroupK)
      .behind(groupInBlock(layout, format, k / kGroupK));
}

/// Of step s of group g, in the lines that it shares.
constexpr TritPlace tritStep(int64_t g, int64_t s) {
  const int64_t shared = g % kTritGroups;
  const int number = static_cast<int>(s / 3), weight = s % 3 == 0 ? 1 : s % 3 == 1 ? 3 : 9;
  if (number == 2)
    return {kPanelLine * tritLineOfLast(shared), static_cast<int>(shared % 2 * 4), {-1, 0}, weight};
  return {kPanelLine * tritLineOfPair(shared),
          4 * number,
          {0, static_cast<int>(2 * shared + number)},
          weight};
}

constexpr TritPlace tritInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                                int64_t k) {
  const int64_t g = k / kGroupK;
  TritPlace place = tritStep(g, k % kGroupK / 4);
  const int64_t first = groupInBlock(layout, format, g) + row * 4 + k % 4;
  place.byte += first;
  if (place.fifth.byte >= 0)
    place.fifth.byte += first;
  return place;
}

/// Of one bit in a group of 32 rows x 32 k: where a value has it alone.
constexpr BitPlace bitInGroup(int64_t row, int64_t k) {
  const CodePlace place = stepInPlane(1, k / 4);
  return {place.byte + row * 4 + k % 4, place.bit};
}

/// Mask `index` of a grid's line of group g.
constexpr int64_t maskInBlock(const PanelLayout &layout, const Grid &grid, int64_t index, int64_t g,
                              int64_t line) {
  const int64_t groups = layout.blockK / kGroupK, lines = indexLines(grid);
  return layout.maskOffset + ((index * groups + g) * lines + line) * kMaskBytes;
}

constexpr RunPlace runInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                              int64_t k) {
  const Grid &grid = *format.grid;
  const int64_t g = k / kGroupK, run = k % kGroupK / grid.run, line = run / kRunsOfLine,
                i = run % kRunsOfLine;
  return {groupInBlock(layout, format, g) + kPanelLine * line + row * 4 + i,
          {maskInBlock(layout, grid, 0, g, line) + row / 2, static_cast<int>(row % 2 * 4 + i)},
          maskInBlock(layout, grid, 1, g, line) - maskInBlock(layout, grid, 0, g, line)};
}

/// The sign of w[row][k], or of its run or group.
constexpr BitPlace signInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                               int64_t k) {
  const Grid &grid = *format.grid;
  const int64_t g = k / kGroupK;
  switch (grid.signs) {
  case GridSigns::Value: {
    const BitPlace bit = bitInGroup(row, k % kGroupK);
    return {groupInBlock(layout, format, g) + kPanelLine * indexLines(grid) + bit.byte, bit.bit};
  }
  case GridSigns::Run:
    return runInBlock(layout, format, row, k).upperBit(grid.upperBits());
  case GridSigns::Group:
    return {layout.subScaleOffset + g / 2 * kPanelRows + row, static_cast<int>(g % 2 * 4 + 3)};
  }
  return {};
}

constexpr CodePlace codeInBlock(const FragmentLayout &layout, const NumericFormat &format,
                                int64_t row, int64_t k) {
  const FragmentPlace value = fragmentPlace(row, k % kStepK);
  const int64_t run = k / kRunK * layout.runBytes;
  const int64_t step = k % kRunK / kStepK, pair = value.value / 2, odd = value.value % 2;
  // Words are little-endian: bit 16 of one is bit 0 of its third byte.
  const auto inWord = [odd](int64_t word, int64_t bit) {
    bit += 16 * odd;
    return CodePlace{word + bit / 8, static_cast<int>(bit % 8)};
  };
  if (format.bits == 8) {
    const bool ofRows = hasScaledFloats(format); // a word holds values of one row alone
    return inWord(run + step / 2 * 512 + value.lane * 16 +
                      (2 * (step % 2) + (ofRows ? pair % 2 : pair / 2)) * 4,
                  8 * (ofRows ? pair / 2 : pair % 2));
  }
  // Of a plane of 4, 2 or 1 bits, which begins at `from`: four, two or one words a lane.
  const auto inPlane = [&](int bits, int64_t from) {
    const int64_t steps = bits < 4 ? 4 / bits : 1; // of a word
    return inWord(from + value.lane * 4 * bits + step / steps * 4,
                  step % steps * 4 * bits + bits * pair);
  };
  CodePlace place = inPlane(lowBitsOf(format.bits), run);
  if (upperBitsOf(format.bits)) {
    const CodePlace upper =
        inPlane(upperBitsOf(format.bits), run + kRunK * 2 * lowBitsOf(format.bits));
    place.upperByte = upper.byte, place.upperBit = upper.bit;
  }
  return place;
}

template <typename Layout>
constexpr CodePlace codePlace(const Layout &layout, const NumericFormat &format, int64_t row,
                              int64_t k) {
  return codeInBlock(layout, format, row % rowsOfUnit(layout), k % layout.blockK)
      .behind(blockPlace(layout, row, k));
}

/// Of a row of a tile, for each k of a run: packers look them up, since computing them takes longer than packing does.
constexpr std::array<CodePlace, kRunK> codesOfRun(const FragmentLayout &layout,
                                                  const NumericFormat &format, int64_t row) {
  std::array<CodePlace, kRunK> places{};
  for (int64_t k = 0; k < kRunK; ++k)
    places[static_cast<size_t>(k)] = codeInBlock(layout, format, row, k);
  return places;
}

/// The code that lies there.
constexpr int codeAt(const CodePlace &place, int bits, const auto *bytes) {
  const int low = lowBitsOf(bits);
  int code = static_cast<uint8_t>(bytes[place.byte]) >> place.bit & ((1 << low) - 1);
  if (place.upperByte >= 0)
    code |= (static_cast<uint8_t>(bytes[place.upperByte]) >> place.upperBit &
             ((1 << upperBitsOf(bits)) - 1))
            << low;
  return code;
}

/// Puts a code where zeros are.
template <typename Byte>
constexpr void putCode(const CodePlace &place, int bits, Byte *bytes, int code) {
  const auto put = [bytes](int64_t at, int value) {
    bytes[at] = static_cast<Byte>(static_cast<uint8_t>(bytes[at]) | value);
  };
  const int low = lowBitsOf(bits);
  put(place.byte, (code & ((1 << low) - 1)) << place.bit);
  if (place.upperByte >= 0)
    put(place.upperByte, code >> low << place.upperBit);
}

constexpr bool bitAt(const BitPlace &place, const auto *bytes) {
  return static_cast<uint8_t>(bytes[place.byte]) >> place.bit & 1;
}

/// The number that a digit of base 3 is of.
constexpr int tritNumber(const TritPlace &place, const auto *bytes) {
  const int number = static_cast<uint8_t>(bytes[place.byte]) >> place.bit & 15;
  return place.fifth.byte < 0 ? number : number | bitAt(place.fifth, bytes) << 4;
}

/// Code k of a row of a block, however it lies.
constexpr int codeOfBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                          int64_t k, const auto *block) {
  switch (format.packing) {
  case NumericFormat::Packing::Planes:
    break;
  case NumericFormat::Packing::Bit1: {
    BitPlace place = bitInGroup(row, k % kGroupK);
    place.byte += groupInBlock(layout, format, k / kGroupK);
    return bitAt(place, block) << 1;
  }
  case NumericFormat::Packing::Trits: {
    const TritPlace place = tritInBlock(layout, format, row, k);
    return tritNumber(place, block) / place.weight % 3;
  }
  case NumericFormat::Packing::Grid: {
    const RunPlace place = runInBlock(layout, format, row, k);
    int index = static_cast<uint8_t>(block[place.byte]);
    for (int i = 0; i < format.grid->upperBits(); ++i)
      index |= bitAt(place.upperBit(i), block) << (8 + i);
    return format.grid->magnitude(index, static_cast<int>(k % format.grid->run)) |
           bitAt(signInBlock(layout, format, row, k), block) << 3;
  }
  }
  return codeAt(codeInBlock(layout, format, row, k), format.bits, block);
}
constexpr int codeOfBlock(const FragmentLayout &layout, const NumericFormat &format, int64_t row,
                          int64_t k, const auto *block) {
  return codeAt(codeInBlock(layout, format, row, k), format.bits, block);
}

template <typename Layout>
constexpr int codeOf(const Layout &layout, const NumericFormat &format, int64_t row, int64_t k,
                     const auto *bytes) {
  return codeOfBlock(layout, format, row % rowsOfUnit(layout), k % layout.blockK,
                     bytes + blockPlace(layout, row, k));
}

/// Puts bits where zeros are.
template <typename Byte> constexpr void putBit(const BitPlace &place, Byte *bytes, int bit) {
  bytes[place.byte] =
      static_cast<Byte>(static_cast<uint8_t>(bytes[place.byte]) | (bit & 1) << place.bit);
}

/// Puts code k of a row of a block where zeros are, however it lies; of a grid whole runs are put (putRun).
template <typename Byte>
constexpr void putCodeOfBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                              int64_t k, int code, Byte *block) {
  if (format.packing == NumericFormat::Packing::Bit1) {
    BitPlace place = bitInGroup(row, k % kGroupK);
    place.byte += groupInBlock(layout, format, k / kGroupK);
    putBit(place, block, code >> 1);
  } else if (format.packing == NumericFormat::Packing::Trits) {
    const TritPlace place = tritInBlock(layout, format, row, k);
    // What is added to the number flips bits of it.
    const int before = tritNumber(place, block), flips = before ^ (before + code * place.weight);
    block[place.byte] =
        static_cast<Byte>(static_cast<uint8_t>(block[place.byte]) ^ (flips & 15) << place.bit);
    if (flips >> 4)
      block[place.fifth.byte] =
          static_cast<Byte>(static_cast<uint8_t>(block[place.fifth.byte]) ^ 1 << place.fifth.bit);
  } else {
    putCode(codeInBlock(layout, format, row, k), format.bits, block, code);
  }
}

/// Puts an index of a grid and the signs of its run's codes (of the first alone, where they have one) where zeros are.
template <typename Byte>
constexpr void putRun(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                      int64_t k, int index, const uint8_t *q, Byte *block) {
  const Grid &grid = *format.grid;
  const RunPlace place = runInBlock(layout, format, row, k);
  block[place.byte] = static_cast<Byte>(index & 255);
  for (int i = 0; i < grid.upperBits(); ++i)
    putBit(place.upperBit(i), block, index >> (8 + i));
  for (int i = 0; i < (grid.signs == GridSigns::Value ? grid.run : 1); ++i)
    putBit(signInBlock(layout, format, row, k + i), block, q[i] >> 3);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Of a row and group in an array of scales for `groups` groups of `groupK` values of K.
constexpr int64_t scaleIndex(const PanelLayout &, int64_t row, int64_t group, int64_t, int64_t) {
  return group * kPanelRows + row;
}
constexpr int64_t scaleIndex(const FragmentLayout &, int64_t row, int64_t group, int64_t groups,
                             int64_t groupK) {
  return scalePlace(row, group, groups, groupK);
}

template <typename Layout>
constexpr ScalePlaces scalesInBlock(const Layout &layout, const NumericFormat &format, int64_t row,
                                    int64_t group) {
  const bool super = format.superGroup != 0;
  const int64_t index = scaleIndex(layout, row, group, layout.blockK / format.group, format.group),
                ofBlock = super ? scaleIndex(layout, row, 0, 1, format.superGroup) : index;
  ScalePlaces places{layout.scaleOffset +
                     (format.scale == NumericFormat::Scale::F32 ? 4 : 2) * ofBlock};
  if (layout.minOffset >= 0)
    places.m = layout.minOffset + 2 * ofBlock;
  if (super)
    places.s = layout.subScaleOffset + index;
  if (std::is_same_v<Layout, PanelLayout> && format.grid) {
    places.s = layout.subScaleOffset + group / 2 * kPanelRows + row;
    places.nibble = static_cast<int>(group % 2 * 4);
  }
  if (layout.subMinOffset >= 0)
    places.t = layout.subMinOffset + index;
  return places;
}

template <typename Layout>
constexpr ScalePlaces scalePlaces(const Layout &layout, const NumericFormat &format, int64_t row,
                                  int64_t k) {
  ScalePlaces places =
      scalesInBlock(layout, format, row % rowsOfUnit(layout), k % layout.blockK / format.group);
  for (int64_t *place : {&places.d, &places.m, &places.s, &places.t})
    if (*place >= 0)
      *place += blockPlace(layout, row, k);
  return places;
}

/// Bits of a nibble that are a sub-scale's.
constexpr int nibbleMask(const NumericFormat &format) {
  return format.grid->signs == GridSigns::Group ? 7 : 15;
}

/// The byte of a sub-scale, or what its nibble stands for.
constexpr uint8_t subScaleAt(const ScalePlaces &places, const NumericFormat &format,
                             const auto *bytes) {
  const auto byte = static_cast<uint8_t>(bytes[places.s]);
  if (places.nibble < 0)
    return byte;
  return static_cast<uint8_t>(2 * (byte >> places.nibble & nibbleMask(format)) + 1);
}

/// Puts it where zeros are.
template <typename Byte>
constexpr void putSubScale(const ScalePlaces &places, Byte *bytes, uint8_t s) {
  const int bits = places.nibble < 0 ? s : (s >> 1) << places.nibble;
  bytes[places.s] = static_cast<Byte>(static_cast<uint8_t>(bytes[places.s]) | bits);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

constexpr int64_t numberInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                                int64_t k) {
  return (row * layout.blockK + k) * format.bits / 8;
}
constexpr int64_t numberInBlock(const FragmentLayout &, const NumericFormat &, int64_t row,
                                int64_t k) {
  const FragmentPlace place = fragmentPlace(row, k);
  return place.lane * 16 + place.value * 2; // f32 is stored as bf16
}

template <typename Layout>
constexpr int64_t numberPlace(const Layout &layout, const NumericFormat &format, int64_t row,
                              int64_t k) {
  return blockPlace(layout, row, k) +
         numberInBlock(layout, format, row % rowsOfUnit(layout), k % layout.blockK);
}

} // namespace ingot
