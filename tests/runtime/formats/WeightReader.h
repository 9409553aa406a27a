//===- WeightReader.h - A packed weight, one number at a time ---------------===//
//
// Written from WeightPlace.h and the text of NumericFormat.h, not from packers or kernels; and weights of
// random numbers, which are written by the same places.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/WeightPlace.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace ingot::test {

template <typename T> T readFrom(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The formula of E4M3 (NumericFormat.h).
inline float e4m3Value(int q) {
  const int exponent = q >> 3 & 15, mantissa = q & 7;
  const float size =
      exponent ? std::ldexp(float(8 + mantissa), exponent - 10) : std::ldexp(float(mantissa), -9);
  return q & 0x80 ? -size : size;
}

template <typename Layout> class WeightReader {
public:
  WeightReader(const Layout &layout, const void *bytes)
      : layout(layout), format(numericFormat(layout.format)),
        bytes(static_cast<const char *>(bytes)) {}

  /// The unsigned code of w[row][k], its number, and what scales it.
  int code(int64_t row, int64_t k) const {
    return codeAt(codePlace(layout, format, row, k), format.bits, bytes);
  }
  int number(int64_t row, int64_t k) const { return format.numberOf(code(row, k)); }
  float d(int64_t row, int64_t k) const {
    const char *at = bytes + places(row, k).d;
    switch (format.scale) {
    case NumericFormat::Scale::F16:
      return float(readFrom<_Float16>(at));
    case NumericFormat::Scale::BF16:
      return std::bit_cast<float>(uint32_t(readFrom<uint16_t>(at)) << 16);
    default:
      return readFrom<float>(at);
    }
  }
  float m(int64_t row, int64_t k) const {
    const char *at = bytes + places(row, k).m;
    return format.minScale() == NumericFormat::Scale::F16
               ? float(readFrom<_Float16>(at))
               : std::bit_cast<float>(uint32_t(readFrom<uint16_t>(at)) << 16);
  }
  float subScale(int64_t row, int64_t k) const {
    return format.floatSubScales ? e4m3Value(s(row, k)) : float(s(row, k));
  }
  int s(int64_t row, int64_t k) const {
    const char raw = bytes[places(row, k).s];
    return format.hasMin ? int(uint8_t(raw)) : int(int8_t(raw));
  }
  int t(int64_t row, int64_t k) const { return uint8_t(bytes[places(row, k).t]); }

  /// The weight as f32.
  float value(int64_t row, int64_t k) const {
    if (format.isFloat())
      return floatAt(bytes + numberPlace(layout, format, row, k));
    if (format.isScaledFloat())
      return d(row, k) * e4m3Value(code(row, k));
    const int zero = format.hasZeros ? t(row, k) : format.zeroPoint;
    const float scale = d(row, k), q = float(number(row, k) - zero);
    if (format.superGroup) {
      const float ds = scale * subScale(row, k), w = ds * q;
      return format.hasMin ? w - m(row, k) * float(t(row, k)) : w;
    }
    const float w = scale * q;
    return format.hasMin && !format.hasZeros ? w + m(row, k) : w;
  }

private:
  ScalePlaces places(int64_t row, int64_t k) const { return scalePlaces(layout, format, row, k); }
  float floatAt(const char *at) const {
    if (layout.format == WeightFormat::F16)
      return float(readFrom<_Float16>(at));
    if (layout.format == WeightFormat::F32 && std::is_same_v<Layout, PanelLayout>)
      return readFrom<float>(at);
    return std::bit_cast<float>(uint32_t(readFrom<uint16_t>(at)) << 16);
  }

  const Layout &layout;
  const NumericFormat &format;
  const char *bytes;
};

/// Fills a weight, all zeros, with random numbers: d within ±`d`, m within ±`m`. Codes are any, of padding too; padding
/// rows have scales (or weights) of 0.
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
                                              : int(random() % (1u << format.bits));
      putCode(codePlace(layout, format, row, k), format.bits, bytes, code);
      if (k % format.group != 0)
        continue;
      const ScalePlaces places = scalePlaces(layout, format, row, k);
      if (row < layout.n && k % format.block() == 0) {
        if (format.isScaledFloat()) // with all their bits
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
      if (places.s >= 0) // 6 bits in K-quants, signed 8 in q6_k
        put(places.s, uint8_t(format.hasMin           ? random() % 64
                              : format.floatSubScales ? random() % 0x60 // 0 to 32
                                                      : random()));
      if (format.hasZeros) // around the middle, and all there are
        put(places.t, uint8_t(random() % (1u << format.bits)));
      else if (places.t >= 0)
        put(places.t, uint8_t(random() % 64));
    }
}

} // namespace ingot::test
