//===- PhiloxTest.cpp - Known answers of Philox4x32-10 --------------------===//
#include "runtime/sample/Philox.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

// From the Random123 distribution, examples/kat_vectors: philox4x32 10.
TEST(Philox, knownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, randomDependsOnEveryPartOfTheKey) {
  uint64_t base = randomFor(1, 2, 3);
  EXPECT_EQ(base, randomFor(1, 2, 3));
  EXPECT_NE(base, randomFor(2, 2, 3));
  EXPECT_NE(base, randomFor(uint64_t(1) << 32 | 1, 2, 3));
  EXPECT_NE(base, randomFor(1, 3, 3));
  EXPECT_NE(base, randomFor(1, 2, 4));
  EXPECT_NE(base, randomFor(1, 2, uint64_t(1) << 32 | 3));
}

TEST(Philox, randomFillsTheUnitInterval) {
  constexpr int kDraws = 100000, kBins = 50;
  std::array<int, kBins> bins{};
  for (int position = 0; position < kDraws; ++position) {
    double u = double(randomFor(42, 0, uint64_t(position)) >> 11) * 0x1p-53;
    ++bins[size_t(u * kBins)];
  }
  double chi2 = 0, expected = double(kDraws) / kBins;
  for (int count : bins)
    chi2 += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi2, 85.4); // 49 degrees of freedom, p = 0.001
}
