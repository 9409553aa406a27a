//===- FragmentReference.h - gpu-frag16 read by coordinates ------------------===//
//
// Written from CodePlace.h and the text of FragmentLayout.h and NumericFormat.h, not from the packer or the
// kernels: one number at a time.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/CodePlace.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace ingot::cuda::test {

class FragmentReader {
public:
  FragmentReader(const FragmentLayout &layout, const void *bytes)
      : layout(layout), format(numericFormat(layout.format)),
        bytes(static_cast<const char *>(bytes)) {}

  int code(int64_t row, int64_t k) const { return codeOf(layout, bytes, row, k); }
  float d(int64_t row, int64_t k) const {
    if (format.isScaledFloat())
      return read<float>(block(row, k) + 2048 + 4 * (2 * (row % 8) + row % 16 / 8));
    return half(row, k, layout.scaleOffset);
  }
  float m(int64_t row, int64_t k) const { return half(row, k, layout.minOffset); }
  int s(int64_t row, int64_t k) const {
    char raw = block(row, k)[layout.subScaleOffset + placeOf(row, k)];
    return format.hasMin ? int(uint8_t(raw)) : int(int8_t(raw));
  }
  int t(int64_t row, int64_t k) const {
    return uint8_t(block(row, k)[layout.subMinOffset + placeOf(row, k)]);
  }

  float value(int64_t row, int64_t k) const {
    if (format.isFloat()) {
      int64_t r = row % 16, in16 = k % 16, lane = 4 * (r % 8) + in16 % 8 / 2,
              v = (in16 >= 8 ? 4 : 0) + (r >= 8 ? 2 : 0) + in16 % 2;
      const char *at = bytes + row / 16 * layout.tileBytes() + k / 16 * 512 + lane * 16 + v * 2;
      if (layout.format == WeightFormat::F16)
        return float(read<_Float16>(at));
      uint32_t wide = uint32_t(read<uint16_t>(at)) << 16;
      return read<float>(reinterpret_cast<const char *>(&wide));
    }
    if (format.isScaledFloat()) {
      int q = code(row, k), exponent = q >> 3 & 15, mantissa = q & 7;
      float size = exponent ? std::ldexp(float(8 + mantissa), exponent - 10)
                            : std::ldexp(float(mantissa), -9);
      return d(row, k) * (q & 0x80 ? -size : size);
    }
    float scale = d(row, k), q = float(code(row, k) - format.zeroPoint);
    if (format.superGroup) {
      float ds = scale * float(s(row, k)), w = ds * q;
      return format.hasMin ? w - m(row, k) * float(t(row, k)) : w;
    }
    float w = scale * q;
    return format.hasMin ? w + m(row, k) : w;
  }

private:
  template <typename T> static T read(const char *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  const char *block(int64_t row, int64_t k) const {
    return bytes + row / 16 * layout.tileBytes() + k / layout.blockK * layout.blockBytes;
  }
  float half(int64_t row, int64_t k, int64_t offset) const {
    int64_t place = format.superGroup ? 2 * (row % 8) + row % 16 / 8 : placeOf(row, k);
    return float(read<_Float16>(block(row, k) + offset + 2 * place));
  }
  /// Of the group of k in an array of all groups: by g, then by run (by group if it is longer),
  /// then row g before g + 8, then by the groups of a run.
  int64_t placeOf(int64_t row, int64_t k) const {
    int64_t in = k % layout.blockK, g = row % 8, upper = row % 16 / 8;
    if (format.group >= 64) {
      int64_t pieces = layout.blockK / format.group;
      return g * 2 * pieces + in / format.group * 2 + upper;
    }
    int64_t groups = 64 / format.group, runs = layout.blockK / 64;
    return ((g * runs + in / 64) * 2 + upper) * groups + in % 64 / format.group;
  }

  const FragmentLayout &layout;
  const NumericFormat &format;
  const char *bytes;
};

/// A weight of random bits. Padding rows have scales (floats: values) of 0, as the packer leaves
/// them.
struct RandomFragments {
  FragmentLayout layout;
  std::vector<uint8_t> bytes;

  RandomFragments(WeightFormat id, int64_t n, int64_t k, uint32_t seed)
      : layout(fragmentLayout(id, n, k)), bytes(layout.bytes()) {
    const NumericFormat &format = numericFormat(id);
    uint32_t state = seed * 747796405u + 1;
    auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    auto putHalf = [&](uint8_t *to, float value) {
      _Float16 h = _Float16(value);
      std::memcpy(to, &h, 2);
    };
    for (int64_t tile = 0; tile < layout.tiles; ++tile)
      for (int64_t b = 0; b < layout.blocks; ++b) {
        uint8_t *block = bytes.data() + tile * layout.tileBytes() + b * layout.blockBytes;
        if (format.isFloat()) {
          for (int64_t i = 0; i < 256; ++i) {
            int64_t lane = i / 8, v = i % 8, row = tile * 16 + lane / 4 + (v / 2 % 2) * 8,
                    at = b * 16 + lane % 4 * 2 + v % 2 + v / 4 * 8;
            float value = row < n && at < k ? float(int(random() % 2001) - 1000) / 1000 : 0;
            if (id == WeightFormat::F16) {
              putHalf(block + 2 * i, value);
            } else {
              uint32_t wide;
              std::memcpy(&wide, &value, 4);
              uint16_t upper = uint16_t(wide >> 16);
              std::memcpy(block + 2 * i, &upper, 2);
            }
          }
          continue;
        }
        for (int64_t i = 0; i < layout.scaleOffset; ++i)
          block[i] = format.isScaledFloat() ? uint8_t(random() % 127 | (random() % 2 << 7))
                                            : uint8_t(random());
        for (int64_t i = 0; format.isScaledFloat() && i < 16; ++i) { // scales with all their bits
          float scale = tile * 16 + i / 2 + i % 2 * 8 < n
                            ? std::ldexp(1 + float(random() % 8388608) / 8388608, -12)
                            : 0.0f;
          std::memcpy(block + layout.scaleOffset + 4 * i, &scale, 4);
        }
        if (format.isScaledFloat())
          continue;
        int64_t scales = format.superGroup ? 1 : layout.blockK / format.group;
        for (int64_t i = 0; i < scales * 16; ++i) {
          int64_t inRun = format.superGroup || format.group >= 64 ? 1 : 64 / format.group;
          bool inside = tile * 16 + i / (2 * scales) + i / inRun % 2 * 8 < n;
          float unit = format.superGroup ? 1.0f / 64 : 1.0f;
          putHalf(block + layout.scaleOffset + 2 * i,
                  inside ? unit * float(int(random() % 201) - 100) / 1000 : 0);
          if (format.hasMin)
            putHalf(block + layout.minOffset + 2 * i,
                    inside ? unit * float(int(random() % 201) - 100) / 1000 : 0);
        }
        for (int64_t i = 0; format.superGroup && i < format.superGroup / format.group * 16; ++i) {
          block[layout.subScaleOffset + i] = uint8_t(format.hasMin ? random() % 64 : random());
          if (format.hasMin)
            block[layout.subMinOffset + i] = uint8_t(random() % 64);
        }
      }
  }
  FragmentReader reader() const { return FragmentReader(layout, bytes.data()); }
};

} // namespace ingot::cuda::test
