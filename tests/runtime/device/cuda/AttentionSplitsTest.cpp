//===- AttentionSplitsTest.cpp - KV chunks of random schedules, split over blocks -===//
#include "runtime/device/cuda/AttentionSplits.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace ingot;
using namespace ingot::cuda;

namespace {

std::vector<AttentionTile> decodesAt(const std::vector<int64_t> &positions) {
  std::vector<AttentionTile> tiles;
  for (int64_t position : positions) {
    const auto i = int32_t(tiles.size());
    tiles.push_back({i, 1, i, int32_t(position)});
  }
  return tiles;
}

std::vector<AttentionSplit> dealt(const std::vector<AttentionTile> &tiles,
                                  const AttentionSplitting &sharing) {
  std::vector<AttentionSplit> shares(tiles.size() + size_t(sharing.shares));
  const int64_t count = assignSplits(tiles, sharing, shares.data());
  EXPECT_GE(count, int64_t(tiles.size()));
  EXPECT_LE(count, int64_t(shares.size()));
  shares.resize(size_t(count));
  return shares;
}

int64_t chunksOf(int64_t position) { return position / kChunkPositions + 1; }

/// Replays a kernel's traversal of the list (device/attention_decode.cuh), for a layer with a window
/// of `window` positions; 0 means all.
struct Walk {
  int64_t longest = 0; ///< largest number of KV chunks of a split
  int64_t slots = 0;   ///< one past the last

