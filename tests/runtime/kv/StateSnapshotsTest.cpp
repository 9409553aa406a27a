//===- StateSnapshotsTest.cpp - Which slot each sequence reads and writes -===//
//
// Follows the lifetimes of single snapshots. RandomScheduleTest checks that under any schedule
// every sequence computes the same result as by itself.
//===----------------------------------------------------------------------===//
#include "runtime/kv/StateSnapshots.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

constexpr int64_t kPage = 32;

/// Returns the names of pages filled with one repeated token.
std::vector<PageName> namesOf(int64_t pages, int32_t token = 7) {
  static const PrefixHasher hasher;
  const std::vector<int32_t> tokens(size_t(kPage), token);
  std::vector<PageName> names{hasher.root(0)};
  for (int64_t i = 0; i < pages; ++i)
    names.push_back(hasher.next(names.back(), tokens));
  return names;
}

struct Snapshots : StateSnapshots {
  explicit Snapshots(int64_t slots, int64_t snapshotPages = 2)
      : StateSnapshots({slots, snapshotPages}, /*sequences=*/4, kPage, /*mostTokens=*/256) {}
  /// Runs a step of one sequence.
  bool run(int32_t sequence, int64_t position, int64_t tokens) {
    if (!extend(sequence, position, tokens))
      return false;
    commit(sequence, position + tokens);
    return true;
  }
};

TEST(StateSnapshots, aloneOneSlotIsEnough) {
  Snapshots snapshots(5);
  snapshots.admit(0, {}, 0, 10);
  EXPECT_EQ(snapshots.from(0), -1) << "zeros";
  EXPECT_EQ(snapshots.available(), 4);
  ASSERT_TRUE(snapshots.extend(0, 0, 10));
  const int32_t slot = snapshots.writes(0).front().slot;
  EXPECT_EQ(snapshots.writes(0).front().position, 10);
  snapshots.commit(0, 10);
  for (int64_t position = 10; position < 80; ++position) {
    ASSERT_TRUE(snapshots.extend(0, position, 1));
    ASSERT_EQ(snapshots.from(0), slot);
    ASSERT_EQ(snapshots.writes(0).front().slot, slot) << "in place";
    snapshots.commit(0, position + 1);
  }
  EXPECT_EQ(snapshots.slots().held(), 1);
  snapshots.release(0);
  EXPECT_EQ(snapshots.available(), 5);
}

TEST(StateSnapshots, aPromiseOutlivesAPlan) {
  Snapshots snapshots(3);
  snapshots.admit(0, {}, 0, 10);
  snapshots.admit(1, {}, 0, 10);
  snapshots.admit(2, {}, 0, 10);
  EXPECT_EQ(snapshots.missing({}, 0), 1);
  for (int again = 0; again < 3; ++again) {
    ASSERT_TRUE(snapshots.extend(0, 0, 10 + again));
    EXPECT_EQ(snapshots.available(), 0);
    EXPECT_EQ(snapshots.promised() + snapshots.slots().held(), 3);
  }
  snapshots.release(0); // the plan was not carried out
  EXPECT_EQ(snapshots.missing({}, 0), 0);
  EXPECT_TRUE(snapshots.run(1, 0, 10) && snapshots.run(2, 0, 10));
}

TEST(StateSnapshots, forksReadOneAndWriteTheirOwn) {
  Snapshots snapshots(4);
  snapshots.admit(0, {}, 0, 10);
  ASSERT_TRUE(snapshots.run(0, 0, 10));
  snapshots.fork(0, 1);
  const int32_t common = snapshots.from(0);
  EXPECT_EQ(snapshots.from(1), common);
  ASSERT_TRUE(snapshots.extend(0, 10, 1) && snapshots.extend(1, 10, 1));
  EXPECT_NE(snapshots.writes(0).front().slot, common) << "the other one reads it in this step";
  EXPECT_NE(snapshots.writes(1).front().slot, common);
  EXPECT_NE(snapshots.writes(0).front().slot, snapshots.writes(1).front().slot);
  snapshots.commit(0, 11);
  snapshots.commit(1, 11);
  EXPECT_EQ(snapshots.slots().held(), 2) << "the common one is nobody's";
}

