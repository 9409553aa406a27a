//===- E4m3Reference.h - E4M3 conversion by table, for tests ---------------===//
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace ingot::codegen::cuda::test {

/// Returns the magnitudes of codes 0 … 126. Code 127 is NaN.
inline const std::array<double, 127> &e4m3Magnitudes() {
  static const std::array<double, 127> all = [] {
    std::array<double, 127> values;
    for (int code = 0; code < 127; ++code)
      values[code] = code < 8 ? std::ldexp(code, -9) : std::ldexp(8 + code % 8, code / 8 - 10);
    return values;
  }();
  return all;
}
inline double fromE4m3(uint8_t code) {
  double magnitude = (code & 127) == 127 ? NAN : e4m3Magnitudes()[code & 127];
  return code & 128 ? -magnitude : magnitude;
}
/// Rounds to nearest, ties to the even code; larger values become 448.
inline uint8_t toE4m3(double value) {
  const auto &all = e4m3Magnitudes();
  double magnitude = std::abs(value);
  size_t above = std::lower_bound(all.begin(), all.end(), magnitude) - all.begin();
  size_t best = std::min<size_t>(above, 126);
  if (above > 0 && above < 127) {
    double up = all[above] - magnitude, down = magnitude - all[above - 1];
    if (down < up || (down == up && above % 2))
      best = above - 1;
  }
  return uint8_t(best | (std::signbit(value) ? 128 : 0));
}

} // namespace ingot::codegen::cuda::test
