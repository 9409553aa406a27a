//===- RouterTest.cpp - Which replica gets a request ------------------------===//
#include "runtime/schedule/simulate/Router.h"

#include <numeric>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

Router routerOf(RoutePolicy policy, size_t replicas, int64_t blocks = 1000) {
  RouterOptions options;
  options.policy = policy;
  options.blocks = blocks;
  Router router(options, replicas);
  for (size_t i = 0; i < replicas; ++i)
    router.take(i, true);
  return router;
}

/// Returns `count` consecutive ids from `first`. Lists with another `first` differ from their first id on.
std::vector<int32_t> ids(int32_t first, size_t count) {
  std::vector<int32_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<int64_t> sent(Router &router, int requests, int64_t session = -1) {
  std::vector<int64_t> where;
  for (int i = 0; i < requests; ++i)
    where.push_back(router.send({}, session));
  return where;
}

} // namespace

TEST(Router, roundRobinGoesRound) {
  Router router = routerOf(RoutePolicy::RoundRobin, 3);
  EXPECT_EQ(sent(router, 7), (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0}));
  router.take(1, false);
  EXPECT_EQ(sent(router, 3), (std::vector<int64_t>{2, 0, 2}));
}

TEST(Router, leastCountsWhatHasNotEnded) {
  Router router = routerOf(RoutePolicy::Least, 3);
  EXPECT_EQ(sent(router, 5), (std::vector<int64_t>{0, 1, 2, 0, 1}));
  router.ended(1);
  router.ended(1);
  EXPECT_EQ(sent(router, 2), (std::vector<int64_t>{1, 2})) << "nothing there; of three with one";
  EXPECT_EQ(router.load(0), 2);
}

TEST(Router, randomIsEvenAndOfItsSeed) {
  Router router = routerOf(RoutePolicy::Random, 4), same = routerOf(RoutePolicy::Random, 4);
  EXPECT_EQ(sent(router, 4000), sent(same, 4000));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(double(router.load(i)), 1000, 120);
}

/// The most loaded of many replicas exceeds the mean by far less than under random routing.
TEST(Router, twoChoicesAreNearlyAsEvenAsLeast) {
  auto most = [](RoutePolicy policy) {
    Router router = routerOf(policy, 64);
    sent(router, 64 * 20);
    int64_t most = 0;
    for (size_t i = 0; i < 64; ++i)
      most = std::max(most, router.load(i));
    return most;
  };
  EXPECT_EQ(most(RoutePolicy::Least), 20);
  EXPECT_LE(most(RoutePolicy::TwoChoices), 23);
  EXPECT_GE(most(RoutePolicy::Random), 28);
  Router one = routerOf(RoutePolicy::TwoChoices, 1);
  EXPECT_EQ(one.send({}, -1), 0);
}

TEST(Router, sessionsStayWhereTheyAre) {
  Router router = routerOf(RoutePolicy::Session, 8);
  std::vector<int64_t> home(200);
  std::vector<int> of(8);
  for (int64_t s = 0; s < 200; ++s) {
    home[size_t(s)] = router.send({}, s);
    ++of[size_t(home[size_t(s)])];
    EXPECT_EQ(router.send({}, s), home[size_t(s)]);
  }
  for (int count : of)
    EXPECT_GE(count, 10) << "of 25 in the mean";
  // Sessions of a removed replica move to another one. No other session moves.
  router.take(3, false);
  for (int64_t s = 0; s < 200; ++s) {
    const int64_t now = router.send({}, s);
    EXPECT_NE(now, 3);
    if (home[size_t(s)] != 3)
      EXPECT_EQ(now, home[size_t(s)]);
  }
}

TEST(Router, nobodyTakesAny) {
  Router router = routerOf(RoutePolicy::Prefix, 2);
  router.take(0, false);
  router.take(1, false);
  EXPECT_EQ(router.send(ids(0, 64), -1), -1);
}

