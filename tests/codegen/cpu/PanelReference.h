//===- PanelReference.h - Matmuls in scalar C++, from the panel's bytes ----===//
//
// This file was written from WeightPlace.h and the text of NumericFormat.h and PanelLayout.h, independently of the
// generators. It provides random panels, the codes and scales of a weight, rows of activations, and both kinds of
// arithmetic.
//===----------------------------------------------------------------------===//
#pragma once

#include "KernelRunner.h"
#include "runtime/formats/KvInt8.h"
#include "tests/codegen/cpu/Bf16.h"
#include "tests/runtime/formats/RandomWeights.h"

namespace ingot::codegen::cpu::test {

template <typename T> T readAs(const char *from) { return ingot::test::readFrom<T>(from); }

/// A weight of random numbers in panels. Padding rows have scales (or weights) of 0.
struct RandomWeight {
  PanelLayout layout;
  const NumericFormat &format;
  Buffer<char> bytes;

  RandomWeight(WeightFormat id, int64_t n, int64_t k, unsigned seed)
      : layout(panelLayout(id, n, k)), format(numericFormat(id)), bytes(layout.bytes()) {
    std::memset(bytes.data(), 0, bytes.bytes());
    ingot::test::fillRandomly(layout, bytes.data(), seed, 0.01f, 0.1f);
  }

  int code(int64_t row, int64_t k) const { return reader().code(row, k); }
  int number(int64_t row, int64_t k) const { return reader().number(row, k); }
  float d(int64_t row, int64_t k) const { return reader().d(row, k); }
  float m(int64_t row, int64_t k) const { return reader().m(row, k); }
  int s(int64_t row, int64_t k) const { return reader().s(row, k); }
  int t(int64_t row, int64_t k) const { return reader().t(row, k); }
  float subScale(int64_t row, int64_t k) const { return reader().subScale(row, k); }
  float value(int64_t row, int64_t k) const { return reader().value(row, k); }

private:
  ingot::test::WeightReader<PanelLayout> reader() const { return {layout, bytes.data()}; }
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

/// Returns the sinks of attention heads. They are scores that are the largest for some tokens and negligible for
/// others.
inline float sinkOf(int64_t head) { return float(head % 3) * 2 - 1.5f; }
inline Buffer<float> sinksOf(int64_t heads) {
  Buffer<float> sinks(size_t(roundUp(heads, 32)));
  for (int64_t head = 0; head < heads; ++head)
    sinks[size_t(head)] = sinkOf(head);
  return sinks;
}

/// Quantises f32 rows as PanelLayout.h specifies, to q8 or (with two planes) q8x2.
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

/// Computes a product in `fast` arithmetic: exact dots of groups, one f32 chain. `planes` is a q8 row or (two planes) a
/// q8x2 row.
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
        half[i / 16] += (w.number(row, k + i) - w.format.zeroPoint) * int8_t(x[k + i]);
      if (w.format.floatSubScales) { // each half separately as well
        const float dx = readAs<float>(x + q8.scaleOffset + g * 4);
        for (int i = 0; i < 2; ++i)
          acc = std::fma(float(half[i]), w.d(row, k) * w.subScale(row, k + 16 * i) * dx, acc);
        continue;
      }
      if (w.format.group == 16) // each plane separately
        dot = int64_t(half[0]) * w.s(row, k) + int64_t(half[1]) * w.s(row, k + 16);
      else
        dot = 256 * dot + half[0] + half[1];
      if (w.format.group != 16 && plane + 1 < count)
        continue;
      float dx = readAs<float>(x + q8.scaleOffset + g * 4),
            scaledSum = readAs<float>(x + q8.scaledSumOffset + g * 4);
      acc = std::fma(float(int32_t(dot)), scale * dx, acc);
      if (w.format.hasMin && w.format.group == 16) {
        const char *sums = x + q8.negSum16Offset + g * 8;
        const int minimums =
            w.t(row, k) * readAs<int>(sums) + w.t(row, k + 16) * readAs<int>(sums + 4);
        acc = std::fma(float(minimums), w.m(row, k) * dx, acc);
      } else if (w.format.hasZeros) {
        acc = std::fma(-(scale * float(w.t(row, k))), scaledSum, acc);
      } else if (w.format.hasMin) {
        acc = std::fma(sub ? -(w.m(row, k) * float(w.t(row, k))) : w.m(row, k), scaledSum, acc);
      }
    }
  }
  return acc;
}

/// Computes a product in `exact` arithmetic: dequantised weights, one chain in the order of k.
inline float exactProduct(const RandomWeight &w, int64_t row, const float *x) {
  float acc = 0;
  for (int64_t k = 0; k < w.layout.k; ++k)
    acc = std::fma(w.value(row, k), x[k], acc);
  return acc;
}

/// Applies the transform that K and q go through before they become int8 or int4 (KvInt8.h), without its factor.
inline void transformHadamard(float *x, int64_t n) {
  for (int64_t step = 1; step < kvInt8Block(n); step *= 2)
    for (int64_t i = 0; i < n; ++i)
      if (!(i & step)) {
        const float a = x[i], b = x[i + step];
        x[i] = a + b, x[i + step] = a - b;
      }
}

} // namespace ingot::codegen::cpu::test
