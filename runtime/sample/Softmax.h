//===- Softmax.h - Reproducible exp, log and log-sum-exp ------------------===//
//
// The C library chooses its exp and log by CPU features and does not guarantee the last bit. Results for a seed
// must not depend on that. These functions are therefore implemented in double with plain multiplications and
// additions (the build sets -ffp-contract=off). Errors stay under 2 ulp; the tests compare with libm.
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace ingot::runtime {

/// Returns e^x for x <= 0 (0 below -708). It has no branches, so loops over it vectorise.
inline double expNonPositive(double x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2Hi = 0.6931471803691238; // 33 bits: k * kLn2Hi is exact
  constexpr double kLn2Lo = 1.9082149292705877e-10;
  constexpr double kRound = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to an integer
  double bounded = x > -708.0 ? x : -708.0;
  double shifted = bounded * kLog2E + kRound;
  double k = shifted - kRound;
  double r = (bounded - k * kLn2Hi) - k * kLn2Lo;
  // Taylor series to r^13 / 13!. Since |r| <= ln2 / 2, the remainder is below 2^-55.
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  // The low bits of `shifted` are k. Move them into the exponent.
  double scale = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) << 52) +
                                       std::bit_cast<uint64_t>(1.0));
  return x > -708.0 ? p * scale : 0.0;
}

/// Returns the sampling weight of a token: e^x for x <= 0, in units of 2^-42, rounded to nearest. It is 0 for NaN and
/// for x < -28 (1e-12 of the most likely token's weight). Integers have the same sum in any order, so a GPU may add
/// them in its own order (codegen/cuda/device/draw.cuh has the same function). Sums over fewer than 2^22 tokens cannot
/// overflow.
constexpr double kLeastExponent = -28.0;
constexpr double kWeightUnit = 0x1p-42;
inline uint64_t drawWeight(double x) {
  // Adding 2^52 rounds to an integer and leaves it in the low bits.
  uint64_t bits = std::bit_cast<uint64_t>(expNonPositive(x) / kWeightUnit + 0x1p52);
  return x >= kLeastExponent ? bits - std::bit_cast<uint64_t>(0x1p52) : 0;
}

/// Returns the natural logarithm of a positive, normal x.
double logPositive(double x);

/// Sets weights[i] = exp(logits[i] - largest), and 0 for NaN. This function and the next use the machine's widest
/// vectors. Lanes are independent, so the bits are the same on all machines.
void expWeights(std::span<const float> logits, float largest, double *weights);

/// Sets weights[i] = drawWeight(x) with x = (logits[i] - largest) * scale, or 0 where x < least.
void drawWeights(std::span<const float> logits, float largest, double scale, double least,
                 uint64_t *weights);

/// Returns the largest logit, ignoring NaN; -inf if all are NaN.
float largestOf(std::span<const float> logits);

/// Returns log(sum(exp(logits))) in double, summed in an order that depends only on the ids. NaN counts as -inf.
double logSumExp(std::span<const float> logits);

} // namespace ingot::runtime
