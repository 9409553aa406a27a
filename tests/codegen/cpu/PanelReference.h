//===- PanelReference.h - Matmuls in scalar C++, from the panel's bytes ----===//
//
// Written from CodePlace.h and the text of NumericFormat.h and PanelLayout.h, not from the generators:
// random panels, codes and scales of one weight, rows of activations, and both arithmetics.
//===----------------------------------------------------------------------===//
#pragma once

#include "KernelRunner.h"
#include "runtime/formats/CodePlace.h"
#include "runtime/formats/KvInt8.h"
#include "tests/codegen/cpu/Bf16.h"

#include <cmath>
#include <random>

namespace ingot::cpu::test {

template <typename T> T readAs(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline float readHalf(const char *from) { return float(readAs<_Float16>(from)); }

/// A weight of random numbers in panels; padding rows have scales (or weights) of 0.
struct RandomWeight {
  PanelLayout layout;
  const NumericFormat &format;
  Buffer<char> bytes;

  RandomWeight(WeightFormat id, int64_t n, int64_t k, unsigned seed)
      : layout(panelLayout(id, n, k)), format(numericFormat(id)), bytes(layout.bytes()) {
    std::mt19937 random(seed);
    for (int64_t p = 0; p < layout.panels; ++p)
      for (int64_t b = 0; b < layout.blocks; ++b)
        fillBlock(bytes.data() + p * layout.panelBytes() + b * layout.blockBytes, p, b, random);
  }

  const char *block(int64_t row, int64_t k) const {
    return bytes.data() + row / 32 * layout.panelBytes() + k / layout.blockK * layout.blockBytes;
  }

  /// The unsigned code of w[row][k].
  int code(int64_t row, int64_t k) const { return codeOf(layout, bytes.data(), row, k); }
  float d(int64_t row, int64_t k) const {
    return readHalf(block(row, k) + layout.scaleOffset + row % 32 * 2);
  }
  float m(int64_t row, int64_t k) const {
    return readHalf(block(row, k) + layout.minOffset + row % 32 * 2);
  }
  int s(int64_t row, int64_t k) const {
    char raw =
        block(row, k)[layout.subScaleOffset + k % layout.blockK / format.group * 32 + row % 32];
    return format.group == 16 ? int(int8_t(raw)) : int(uint8_t(raw));
  }
  int t(int64_t row, int64_t k) const {
    return uint8_t(
        block(row, k)[layout.subMinOffset + k % layout.blockK / format.group * 32 + row % 32]);
  }

  /// The weight as f32.
  float value(int64_t row, int64_t k) const {
    int64_t r = row % 32;
    const char *b = block(row, k);
    switch (format.id) {
    case WeightFormat::F32:
      return readAs<float>(b + r * 4);
    case WeightFormat::F16:
      return readHalf(b + r * 2);
    case WeightFormat::BF16:
      return fromBf16(readAs<uint16_t>(b + r * 4 + k % 2 * 2));
    default:
      break;
    }
    if (format.isScaledFloat()) {
      int q = code(row, k), exponent = q >> 3 & 15, mantissa = q & 7;
      float size = exponent ? std::ldexp(float(8 + mantissa), exponent - 10)
                            : std::ldexp(float(mantissa), -9);
      return readAs<float>(b + 4096 + r * 4) * (q & 0x80 ? -size : size);
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
  void fillBlock(char *block, int64_t panel, int64_t index, std::mt19937 &random) {
    auto uniform = [&](float scale) { return (float(random() % 2001) / 1000 - 1) * scale; };
    auto inside = [&](int64_t r) { return panel * 32 + r < layout.n; };
    if (format.isFloat()) {
      for (int64_t i = 0; i < 32 * layout.blockK; ++i) {
        bool pairs = format.id == WeightFormat::BF16;
        int64_t r = pairs ? i / 2 : i, k = index * layout.blockK + (pairs ? i % 2 : 0);
        float w = inside(r) && k < layout.k ? uniform(1) : 0;
        _Float16 half = _Float16(w);
        uint32_t bits = readAs<uint32_t>(reinterpret_cast<char *>(&w));
        uint16_t upper = bits >> 16;
        if (format.id == WeightFormat::F32)
          std::memcpy(block + i * 4, &w, 4);
        else if (pairs)
          std::memcpy(block + i * 2, &upper, 2);
        else
          std::memcpy(block + i * 2, &half, 2);
      }
      return;
    }
    if (format.isScaledFloat()) { // any code but NaN, scales with all their bits
      for (int64_t i = 0; i < layout.scaleOffset; ++i)
        block[i] = char(random() % 127 | (random() % 2 << 7));
      for (int64_t r = 0; r < 32; ++r) {
        float scale = inside(r) ? std::ldexp(1 + float(random() % 8388608) / 8388608, -12) : 0.0f;
        std::memcpy(block + layout.scaleOffset + r * 4, &scale, 4);
      }
      return;
    }
    for (int64_t i = 0; i < layout.scaleOffset; ++i)
      block[i] = char(random());
    auto halves = [&](int64_t offset, float scale) {
      for (int64_t r = 0; offset >= 0 && r < 32; ++r) {
        _Float16 half = _Float16(inside(r) ? uniform(scale) : 0.0f);
        std::memcpy(block + offset + r * 2, &half, 2);
      }
    };
    halves(layout.scaleOffset, 0.01f);
    halves(layout.minOffset, 0.1f);
    if (layout.subScaleOffset >= 0)
      for (int64_t i = layout.subScaleOffset; i < layout.blockBytes;
           ++i) // 6 bits in K-quants, signed 8 in q6_k
        block[i] = format.group == 16 ? char(random()) : char(random() % 64);
  }
};

inline Buffer<float> randomRows(int64_t rows, int64_t n, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  int64_t width = f32RowBytes(n) / 4;
  Buffer<float> x(rows * width);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t i = 0; i < n; ++i)
      x[t * width + i] = (float(random() % 20001) / 10000 - 1) * scale;
  return x;
}

/// Quantises f32 rows as PanelLayout.h says, to q8 or (two planes) q8x2.
inline Buffer<char> quantizeRows(const Buffer<float> &x, int64_t rows, int64_t n, int planes = 1) {
  Q8Row layout = q8Row(n);
  int64_t width = f32RowBytes(n) / 4;
  Buffer<char> out(rows * layout.bytes * planes);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t g = 0; g < layout.groups; ++g) {
      const float *from = x.data() + t * width + g * 32;
      char *row = out.data() + t * layout.bytes * planes;
      float amax = 0;
      for (int i = 0; i < 32; ++i)
        amax = std::max(amax, std::fabs(from[i]));
      float inverse = std::isfinite(127 / amax) ? 127 / amax : 0, scale = amax / 127;
      int32_t sums[2] = {0, 0};
      for (int i = 0; i < 32; ++i) {
        int8_t q = int8_t(std::nearbyint(from[i] * inverse));
        row[g * 32 + i] = q;
        sums[i / 16] -= q;
      }
      int32_t sum = sums[0] + sums[1];
      float scaled = scale * float(-sum);
      std::memcpy(row + layout.scaleOffset + g * 4, &scale, 4);
      std::memcpy(row + layout.scaledSumOffset + g * 4, &scaled, 4);
      std::memcpy(row + layout.negSumOffset + g * 4, &sum, 4);
      std::memcpy(row + layout.negSum16Offset + g * 8, sums, 8);
      if (planes == 1)
        continue;
      const char *high = row;
      row += layout.bytes;
      int32_t lowSums[2] = {0, 0};
      for (int i = 0; i < 32; ++i) {
        float rest = std::fma(float(int8_t(high[g * 32 + i])), -scale, from[i]) * inverse;
        int8_t q = int8_t(std::clamp(std::nearbyint(rest * 256), -127.0f, 127.0f));
        row[g * 32 + i] = q;
        lowSums[i / 16] -= q;
      }
      int32_t lowSum = lowSums[0] + lowSums[1];
      float lowScale = scale / 256, all = lowScale * float(-256 * sum - lowSum);
      std::memcpy(row + layout.scaleOffset + g * 4, &lowScale, 4);
      std::memcpy(row + layout.scaledSumOffset + g * 4, &all, 4);
      std::memcpy(row + layout.negSumOffset + g * 4, &lowSum, 4);
      std::memcpy(row + layout.negSum16Offset + g * 8, lowSums, 8);
    }
  return out;
}

/// `fast` arithmetic, design part 5: exact group dots, one f32 chain. x: a q8 row, or (two planes)
/// a q8x2 row.
inline float fastProduct(const RandomWeight &w, int64_t row, const char *planes, int count = 1) {
  Q8Row q8 = q8Row(w.layout.k);
  float acc = 0;
  for (int64_t g = 0; g < q8.groups; ++g) {
    int64_t k = g * 32, dot = 0;
    bool sub = w.format.superGroup && w.format.group == 32;
    float scale = sub ? w.d(row, k) * float(w.s(row, k)) : w.d(row, k);
    for (int plane = 0; plane < count; ++plane) {
      const char *x = planes + plane * q8.bytes;
      int half[2] = {0, 0};
      for (int i = 0; i < 32; ++i)
        half[i / 16] += (w.code(row, k + i) - w.format.zeroPoint) * int8_t(x[k + i]);
      if (w.format.group == 16) // each plane on its own
        dot = int64_t(half[0]) * w.s(row, k) + int64_t(half[1]) * w.s(row, k + 16);
      else
        dot = 256 * dot + half[0] + half[1];
      if (w.format.group != 16 && plane + 1 < count)
        continue;
      float dx = readAs<float>(x + q8.scaleOffset + g * 4),
            scaledSum = readAs<float>(x + q8.scaledSumOffset + g * 4);
      acc = std::fma(float(int32_t(dot)), scale * dx, acc);
      if (w.format.hasMin)
        acc = std::fma(sub ? -(w.m(row, k) * float(w.t(row, k))) : w.m(row, k), scaledSum, acc);
    }
  }
  return acc;
}

/// `exact` arithmetic: de-quantised weights, one chain in order of k.
inline float exactProduct(const RandomWeight &w, int64_t row, const float *x) {
  float acc = 0;
  for (int64_t k = 0; k < w.layout.k; ++k)
    acc = std::fma(w.value(row, k), x[k], acc);
  return acc;
}

/// The transform of K and q before they become int8 or int4 (KvInt8.h), without a factor.
inline void transformHadamard(float *x, int64_t n) {
  for (int64_t step = 1; step < kvInt8Block(n); step *= 2)
    for (int64_t i = 0; i < n; ++i)
      if (!(i & step)) {
        const float a = x[i], b = x[i + step];
        x[i] = a + b, x[i + step] = a - b;
      }
}

} // namespace ingot::cpu::test
