//===- CodePlace.h - Where a code lies, once for each layout ---------------===//
//
// A weight's code is a few bits somewhere in a panel or a tile: the pictures are in PanelLayout.h and FragmentLayout.h, and
// here is the formula. Slow readers and packers follow it, value by value; fast ones (compiler/pack, kernels), which move
// words of many codes, are held against it (tests/compiler/pack/CodePlaceTest.cpp).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"

namespace ingot {

/// Bits of one code in bytes of the weight. The lower four (of 8-bit codes all) are bits `bit` and up of byte `byte`. What
/// is above them, one bit of 5-bit codes and two of 6-bit codes, is at `upperBit` of `upperByte`; -1: there is nothing.
struct CodePlace {
  int64_t byte;
  int bit;
  int64_t upperByte = -1;
  int upperBit = 0;
};

/// The place of the code of w[row][k] in panels.
constexpr CodePlace codePlace(const PanelLayout &layout, int bits, bool scaledFloat, int64_t row,
                              int64_t k) {
  const int64_t r = row % kPanelRows, in = k % layout.blockK;
  const int64_t block =
      row / kPanelRows * layout.blocks * layout.blockBytes + k / layout.blockK * layout.blockBytes;
  if (scaledFloat)
    return {block + in * kPanelRows + r, 0};
  const int64_t half =
      block + in / kGroupK * layout.groupCodeBytes + r / 16 * (layout.groupCodeBytes / 2);
  const int64_t at = in % kGroupK, s = at / 4, inLine = r % 16 * 4 + at % 4;
  if (bits == 8)
    return {half + 64 * s + inLine, 0};
  CodePlace place{half + 64 * (s % 4) + inLine, s < 4 ? 0 : 4};
  if (bits == 5)
    place.upperByte = half + 256 + inLine, place.upperBit = static_cast<int>(s);
  if (bits == 6)
    place.upperByte = half + 256 + 64 * (s / 4) + inLine,
    place.upperBit = static_cast<int>(2 * (s % 4));
  return place;
}

/// The same in fragments.
constexpr CodePlace codePlace(const FragmentLayout &layout, int bits, bool scaledFloat, int64_t row,
                              int64_t k) {
  const FragmentPlace value = fragmentPlace(row % kFragmentRows, k % kStepK);
  const int64_t run = row / kFragmentRows * layout.blocks * layout.blockBytes +
                      k / layout.blockK * layout.blockBytes +
                      k % layout.blockK / kRunK * layout.runBytes;
  const int64_t step = k % kRunK / kStepK, pair = value.value / 2, odd = value.value % 2;
  // Words are little-endian: bit 16 of one is bit 0 of its third byte.
  const auto inWord = [odd](int64_t word, int64_t bit) {
    bit += 16 * odd;
    return CodePlace{word + bit / 8, static_cast<int>(bit % 8)};
  };
  if (bits == 8) {
    const int64_t ofWord = scaledFloat ? pair % 2 : pair / 2;
    return inWord(run + step / 2 * 512 + value.lane * 16 + (2 * (step % 2) + ofWord) * 4,
                  8 * (scaledFloat ? pair / 2 : pair % 2));
  }
  CodePlace place = inWord(run + value.lane * 16 + step * 4, 4 * pair);
  if (bits > 4) {
    const CodePlace upper =
        bits == 5 ? inWord(run + 512 + value.lane * 4, 4 * step + pair)
                  : inWord(run + 512 + value.lane * 8 + step / 2 * 4, 8 * (step % 2) + 2 * pair);
    place.upperByte = upper.byte, place.upperBit = upper.bit;
  }
  return place;
}

/// The code that lies there.
constexpr int codeAt(const CodePlace &place, int bits, const auto *bytes) {
  const int low = static_cast<uint8_t>(bytes[place.byte]);
  if (bits == 8)
    return low;
  int code = low >> place.bit & 15;
  if (place.upperByte >= 0)
    code |=
        (static_cast<uint8_t>(bytes[place.upperByte]) >> place.upperBit & ((1 << (bits - 4)) - 1))
        << 4;
  return code;
}

/// The code of w[row][k] of a weight that lies so, of whatever format but a float.
template <typename Layout>
int codeOf(const Layout &layout, const auto *bytes, int64_t row, int64_t k) {
  const NumericFormat &format = numericFormat(layout.format);
  return codeAt(codePlace(layout, format.bits, format.isScaledFloat(), row, k), format.bits, bytes);
}

} // namespace ingot
