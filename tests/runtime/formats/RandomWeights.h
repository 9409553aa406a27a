//===- RandomWeights.h - Packed weights of random numbers -------------------===//
#pragma once

#include "compiler/reference/interpreter/WeightReader.h"

#include <random>

namespace ingot::test {

using reference::interpreter::e4m3Value;
using reference::interpreter::readFrom;
using reference::interpreter::WeightReader;

/// Returns a random code that the layout can hold.
template <typename Layout>
int anyCode(const Layout &layout, const NumericFormat &format, unsigned random) {
  if (packingIn(layout, format) == NumericFormat::Packing::Trits)
    return int(random % 3);
  if (packingIn(layout, format) == NumericFormat::Packing::Bit1)
    return int(random % 2 * 2);
  return int(random % (1u << format.bits));
}

/// Fills a zeroed weight with random numbers: d within ±`d`, m within ±`m`. Codes are arbitrary, in padding too.
/// Padding rows have scales (or weights) of 0.
template <typename Layout>
void fillRandomly(const Layout &layout, char *bytes, unsigned seed, float d, float m) {
  const NumericFormat &format = numericFormat(layout.format);
  std::mt19937 random(seed);
  auto uniform = [&](float scale) { return (float(random() % 2001) / 1000 - 1) * scale; };
  auto put = [&](int64_t at, auto value) { std::memcpy(bytes + at, &value, sizeof value); };
  auto putFloat = [&](int64_t at, float value) {
    if (layout.format == WeightFormat::F16)
      put(at, _Float16(value));
    else if (layout.format == WeightFormat::F32 && std::is_same_v<Layout, PanelLayout>)
      put(at, value);
    else
      put(at, uint16_t(std::bit_cast<uint32_t>(value) >> 16));
  };
  const int64_t rows = roundUp(layout.n, rowsOfUnit(layout)), end = layout.blocks * layout.blockK;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < end; ++k) {
      if (format.isFloat()) {
        if (row < layout.n && k < layout.k)
          putFloat(numberPlace(layout, format, row, k), uniform(1));
        continue;
      }
      const int code = format.isScaledFloat() ? int(random() % 127 | (random() % 2 << 7)) // no NaN
                                              : anyCode(layout, format, unsigned(random()));
      char *const block = bytes + blockPlace(layout, row, k);
      const int64_t inUnit = row % rowsOfUnit(layout), inBlock = k % layout.blockK;
      if (!format.grid) {
        putCodeOfBlock(layout, format, inUnit, inBlock, code, block);
      } else if (k % format.grid->run == 0) {
        uint8_t signs[8]; // all weights of a group have the first one's sign
        for (uint8_t &sign : signs)
          sign = uint8_t(
              format.grid->signs != GridSigns::Group || k % kGroupK == 0 ? random() % 2 * 8 : 0);
        putRun(layout, format, inUnit, inBlock, int(random() % unsigned(format.grid->count())),
               signs, block);
      }
      if (k % format.group != 0)
        continue;
      const ScalePlaces places = scalePlaces(layout, format, row, k);
      if (row < layout.n && k % format.block() == 0) {
        if (format.isScaledFloat()) // use all bits of the scales
          put(places.d, std::ldexp(1 + float(random() % 8388608) / 8388608, -12));
        else if (format.scale == NumericFormat::Scale::F16)
          put(places.d, _Float16(uniform(d)));
        else if (format.scale == NumericFormat::Scale::BF16)
          put(places.d, uint16_t(std::bit_cast<uint32_t>(uniform(d)) >> 16));
        else
          put(places.d, uniform(d));
        if (places.m >= 0 && format.minScale() == NumericFormat::Scale::F16)
          put(places.m, _Float16(uniform(m)));
        else if (places.m >= 0)
          put(places.m, uint16_t(std::bit_cast<uint32_t>(uniform(m)) >> 16));
      }
      const auto subScale = static_cast<int>(random() % (1u << format.subScaleBits));
      if (places.nibble >= 0)
        putSubScale(places, bytes, uint8_t((subScale & nibbleMask(format)) * 2 + 1));
      else if (places.s >= 0)
        put(places.s, uint8_t(format.hasMin           ? subScale
                              : format.floatSubScales ? random() % 0x60 // 0 to 32
                                                      : subScale - (1 << format.subScaleBits) / 2));
      if (format.hasZeros) // values around the middle, and the full range
        put(places.t, uint8_t(random() % (1u << format.bits)));
      else if (places.t >= 0)
        put(places.t, uint8_t(random() % (1u << format.subScaleBits)));
    }
}

} // namespace ingot::test