  Walk(const std::vector<AttentionTile> &tiles, const std::vector<AttentionSplit> &shares,
       int64_t window) {
    std::map<int32_t, std::multiset<int64_t>> takenOf;
    std::map<int32_t, int32_t> sharesOf, counterOf;
    std::map<int64_t, int32_t> ownerOfSlot;
    std::set<int32_t> counters;
    for (const AttentionSplit &split : shares) {
      const int64_t from = window ? std::max<int64_t>(0, split.position - window + 1) : 0,
                    first = from / kChunkPositions, chunks = chunksOf(split.position) - first,
                    by = std::min<int64_t>(split.of, chunks);
      EXPECT_EQ(split.position, tiles[size_t(split.token)].firstPosition);
      EXPECT_EQ(split.sequence, tiles[size_t(split.token)].sequence);
      EXPECT_GE(split.index, 0);
      EXPECT_LT(split.index, split.of);
      EXPECT_EQ(split.zero, 0);
      ++sharesOf[split.token];
      if (split.index == 0 && split.of > 1)
        EXPECT_TRUE(counters.insert(split.counter).second) << "a counter of its own";
      if (split.index == 0)
        counterOf[split.token] = split.counter;
      EXPECT_EQ(counterOf[split.token], split.counter);
      int64_t walked = 0;
      for (int64_t chunk = split.index; split.index < by && chunk < chunks; chunk += by, ++walked) {
        takenOf[split.token].insert(chunk);
        if (by > 1) {
          EXPECT_TRUE(ownerOfSlot.emplace(split.slot + chunk, split.token).second)
              << "slots overlap";
          slots = std::max(slots, split.slot + chunk + 1);
        }
      }
      longest = std::max(longest, walked);
    }
    for (const AttentionSplit &split : shares)
      EXPECT_EQ(sharesOf[split.token], split.of);
    for (const AttentionTile &tile : tiles) {
      const int64_t from = window ? std::max<int64_t>(0, tile.firstPosition - window + 1) : 0;
      std::multiset<int64_t> all;
      for (int64_t chunk = 0; chunk < chunksOf(tile.firstPosition) - from / kChunkPositions;
           ++chunk)
        all.insert(chunk);
      EXPECT_EQ(takenOf[tile.firstToken], all) << "each run once, token " << tile.firstToken;
    }
  }
};

TEST(AttentionSplits, EveryChunkIsAssignedOnceWithinItsBound) {
  std::mt19937_64 random(7);
  auto below = [&](int64_t most) { return int64_t(random() % uint64_t(most)); };
  for (int round = 0; round < 400; ++round) {
    std::vector<int64_t> positions;
    const int64_t longest = int64_t(1) << (4 + below(14));
    for (int64_t i = 1 + below(round % 7 ? 20 : 300); i > 0; --i)
      positions.push_back(below(below(5) ? std::max<int64_t>(longest / 16, 1) : longest));
    const std::vector<AttentionTile> tiles = decodesAt(positions);
    const AttentionSplitting sharing{2 + below(255), below(3) ? 4096 : 1 + below(600), 0};
    SCOPED_TRACE(testing::Message() << "round " << round << ", " << tiles.size() << " tiles, "
                                    << sharing.shares << " shares, " << sharing.slots << " slots");
    const std::vector<AttentionSplit> shares = dealt(tiles, sharing);
    int64_t chunks = 0;
    for (int64_t position : positions)
      chunks += chunksOf(position);
    const Walk walk(tiles, shares, 0);
    EXPECT_LE(walk.slots, sharing.slots);
    // The bound holds unless some tiles found no slots.
    const int64_t bound = (chunks + sharing.shares - 1) / sharing.shares;
    int64_t needed = 0;
    for (int64_t position : positions)
      needed += chunksOf(position) > bound ? chunksOf(position) : 0;
    if (needed <= sharing.slots)
      EXPECT_LE(walk.longest, bound);
    for (int64_t window : {1, 300, 1024, 5000}) // layers of the same step
      EXPECT_LE(Walk(tiles, shares, window).longest, std::max(walk.longest, int64_t(1)));
    // There are fewer counters than splits.
    for (const AttentionSplit &split : shares)
      EXPECT_LT(split.counter, sharing.shares);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(AttentionSplits, TheLongestComeFirst) {
  const auto tiles = decodesAt({100, 65'535, 200, 20'000});
  const auto shares = dealt(tiles, {64, 4096, 0});
  EXPECT_EQ(shares.front().token, 1);
  EXPECT_EQ(shares.front().of, 43) << "256 runs, at most ceil(337 / 64) = 6 each";
  EXPECT_EQ(shares[43].token, 3);
  EXPECT_EQ(shares[43].slot, 256);
  EXPECT_EQ(shares[43].counter, 1);
  EXPECT_EQ(shares.back().token, 2);
}

TEST(AttentionSplits, NothingIsSharedWithoutSharesOrSlots) {
  const auto tiles = decodesAt({65'535, 0});
  EXPECT_EQ(dealt(tiles, {}).size(), 2u);
  EXPECT_EQ(dealt(tiles, {64, 255, 0}).size(), 2u) << "256 runs";
  EXPECT_EQ(dealt(tiles, {64, 256, 0}).front().of, 52);
}

/// Equal contexts that fill the GPU are not split, since merging the parts would only add cost.
TEST(AttentionSplits, ManyOfOneLengthAreNotCut) {
  EXPECT_EQ(dealt(decodesAt(std::vector<int64_t>(64, 1000)), {64, 4096, 0}).size(), 64u);
}

/// If all layers have a window, positions before it do not count.
TEST(AttentionSplits, WindowsBoundTheChunks) {
  const auto tiles = decodesAt({65'535});
  EXPECT_EQ(dealt(tiles, {64, 4096, 0}).size(), 64u);
  const auto shares = dealt(tiles, {64, 4096, 1024});
  EXPECT_EQ(shares.size(), 5u) << "a window begins anywhere in a run";
  EXPECT_EQ(Walk(tiles, shares, 1024).longest, 1);
}

TEST(AttentionSplits, WhatDecodes) {
  const std::vector<AttentionTile> tiles = {
      {0, 1, 0, 5}, {1, 16, 1, 0}, {17, 1, 1, 16}, {18, 1, 2, 7}, {19, 1, 2, 8}};
  const bool expected[] = {true, false, false, true, false};
  for (size_t i = 0; i < tiles.size(); ++i)
    EXPECT_EQ(decodes(tiles, i), expected[i]) << i;
}

} // namespace