TEST(StateSnapshots, draftsAreRolledBack) {
  for (int64_t accepted : {0, 1, 2, 3}) {
    Snapshots snapshots(8);
    snapshots.admit(0, {}, 0, 10);
    ASSERT_TRUE(snapshots.run(0, 0, 10));
    const int32_t before = snapshots.from(0);
    ASSERT_TRUE(snapshots.extend(0, 10, 1));
    EXPECT_EQ(snapshots.propose(0, 10, 3), 3);
    const auto writes = snapshots.writes(0);
    ASSERT_EQ(writes.size(), 4u);
    EXPECT_NE(writes.front().slot, before) << "not in place";
    const SnapshotWrite kept = writes[size_t(accepted)];
    EXPECT_EQ(kept.position, 11 + accepted);
    snapshots.commit(0, kept.position);
    EXPECT_EQ(snapshots.from(0), kept.slot);
    EXPECT_EQ(snapshots.slots().held(), 1);
  }
  Snapshots few(3);
  few.admit(0, {}, 0, 10);
  ASSERT_TRUE(few.run(0, 0, 10) && few.extend(0, 10, 1));
  EXPECT_EQ(few.propose(0, 10, 3), 1) << "one for the token, one for a draft";
}

/// A prompt of 100 tokens leaves snapshots at the ends of page 2 (every second page) and page 3 (the last).
TEST(StateSnapshots, bordersAreKeptByName) {
  Snapshots snapshots(8);
  const auto names = namesOf(3);
  snapshots.admit(0, names, 0, 100);
  ASSERT_TRUE(snapshots.extend(0, 0, 100));
  EXPECT_EQ(snapshots.writes(0).size(), 3u);
  snapshots.commit(0, 100);
  EXPECT_FALSE(snapshots.has(names, 2)) << "its name is not known yet";
  snapshots.name(0, std::span(names).first(3));
  EXPECT_TRUE(snapshots.has(names, 2));
  EXPECT_FALSE(snapshots.has(names, 3));
  snapshots.name(0, names);
  EXPECT_TRUE(snapshots.has(names, 3));
  EXPECT_FALSE(snapshots.has(names, 1));
  EXPECT_FALSE(snapshots.has(namesOf(3, 8), 3));
  EXPECT_EQ(snapshots.slots().held(), 1);
  EXPECT_EQ(snapshots.slots().cached(), 2);
  EXPECT_EQ(snapshots.available(), 7) << "the cache costs nobody a slot";

  ASSERT_EQ(snapshots.missing(names, 3), 2 - 7);
  snapshots.admit(1, names, 3, 100);
  const int32_t found = snapshots.from(1);
  ASSERT_TRUE(snapshots.extend(1, 96, 4));
  EXPECT_NE(snapshots.writes(1).back().slot, found) << "others may look for it";
  snapshots.commit(1, 100);
  EXPECT_TRUE(snapshots.has(names, 3));
}

/// A snapshot at a page border that is also cached is overwritten if there is no other slot.
TEST(StateSnapshots, theCacheIsEvicted) {
  for (int64_t slots : {2, 3}) {
    Snapshots snapshots(slots);
    const auto names = namesOf(2);
    snapshots.admit(0, names, 0, 64);
    ASSERT_TRUE(snapshots.run(0, 0, 64));
    snapshots.name(0, names);
    EXPECT_TRUE(snapshots.has(names, 2));
    snapshots.admit(1, {}, 0, 5);
    ASSERT_TRUE(snapshots.run(1, 0, 5));
    ASSERT_TRUE(snapshots.run(0, 64, 1));
    EXPECT_EQ(snapshots.has(names, 2), slots > 2);
    EXPECT_EQ(snapshots.slots().held(), 2);
  }
}

} // namespace
