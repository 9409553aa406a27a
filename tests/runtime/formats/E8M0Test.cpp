//===- E8M0Test.cpp - All codes -------------------------------------------===//
#include "runtime/formats/E8M0.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace ingot;

namespace {

TEST(E8M0, EveryCode) {
  for (int code = 0; code < 255; ++code) {
    EXPECT_FALSE(isE8M0NaN(uint8_t(code)));
    EXPECT_EQ(f32FromE8M0(uint8_t(code)), std::ldexp(1.0, code - 127)) << code;
    EXPECT_EQ(0.5f * f32FromE8M0(uint8_t(code)), std::ldexp(1.0, code - 128)) << code;
  }
  EXPECT_TRUE(isE8M0NaN(0xff));
  EXPECT_TRUE(std::isnan(f32FromE8M0(0xff)));
}

} // namespace
