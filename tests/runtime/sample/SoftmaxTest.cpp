//===- SoftmaxTest.cpp - exp, log and log-sum-exp against libm ------------===//
#include "runtime/sample/Softmax.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {
double ulps(double value, double expected) {
  double unit = std::nextafter(std::fabs(expected), INFINITY) - std::fabs(expected);
  return std::fabs(value - expected) / unit;
}
} // namespace

TEST(Softmax, expIsWithinTwoUlp) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> wide(-700, 0), narrow(-1, 0);
  EXPECT_EQ(expNonPositive(0.0), 1.0);
  for (int i = 0; i < 200000; ++i) {
    double x = i % 2 ? wide(random) : narrow(random);
    ASSERT_LE(ulps(expNonPositive(x), std::exp(x)), 2.0) << x;
  }
}

TEST(Softmax, expOfFarNegativeIsZero) {
  EXPECT_EQ(expNonPositive(-709.0), 0.0);
  EXPECT_EQ(expNonPositive(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(expNonPositive(std::numeric_limits<double>::quiet_NaN()), 0.0);
}

TEST(Softmax, logIsWithinTwoUlp) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-300, 300), near(0.5, 2.0);
  EXPECT_EQ(logPositive(1.0), 0.0);
  for (int i = 0; i < 200000; ++i) {
    double x = i % 2 ? std::exp2(exponent(random)) : near(random);
    ASSERT_LE(ulps(logPositive(x), std::log(x)), 2.0) << x;
  }
}

TEST(Softmax, logSumExpAgreesWithLongDouble) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 8);
  for (size_t count : {1u, 7u, 8u, 9u, 1009u, 49152u}) {
    std::vector<float> logits(count);
    for (float &logit : logits)
      logit = normal(random);
    long double sum = 0;
    for (float logit : logits)
      sum += std::exp((long double)logit);
    EXPECT_NEAR(logSumExp(logits), double(std::log(sum)), 1e-12) << count;
  }
}

TEST(Softmax, logSumExpOfExtremes) {
  float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_EQ(logSumExp(std::vector<float>{-inf, -inf}), -inf);
  EXPECT_EQ(logSumExp(std::vector<float>{1e30f, 0.0f}), double(1e30f));
  EXPECT_NEAR(logSumExp(std::vector<float>{0.0f, nan, 0.0f}), std::log(2.0), 1e-15);
}
