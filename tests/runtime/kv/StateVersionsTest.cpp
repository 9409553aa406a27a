//===- StateVersionsTest.cpp - Which slot each sequence reads and writes ----===//
//
// Follows the lifetimes of single versions. RandomScheduleTest checks that under any schedule every
// sequence computes the same result as alone.
//===----------------------------------------------------------------------===//
#include "runtime/kv/StateVersions.h"

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

struct Versions : StateVersions {
  explicit Versions(int64_t slots, int64_t snapshotPages = 2)
      : StateVersions({slots, snapshotPages}, /*seats=*/4, kPage, /*mostTokens=*/256) {}
  /// Runs a step of one sequence.
  bool run(int32_t seat, int64_t position, int64_t tokens) {
    if (!extend(seat, position, tokens))
      return false;
    commit(seat, position + tokens);
    return true;
  }
};

TEST(StateVersions, aloneOneSlotIsEnough) {
  Versions versions(5);
  versions.admit(0, {}, 0, 10);
  EXPECT_EQ(versions.from(0), -1) << "zeros";
  EXPECT_EQ(versions.available(), 4);
  ASSERT_TRUE(versions.extend(0, 0, 10));
  const int32_t slot = versions.writes(0).front().slot;
  EXPECT_EQ(versions.writes(0).front().position, 10);
  versions.commit(0, 10);
  for (int64_t position = 10; position < 80; ++position) {
    ASSERT_TRUE(versions.extend(0, position, 1));
    ASSERT_EQ(versions.from(0), slot);
    ASSERT_EQ(versions.writes(0).front().slot, slot) << "in place";
    versions.commit(0, position + 1);
  }
  EXPECT_EQ(versions.slots().held(), 1);
  versions.release(0);
  EXPECT_EQ(versions.available(), 5);
}

TEST(StateVersions, aPromiseOutlivesAPlan) {
  Versions versions(3);
  versions.admit(0, {}, 0, 10);
  versions.admit(1, {}, 0, 10);
  versions.admit(2, {}, 0, 10);
  EXPECT_EQ(versions.missing({}, 0), 1);
  for (int again = 0; again < 3; ++again) {
    ASSERT_TRUE(versions.extend(0, 0, 10 + again));
    EXPECT_EQ(versions.available(), 0);
    EXPECT_EQ(versions.promised() + versions.slots().held(), 3);
  }
  versions.release(0); // the plan was not carried out
  EXPECT_EQ(versions.missing({}, 0), 0);
  EXPECT_TRUE(versions.run(1, 0, 10) && versions.run(2, 0, 10));
}

TEST(StateVersions, forksReadOneAndWriteTheirOwn) {
  Versions versions(4);
  versions.admit(0, {}, 0, 10);
  ASSERT_TRUE(versions.run(0, 0, 10));
  versions.fork(0, 1);
  const int32_t common = versions.from(0);
  EXPECT_EQ(versions.from(1), common);
  ASSERT_TRUE(versions.extend(0, 10, 1) && versions.extend(1, 10, 1));
  EXPECT_NE(versions.writes(0).front().slot, common) << "the other one reads it in this step";
  EXPECT_NE(versions.writes(1).front().slot, common);
  EXPECT_NE(versions.writes(0).front().slot, versions.writes(1).front().slot);
  versions.commit(0, 11);
  versions.commit(1, 11);
  EXPECT_EQ(versions.slots().held(), 2) << "the common one is nobody's";
}

TEST(StateVersions, draftsAreTakenBack) {
  for (int64_t accepted : {0, 1, 2, 3}) {
    Versions versions(8);
    versions.admit(0, {}, 0, 10);
    ASSERT_TRUE(versions.run(0, 0, 10));
    const int32_t before = versions.from(0);
    ASSERT_TRUE(versions.extend(0, 10, 1));
    EXPECT_EQ(versions.propose(0, 10, 3), 3);
    const auto writes = versions.writes(0);
    ASSERT_EQ(writes.size(), 4u);
    EXPECT_NE(writes.front().slot, before) << "not in place";
    const VersionWrite kept = writes[size_t(accepted)];
    EXPECT_EQ(kept.position, 11 + accepted);
    versions.commit(0, kept.position);
    EXPECT_EQ(versions.from(0), kept.slot);
    EXPECT_EQ(versions.slots().held(), 1);
  }
  Versions few(3);
  few.admit(0, {}, 0, 10);
  ASSERT_TRUE(few.run(0, 0, 10) && few.extend(0, 10, 1));
  EXPECT_EQ(few.propose(0, 10, 3), 1) << "one for the token, one for a draft";
}

/// A prompt of 100 tokens leaves versions at the ends of page 2 (every second page) and page 3 (the last).
TEST(StateVersions, bordersAreKeptByName) {
  Versions versions(8);
  const auto names = namesOf(3);
  versions.admit(0, names, 0, 100);
  ASSERT_TRUE(versions.extend(0, 0, 100));
  EXPECT_EQ(versions.writes(0).size(), 3u);
  versions.commit(0, 100);
  EXPECT_FALSE(versions.has(names, 2)) << "its name is not known yet";
  versions.name(0, std::span(names).first(3));
  EXPECT_TRUE(versions.has(names, 2));
  EXPECT_FALSE(versions.has(names, 3));
  versions.name(0, names);
  EXPECT_TRUE(versions.has(names, 3));
  EXPECT_FALSE(versions.has(names, 1));
  EXPECT_FALSE(versions.has(namesOf(3, 8), 3));
  EXPECT_EQ(versions.slots().held(), 1);
  EXPECT_EQ(versions.slots().kept(), 2);
  EXPECT_EQ(versions.available(), 7) << "the cache costs nobody a slot";

  ASSERT_EQ(versions.missing(names, 3), 2 - 7);
  versions.admit(1, names, 3, 100);
  const int32_t found = versions.from(1);
  ASSERT_TRUE(versions.extend(1, 96, 4));
  EXPECT_NE(versions.writes(1).back().slot, found) << "others may look for it";
  versions.commit(1, 100);
  EXPECT_TRUE(versions.has(names, 3));
}

/// A version at a page border that is also cached is overwritten if there is no other slot.
TEST(StateVersions, theCacheGivesWay) {
  for (int64_t slots : {2, 3}) {
    Versions versions(slots);
    const auto names = namesOf(2);
    versions.admit(0, names, 0, 64);
    ASSERT_TRUE(versions.run(0, 0, 64));
    versions.name(0, names);
    EXPECT_TRUE(versions.has(names, 2));
    versions.admit(1, {}, 0, 5);
    ASSERT_TRUE(versions.run(1, 0, 5));
    ASSERT_TRUE(versions.run(0, 64, 1));
    EXPECT_EQ(versions.has(names, 2), slots > 2);
    EXPECT_EQ(versions.slots().held(), 2);
  }
}

} // namespace
