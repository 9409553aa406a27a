//===- WeightReader.h - A packed weight, one number at a time ---------------===//
//
// This class was written from WeightPlace.h and the comments of NumericFormat.h, not from packers or kernels. Packers
// and kernels can therefore be checked against it.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/WeightPlace.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace ingot::reference::interpreter {

template <typename T> T readFrom(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Computes the formula of E4M3 (NumericFormat.h).
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

  /// Returns the unsigned code of w[row][k], its number, and its scale.
  int code(int64_t row, int64_t k) const { return codeOf(layout, format, row, k, bytes); }
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
    const uint8_t raw = subScaleAt(places(row, k), format, bytes);
    return format.hasMin ? int(raw) : int(int8_t(raw));
  }
  int t(int64_t row, int64_t k) const { return uint8_t(bytes[places(row, k).t]); }

  /// Returns the weight as f32.
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

} // namespace ingot::reference::interpreter
