//===- SwapSpaceTest.cpp - Extents do not overlap and are all returned -----===//
#include "runtime/kv/SwapSpace.h"

#include <random>

#include <gtest/gtest.h>

using namespace ingot::runtime;

TEST(SwapSpace, joinsWhatIsGivenBack) {
  std::vector<std::byte> memory(100);
  SwapSpace swap(memory);
  auto a = swap.take(40), b = swap.take(30), c = swap.take(30);
  ASSERT_EQ(a.size() + b.size() + c.size(), 100u);
  EXPECT_TRUE(swap.take(1).empty());
  swap.giveBack(a);
  swap.giveBack(c);
  EXPECT_TRUE(swap.take(41).empty()); // only holes of 40 and 30 are left
  swap.giveBack(b);
  EXPECT_EQ(swap.take(100).size(), 100u);
  EXPECT_EQ(swap.inUse(), 100u);
  EXPECT_TRUE(SwapSpace({}).take(1).empty());
  EXPECT_TRUE(swap.take(0).empty());
}

TEST(SwapSpace, randomExtentsNeverOverlap) {
  std::vector<std::byte> memory(1000);
  SwapSpace swap(memory);
  std::vector<std::pair<std::span<std::byte>, std::byte>> held;
  std::mt19937 random(3);
  uint64_t used = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2) {
      auto extent = swap.take(1 + random() % 200);
      if (extent.empty())
        continue;
      auto mark = std::byte(i);
      std::fill(extent.begin(), extent.end(), mark);
      held.emplace_back(extent, mark);
      used += extent.size();
    } else if (!held.empty()) {
      size_t chosen = random() % held.size();
      for (std::byte b : held[chosen].first)
        ASSERT_EQ(b, held[chosen].second);
      used -= held[chosen].first.size();
      swap.giveBack(held[chosen].first);
      held.erase(held.begin() + long(chosen));
    }
    ASSERT_EQ(swap.inUse(), used);
  }
  for (auto &[extent, mark] : held)
    swap.giveBack(extent);
  EXPECT_EQ(swap.take(1000).size(), 1000u);
}
