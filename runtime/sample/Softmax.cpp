//===- Softmax.cpp - log and log-sum-exp in double ------------------------===//
#include "runtime/sample/Softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace ingot::runtime {

double logPositive(double x) {
  assert(x >= std::numeric_limits<double>::min() && "x is not positive and normal");
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = int64_t(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | std::bit_cast<uint64_t>(1.0));
  if (m > 1.4142135623730951) { // keep m around 1, so that log(1 + tiny) is accurate
    m *= 0.5;
    ++exponent;
  }
  // log(m) = 2 atanh(s) with s = (m - 1) / (m + 1). Since |s| <= 0.1716, 12 odd terms suffice.
  double s = (m - 1.0) / (m + 1.0);
  double s2 = s * s;
  double series = 0;
  for (int odd = 23; odd >= 3; odd -= 2)
    series = (series + 1.0 / odd) * s2;
  double high = double(exponent) * 0.6931471803691238;
  double low = double(exponent) * 1.9082149292705877e-10;
  return high + (2.0 * s + (2.0 * s * series + low));
}

// The loops of a softmax for three vector levels. Each body is written once. The build turns contraction to fma off,
// so the level affects speed but no bits.

namespace {

struct ExpBody {
  float largest;
  double *weights;

  [[gnu::always_inline]] void operator()(const float *logits, size_t count) const {
    for (size_t i = 0; i < count; ++i)
      weights[i] = expNonPositive(double(logits[i]) - largest);
  }
};

struct DrawBody {
  float largest;
  double scale, least;
  uint64_t *weights;

  [[gnu::always_inline]] void operator()(const float *logits, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      double x = (double(logits[i]) - largest) * scale;
      uint64_t weight = drawWeight(x);
      weights[i] = x >= least ? weight : 0;
    }
  }
};

#if defined(__x86_64__)
template <typename Body>
[[gnu::target("avx2")]] void runAvx2(const Body &body, const float *logits, size_t count) {
  body(logits, count);
}
// The target attribute for 256-bit vectors, as Clang and as GCC spell it.
#if defined(__clang__)
#define INGOT_AVX512_256 "avx512f,avx512dq,avx512vl,prefer-256-bit"
#else
#define INGOT_AVX512_256 "avx512f,avx512dq,avx512vl,prefer-vector-width=256"
#endif
template <typename Body>
[[gnu::target(INGOT_AVX512_256)]] void runAvx512(const Body &body, const float *logits,
                                                 size_t count) {
  body(logits, count);
}
bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

template <typename Body> void run(const Body &body, std::span<const float> logits) {
#if defined(__x86_64__)
  if (hasAvx512())
    return runAvx512(body, logits.data(), logits.size());
  if (__builtin_cpu_supports("avx2"))
    return runAvx2(body, logits.data(), logits.size());
#endif
  body(logits.data(), logits.size());
}

} // namespace

void expWeights(std::span<const float> logits, float largest, double *weights) {
  run(ExpBody{largest, weights}, logits);
}

void drawWeights(std::span<const float> logits, float largest, double scale, double least,
                 uint64_t *weights) {
  run(DrawBody{largest, scale, least, weights}, logits);
}

float largestOf(std::span<const float> logits) {
  // Use sixteen running maxima. A single one would be a dependency chain, which the compiler may not split because
  // the comparison must ignore NaN.
  constexpr size_t kMaxLanes = 16;
  float lanes[kMaxLanes];
  for (float &lane : lanes)
    lane = -std::numeric_limits<float>::infinity();
  size_t whole = logits.size() / kMaxLanes * kMaxLanes;
  for (size_t i = 0; i < whole; i += kMaxLanes)
    for (size_t lane = 0; lane < kMaxLanes; ++lane)
      lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
  for (size_t i = whole; i < logits.size(); ++i)
    lanes[i - whole] = logits[i] > lanes[i - whole] ? logits[i] : lanes[i - whole];
  float largest = lanes[0];
  for (float lane : lanes)
    largest = lane > largest ? lane : largest;
  return largest;
}

double logSumExp(std::span<const float> logits) {
  float largest = largestOf(logits);
  if (!std::isfinite(largest))
    return largest;
  constexpr size_t kBlock = 512, kLanes = 8;
  double weights[kBlock], lanes[kLanes] = {};
  for (size_t block = 0; block < logits.size(); block += kBlock) {
    size_t count = std::min(kBlock, logits.size() - block);
    expWeights(logits.subspan(block, count), largest, weights);
    std::fill(weights + count, weights + kBlock, 0.0);
    for (size_t i = 0; i < kBlock; i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += weights[i + lane];
  }
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return double(largest) + logPositive(sum);
}

} // namespace ingot::runtime
