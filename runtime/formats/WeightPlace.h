//===- WeightPlace.h - Place of each number of a weight, for each layout -------===//
//
// A weight's code is a few bits in a panel or a tile, and its scales lie elsewhere in the same block.
// PanelLayout.h and FragmentLayout.h have the pictures; this file has the formulas. Slow readers and packers
// use them value by value. Fast ones (compiler/pack, seeds, kernels), which move words of many codes, are
// checked against them (tests/compiler/pack/WeightPlaceTest.cpp, tests/runtime/formats/DummyWeightsTest.cpp,
// tests/codegen).
//
//   codePlace    the code of w[row][k], for formats that store codes in bit planes
//   runInBlock   the index of its grid entry (signInBlock: its sign)
//   tritInBlock  panels: its digit in base 3; bitInBlock: its only bit
//   codeOf       the code itself, in any packing; putCodeOfBlock and putRun write it
//   scalePlaces  its scales
//   numberPlace  w[row][k] itself, for floats
//
// Each place is the start of a block (blockPlace) plus a place in it (…InBlock). Packers that walk blocks use
// the latter, where `row` is relative to the panel or tile, and `k` or `group` to the block.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace ingot {

/// Writes the bits of a number to `to`, aligned or not.
template <typename T> void putBits(std::byte *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// The place of the bits of one code. The lower four bits (of 8-bit codes all eight, of 2- and 3-bit codes two)
/// begin at bit `bit` of byte `byte`. The one or two bits above them (upperBitsOf) begin at bit `upperBit` of byte
/// `upperByte`; it is -1 if there are none.
struct CodePlace {
  int64_t byte;
  int bit;
  int64_t upperByte = -1;
  int upperBit = 0;

  constexpr CodePlace behind(int64_t start) const {
    return {start + byte, bit, upperByte < 0 ? -1 : start + upperByte, upperBit};
  }
};

/// Byte offsets of a code's scales, named as in NumericFormat.h; -1: the format has none.
struct ScalePlaces {
  int64_t d;       ///< of type NumericFormat::scale; s of scaled floats, f32
  int64_t m = -1;  ///< m or dmin, f16
  int64_t s = -1;  ///< 8 bits, signed where there is no minimum
  int64_t t = -1;  ///< t or z, 8 bits
  int nibble = -1; ///< s is odd and stored as four bits starting at this bit; -1: all 8 bits
};

/// The place of a bit.
struct BitPlace {
  int64_t byte;
  int bit;
};

/// The place of a digit in base 3. The lower four bits of its number start at bit `bit` of byte `byte`; `fifth` is
/// the number's fifth bit (byte -1: there is none). `weight` is the digit's weight in the number: 1, 3 or 9.
struct TritPlace {
  int64_t byte;
  int bit;
  BitPlace fifth;
  int weight;
};

/// The place of a grid's index: its lower byte, the bits above, and after them the sign of its run.
struct RunPlace {
  int64_t byte;
  std::array<BitPlace, 4> upper;
};

constexpr bool hasScaledFloats(const NumericFormat &format) {
  return format.kind == NumericFormat::Kind::ScaledFloat;
}

constexpr int64_t rowsOfUnit(const PanelLayout &) { return kPanelRows; }
constexpr int64_t rowsOfUnit(const FragmentLayout &) { return kFragmentRows; }

/// Returns the offset of the block that holds w[row][k].
template <typename Layout>
constexpr int64_t blockPlace(const Layout &layout, int64_t row, int64_t k) {
  return (row / rowsOfUnit(layout) * layout.blocks + k / layout.blockK) * layout.blockBytes;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// Returns, for step s (k = 4s … 4s + 3) in a plane of `bits` bits, its line's first byte and the bit in each byte.
constexpr CodePlace stepInPlane(int bits, int64_t s) {
  if (bits == 4) // the two halves of a byte, which one mask separates
    return {kPanelLine * (s % 4), s < 4 ? 0 : 4};
  const int64_t inLine = 8 / bits; // steps per line
  return {kPanelLine * (s / inLine), static_cast<int>(s % inLine * bits)};
}

/// Returns the place of code (row, k) in a group of 32 rows x 32 k of a panel.
constexpr CodePlace codeInGroup(int bits, int64_t row, int64_t k) {
  CodePlace place = stepInPlane(lowBitsOf(bits), k / 4);
  if (const int upperBits = upperBitsOf(bits)) {
    const CodePlace upper = stepInPlane(upperBits, k / 4);
    place.byte += kPanelLine * upperBits;
    place.upperByte = upper.byte, place.upperBit = upper.bit;
  }
  return place.behind(row * 4 + k % 4);
}

/// Returns where the codes of group g of a block begin.
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

/// Returns the place of the digits of step s of group g, in the lines that the group shares.
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

/// Returns the place of a value's bit in a group of 32 rows x 32 k that holds one bit per value.
constexpr BitPlace bitInGroup(int64_t row, int64_t k) {
  const CodePlace place = stepInPlane(1, k / 4);
  return {place.byte + row * 4 + k % 4, place.bit};
}

/// Returns the offset of mask `index` of a grid's line of group g.
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
  RunPlace place{groupInBlock(layout, format, g) + kPanelLine * line + row * 4 + i, {}};
  for (int64_t mask = 0; mask < masksOfLine(grid); ++mask)
    place.upper[static_cast<size_t>(mask)] = {maskInBlock(layout, grid, mask, g, line) + row / 2,
                                              static_cast<int>(row % 2 * 4 + i)};
  return place;
}

/// Returns the place of the sign of w[row][k], if each value has one.
constexpr BitPlace valueSignInBlock(const PanelLayout &layout, const NumericFormat &format,
                                    int64_t row, int64_t k) {
  const BitPlace bit = bitInGroup(row, k % kGroupK);
  return {groupInBlock(layout, format, k / kGroupK) + kPanelLine * indexLines(*format.grid) +
              bit.byte,
          bit.bit};
}

/// Returns the place of a code's only bit (Packing::Bit1).
constexpr BitPlace bitInBlock(const PanelLayout &layout, const NumericFormat &format, int64_t row,
                              int64_t k) {
  const BitPlace bit = bitInGroup(row, k % kGroupK);
  return {groupInBlock(layout, format, k / kGroupK) + bit.byte, bit.bit};
}

/// Returns the place of w[row][k] in a plane of 4, 2 or 1 bits that begins at `from`: four, two or one words
/// per lane.
constexpr CodePlace codeInPlane(int bits, int64_t from, int64_t row, int64_t k) {
  const FragmentPlace value = fragmentPlace(row, k % kStepK);
  const int64_t step = k % kRunK / kStepK, steps = bits < 4 ? 4 / bits : 1; // steps per word
  // Words are little-endian: bit 16 of one is bit 0 of its third byte.
  const int64_t bit = step % steps * 4 * bits + bits * (value.value / 2) + 16 * (value.value % 2);
  return {from + value.lane * 4 * bits + step / steps * 4 + bit / 8, static_cast<int>(bit % 8)};
}

constexpr RunPlace runInBlock(const FragmentLayout &layout, const NumericFormat &format,
                              int64_t row, int64_t k) {
  const Grid &grid = *format.grid;
  const int64_t lane = row % 8 * 4 + k % kStepK / 8 * 2 + row / 8, indexes = indexesOfLane(grid),
                i = (k % kRunK / kStepK * 8 + k % 8) / grid.run, run = k / kRunK;
  RunPlace place{run * layout.runBytes + lane * indexes + i, {}};
  for (int64_t b = 0; b < planeBits(grid); ++b) {
    const int64_t before = b / 2 * 2, wide = std::min<int64_t>(2, planeBits(grid) - before),
                  bit = ((4 * lane + run) * indexes + i) * wide + b % 2;
    place.upper[static_cast<size_t>(b)] = {layout.planeOffset + planeBytes(grid, before) + bit / 8,
                                           static_cast<int>(bit % 8)};
  }
  return place;
}

constexpr BitPlace valueSignInBlock(const FragmentLayout &layout, const NumericFormat &format,
                                    int64_t row, int64_t k) {
  const auto [lane, value] = fragmentPlace(row, k % kStepK);
  return {k / kRunK * layout.runBytes + kLanes * indexesOfLane(*format.grid) + lane * 4 + value % 4,
          static_cast<int>(k % kRunK / kStepK * 2 + value / 4)};
}

constexpr BitPlace bitInBlock(const FragmentLayout &layout, const NumericFormat &, int64_t row,
                              int64_t k) {
  const CodePlace place = codeInPlane(1, k / kRunK * layout.runBytes, row, k);
  return {place.byte, place.bit};
}

constexpr CodePlace codeInBlock(const FragmentLayout &layout, const NumericFormat &format,
                                int64_t row, int64_t k) {
  const int64_t run = k / kRunK * layout.runBytes;
  if (format.bits == 8) {
    const FragmentPlace value = fragmentPlace(row, k % kStepK);
    const int64_t step = k % kRunK / kStepK, pair = value.value / 2, odd = value.value % 2;
    const bool ofRows = hasScaledFloats(format); // a word holds values of one row only
    return {run + step / 2 * 512 + value.lane * 16 +
                (2 * (step % 2) + (ofRows ? pair % 2 : pair / 2)) * 4 +
                (ofRows ? pair / 2 : pair % 2) + 2 * odd,
            0};
  }
  CodePlace place = codeInPlane(lowBitsOf(format.bits), run, row, k);
  if (const int upperBits = upperBitsOf(format.bits)) {
    const CodePlace upper =
        codeInPlane(upperBits, run + 4 * kLanes * lowBitsOf(format.bits), row, k);
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

/// Returns the places of a tile row's codes for each k of a run. Packers look them up, because computing a
/// place takes longer than packing the code.
constexpr std::array<CodePlace, kRunK> codesOfRun(const FragmentLayout &layout,
                                                  const NumericFormat &format, int64_t row) {
  std::array<CodePlace, kRunK> places{};
  for (int64_t k = 0; k < kRunK; ++k)
    places[static_cast<size_t>(k)] = codeInBlock(layout, format, row, k);
  return places;
}

/// Returns the code at `place`.
constexpr int codeAt(const CodePlace &place, int bits, const auto *bytes) {
  const int low = lowBitsOf(bits);
  int code = static_cast<uint8_t>(bytes[place.byte]) >> place.bit & ((1 << low) - 1);
  if (place.upperByte >= 0)
    code |= (static_cast<uint8_t>(bytes[place.upperByte]) >> place.upperBit &
             ((1 << upperBitsOf(bits)) - 1))
            << low;
  return code;
}

/// Writes a code over zeros.
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

/// Returns the number that contains the digit in base 3.
constexpr int tritNumber(const TritPlace &place, const auto *bytes) {
  const int number = static_cast<uint8_t>(bytes[place.byte]) >> place.bit & 15;
  return place.fifth.byte < 0 ? number : number | bitAt(place.fifth, bytes) << 4;
}

/// Returns the place of the sign of w[row][k], or of its run or group.
template <typename Layout>
constexpr BitPlace signInBlock(const Layout &layout, const NumericFormat &format, int64_t row,
                               int64_t k);

/// Returns how a layout holds codes. Tiles hold base-3 codes in planes.
constexpr NumericFormat::Packing packingIn(const PanelLayout &, const NumericFormat &format) {
  return format.packing;
}
constexpr NumericFormat::Packing packingIn(const FragmentLayout &, const NumericFormat &format) {
  return format.packing == NumericFormat::Packing::Trits ? NumericFormat::Packing::Planes
                                                         : format.packing;
}

/// Returns code k of a row of a block, in any packing.
template <typename Layout>
constexpr int codeOfBlock(const Layout &layout, const NumericFormat &format, int64_t row, int64_t k,
                          const auto *block) {
  switch (packingIn(layout, format)) {
  case NumericFormat::Packing::Planes:
    break;
  case NumericFormat::Packing::Bit1:
    return bitAt(bitInBlock(layout, format, row, k), block) << 1;
  case NumericFormat::Packing::Trits:
    if constexpr (std::is_same_v<Layout, PanelLayout>) {
      const TritPlace place = tritInBlock(layout, format, row, k);
      return tritNumber(place, block) / place.weight % 3;
    }
    break;
  case NumericFormat::Packing::Grid: {
    const RunPlace place = runInBlock(layout, format, row, k);
    int index = static_cast<uint8_t>(block[place.byte]);
    for (int i = 0; i < format.grid->upperBits(); ++i)
      index |= bitAt(place.upper[static_cast<size_t>(i)], block) << (8 + i);
    return format.grid->magnitude(index, static_cast<int>(k % format.grid->run)) |
           bitAt(signInBlock(layout, format, row, k), block) << 3;
  }
  }
  return codeAt(codeInBlock(layout, format, row, k), format.bits, block);
}

template <typename Layout>
constexpr int codeOf(const Layout &layout, const NumericFormat &format, int64_t row, int64_t k,
                     const auto *bytes) {
  return codeOfBlock(layout, format, row % rowsOfUnit(layout), k % layout.blockK,
                     bytes + blockPlace(layout, row, k));
}

/// Writes a bit over a zero.
template <typename Byte> constexpr void putBit(const BitPlace &place, Byte *bytes, int bit) {
  bytes[place.byte] =
      static_cast<Byte>(static_cast<uint8_t>(bytes[place.byte]) | (bit & 1) << place.bit);
}

/// Writes code k of a row of a block over zeros, in any packing but a grid, where whole runs are written (putRun).
template <typename Layout, typename Byte>
constexpr void putCodeOfBlock(const Layout &layout, const NumericFormat &format, int64_t row,
                              int64_t k, int code, Byte *block) {
  const NumericFormat::Packing packing = packingIn(layout, format);
  if (packing == NumericFormat::Packing::Bit1)
    return putBit(bitInBlock(layout, format, row, k), block, code >> 1);
  if constexpr (std::is_same_v<Layout, PanelLayout>)
    if (packing == NumericFormat::Packing::Trits) {
      const TritPlace place = tritInBlock(layout, format, row, k);
      // Adding the digit to the number flips these bits.
      const int before = tritNumber(place, block), flips = before ^ (before + code * place.weight);
      block[place.byte] =
          static_cast<Byte>(static_cast<uint8_t>(block[place.byte]) ^ (flips & 15) << place.bit);
      if (flips >> 4)
        block[place.fifth.byte] =
            static_cast<Byte>(static_cast<uint8_t>(block[place.fifth.byte]) ^ 1 << place.fifth.bit);
      return;
    }
  putCode(codeInBlock(layout, format, row, k), format.bits, block, code);
}

/// Writes an index of a grid and the signs of its run's codes over zeros. If the run or the group has only one
/// sign, it is the sign of the first code.
template <typename Layout, typename Byte>
constexpr void putRun(const Layout &layout, const NumericFormat &format, int64_t row, int64_t k,
                      int index, const uint8_t *q, Byte *block) {
  const Grid &grid = *format.grid;
  const RunPlace place = runInBlock(layout, format, row, k);
  block[place.byte] = static_cast<Byte>(index & 255);
  for (int i = 0; i < grid.upperBits(); ++i)
    putBit(place.upper[static_cast<size_t>(i)], block, index >> (8 + i));
  for (int i = 0; i < (grid.signs == GridSigns::Value ? grid.run : 1); ++i)
    putBit(signInBlock(layout, format, row, k + i), block, q[i] >> 3);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Returns the index of a row and group in an array of scales for `groups` groups of `groupK` values of K.
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
  if (format.grid) {
    const bool ofPanel = std::is_same_v<Layout, PanelLayout>;
    places.s = layout.subScaleOffset + (ofPanel ? group / 2 * kPanelRows + row : index / 2);
    places.nibble = static_cast<int>((ofPanel ? group : index) % 2 * 4);
  }
  if (layout.subMinOffset >= 0)
    places.t = layout.subMinOffset + index;
  return places;
}

template <typename Layout>
constexpr BitPlace signInBlock(const Layout &layout, const NumericFormat &format, int64_t row,
                               int64_t k) {
  switch (format.grid->signs) {
  case GridSigns::Value:
    return valueSignInBlock(layout, format, row, k);
  case GridSigns::Run:
    return runInBlock(layout, format, row, k).upper[static_cast<size_t>(format.grid->upperBits())];
  case GridSigns::Group: { // the upper bit of the sub-scale
    const ScalePlaces scale = scalesInBlock(layout, format, row, k / format.group);
    return {scale.s, scale.nibble + 3};
  }
  }
  return {};
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

/// Returns the mask of the bits of a nibble that belong to the sub-scale.
constexpr int nibbleMask(const NumericFormat &format) {
  return format.grid->signs == GridSigns::Group ? 7 : 15;
}

/// Returns a sub-scale, decoded if it is a nibble.
constexpr uint8_t subScaleAt(const ScalePlaces &places, const NumericFormat &format,
                             const auto *bytes) {
  const auto byte = static_cast<uint8_t>(bytes[places.s]);
  if (places.nibble < 0)
    return byte;
  return static_cast<uint8_t>(2 * (byte >> places.nibble & nibbleMask(format)) + 1);
}

/// Writes a sub-scale over zeros.
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
