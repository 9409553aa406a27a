//===- Softmax.cpp - log and log-sum-exp in double ------------------------===//
#include "runtime/sample/Softmax.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace ingot::runtime {

double logPositive(double x) {
  assert(x >= std::numeric_limits<double>::min());
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = int64_t(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | std::bit_cast<uint64_t>(1.0));
  if (m > 1.4142135623730951) { // keep m around 1, so that log(1 + tiny) loses nothing
    m *= 0.5;
    ++exponent;
  }
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716: 12 odd terms.
  double s = (m - 1.0) / (m + 1.0);
  double s2 = s * s;
  double series = 0;
  for (int odd = 23; odd >= 3; odd -= 2)
    series = (series + 1.0 / odd) * s2;
  double high = double(exponent) * 0.6931471803691238;
  double low = double(exponent) * 1.9082149292705877e-10;
  return high + (2.0 * s + (2.0 * s * series + low));
}

double logSumExp(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity();
  for (float logit : logits)
    largest = logit > largest ? logit : largest;
  if (!std::isfinite(largest))
    return largest;
  // Eight partial sums in fixed lanes: the order is fixed and the loop vectorises.
  double lanes[8] = {};
  size_t whole = logits.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8)
    for (size_t lane = 0; lane < 8; ++lane)
      lanes[lane] += expNonPositive(double(logits[i + lane]) - largest);
  for (size_t i = whole; i < logits.size(); ++i)
    lanes[i - whole] += expNonPositive(double(logits[i]) - largest);
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return double(largest) + logPositive(sum);
}

} // namespace ingot::runtime
