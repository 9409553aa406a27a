//===- E4M3Test.cpp - All codes, and rounding to the nearest one ----------===//
#include "runtime/formats/E4M3.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace ingot;

namespace {

double numberOf(int code) {
  int exponent = code >> 3 & 15, mantissa = code & 7;
  double size = exponent ? std::ldexp(8 + mantissa, exponent - 10) : std::ldexp(mantissa, -9);
  return code & 0x80 ? -size : size;
}

TEST(E4M3, EveryCodeAndBack) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(isE4M3NaN(uint8_t(code)), code == 0x7f || code == 0xff);
    if (isE4M3NaN(uint8_t(code)))
      continue;
    EXPECT_EQ(f32FromE4M3(uint8_t(code)), numberOf(code)) << code;
    EXPECT_EQ(e4m3FromF32(f32FromE4M3(uint8_t(code))), code);
  }
  EXPECT_EQ(f32FromE4M3(0x7e), kE4M3Largest);
}

/// Expects the nearer of the two codes around a number, and the even one for a midpoint.
TEST(E4M3, RoundsToNearestEven) {
  auto expected = [](double value) {
    int best = 0;
    for (int code = 1; code < 127; ++code) {
      double old = std::abs(numberOf(best) - value), now = std::abs(numberOf(code) - value);
      if (now < old || (now == old && code % 2 == 0))
        best = code;
    }
    return best;
  };
  std::mt19937 random(5);
  std::vector<float> values = {0,      0x1p-149f, 0x1p-10f, 0x1.8p-9f, 0x1.fp-7f, 0x1.fffffep-7f,
                               447.9f, 448,       449,      464,       1e30f,     INFINITY};
  for (int code = 0; code + 1 < 127; ++code) { // midpoints and their neighbours
    float middle = float((numberOf(code) + numberOf(code + 1)) / 2);
    for (float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)})
      values.push_back(value);
  }
  for (int i = 0; i < 2000; ++i)
    values.push_back(std::ldexp(1 + float(random() % 8388608) / 8388608, int(random() % 24) - 14));
  for (float value : values) {
    int code = value >= 448 ? 0x7e : expected(value);
    ASSERT_EQ(e4m3FromF32(value), code) << value;
    ASSERT_EQ(e4m3FromF32(-value), code | 0x80) << -value;
  }
}

} // namespace