TEST(Router, prefixFollowsTheLongestMatch) {
  Router router = routerOf(RoutePolicy::Prefix, 4);
  const auto a = ids(0, 100), b = ids(5000, 100);
  EXPECT_EQ(router.send(a, -1), 0);
  EXPECT_EQ(router.send(b, -1), 1);
  EXPECT_EQ(router.send(a, -1), 0);
  // 48 equal ids make three blocks, and 15 make none.
  auto half = a, hardly = a;
  std::iota(half.begin() + 48, half.end(), 9000);
  std::iota(hardly.begin() + 15, hardly.end(), 9500);
  EXPECT_EQ(router.send(half, -1), 0);
  EXPECT_EQ(router.send(hardly, -1), 2) << "the least loaded";
  // The replica with the longest match gets the request. Replica 1 gets a longer prefix of `a` while
  // replica 0 takes no requests.
  router.take(0, false);
  router.take(2, false);
  router.take(3, false);
  auto longer = a;
  longer.resize(160, 7);
  EXPECT_EQ(router.send(longer, -1), 1);
  for (size_t i : {0, 2, 3})
    router.take(i, true);
  auto longest = longer;
  longest.resize(300, 8);
  EXPECT_EQ(router.send(longest, -1), 1);
  // A restarted replica has nothing cached.
  router.forget(1);
  EXPECT_EQ(router.send(longest, -1), 0);
}

/// A load above least * 1.25 + 4 is too high.
TEST(Router, loadOutweighsThePrefix) {
  Router router = routerOf(RoutePolicy::Prefix, 2);
  const auto a = ids(0, 64);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(router.send(a, -1), 0);
  EXPECT_EQ(router.load(0), 5);
  EXPECT_EQ(router.send(a, -1), 1) << "5 > 0 * 1.25 + 4";
  EXPECT_EQ(router.send(a, -1), 1) << "both have it now, and 1 has less to do";
  for (int i = 0; i < 4; ++i)
    router.ended(0);
  EXPECT_EQ(router.send(a, -1), 0);
}

/// If the replica with the longest match is overloaded, the replica with the next longest match gets the request before
/// any replica without a match.
TEST(Router, prefixKnowsASecond) {
  Router router = routerOf(RoutePolicy::Prefix, 3);
  const auto half = ids(0, 64), whole = ids(0, 128);
  router.take(0, false);
  router.take(2, false);
  EXPECT_EQ(router.send(half, -1), 1);
  router.take(1, false);
  router.take(2, true);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(router.send(whole, -1), 2);
  router.take(0, true);
  router.take(1, true);
  EXPECT_EQ(router.send(whole, -1), 1) << "of loads 0, 1 and 6";
}

TEST(Router, whatWasSentLongAgoIsForgotten) {
  SentBlocks blocks(6);
  const std::vector<uint64_t> a{1, 2, 3, 4}, b{11, 12}, c{21, 22, 23};
  blocks.remember(a);
  blocks.remember(b);
  EXPECT_EQ(blocks.size(), 6u);
  blocks.remember(a);
  blocks.remember(c); // evicts b's two blocks and the end of a
  EXPECT_EQ(blocks.size(), 6u);
  for (uint64_t block : {1, 2, 3, 21, 22, 23})
    EXPECT_TRUE(blocks.has(block)) << block;
  for (uint64_t block : {4, 11, 12})
    EXPECT_FALSE(blocks.has(block)) << block;
  // A request longer than the capacity is remembered by its beginning.
  std::vector<uint64_t> longest(20);
  std::iota(longest.begin(), longest.end(), 100);
  blocks.remember(longest);
  EXPECT_TRUE(blocks.has(100) && blocks.has(105));
  EXPECT_FALSE(blocks.has(106) || blocks.has(1));
  SentBlocks none(0);
  none.remember(a);
  EXPECT_EQ(none.size(), 0u);
}
