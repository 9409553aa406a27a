//===- CompareRowsTest.cpp - Which results of a launch are accepted --------===//
#include "compiler/targets/CompareRows.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::compiler;

namespace {

/// Three tokens, each routed to two of four experts.
class Routes {
public:
  static constexpr RoutesLayout kLayout{6};

  Routes() {
    constexpr int32_t kExperts[] = {0, 2, 1, 2, 0, 3}, kRows[] = {0, 3, 2, 4, 1, 5},
                      kTokens[] = {0, 2, 1, 0, 1, 2};
    constexpr float kWeights[] = {0.25f, 0.75f, 0.5f, 0.5f, 0.375f, 0.625f};
    constexpr RouteSegment kSegments[] = {{0, 0, 2}, {1, 2, 3}, {2, 3, 5}, {3, 5, 6}};
    put(kLayout.expert(), kExperts), put(kLayout.weight(), kWeights);
    put(kLayout.row(), kRows), put(kLayout.token(), kTokens);
    put(kLayout.count(), int32_t(4)), put(kLayout.segments(), kSegments);
  }
  template <typename T> void put(int64_t at, const T &value) {
    ASSERT_LE(size_t(at) + sizeof value, bytes.size());
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  const std::byte *data() const { return bytes.data(); }

private:
  std::vector<std::byte> bytes = std::vector<std::byte>(size_t(kLayout.end()));
};

constexpr RoutesLayout kLayout = Routes::kLayout;
constexpr double kAllowed = 1e-6;

/// Compares routes that `change` has modified with the expected routes.
BufferAgreement ofRoute(const std::function<void(Routes &)> &change) {
  Routes expected, found;
  change(found);
  return compareRoutes(kLayout, expected.data(), found.data(), kAllowed);
}
BufferAgreement ofGroupRoutes(const std::function<void(Routes &)> &change) {
  Routes expected, found;
  change(found);
  return compareGroupedRoutes(kLayout, expected.data(), found.data());
}

} // namespace

TEST(CompareRoutes, TheSameAgree) {
  EXPECT_FALSE(ofRoute([](Routes &) {}).wrong);
  EXPECT_FALSE(ofGroupRoutes([](Routes &) {}).wrong);
}
TEST(CompareRoutes, WeightsMayBeOffByLittle) {
  const BufferAgreement little =
      ofRoute([](Routes &r) { r.put(kLayout.weight() + 8, std::nextafter(0.5f, 1.0f)); });
  EXPECT_FALSE(little.wrong);
  EXPECT_FLOAT_EQ(float(little.largest), 0x1p-24f);
  EXPECT_EQ(ofRoute([](Routes &r) { r.put(kLayout.weight() + 8, 0.51f); }).wrong,
            "it weights an expert of a row with 0.510000, expected 0.500000");
  EXPECT_TRUE(ofRoute([](Routes &r) { r.put(kLayout.weight() + 8, NAN); }).wrong);
}
TEST(CompareRoutes, ExpertsMayNot) {
  EXPECT_EQ(ofRoute([](Routes &r) { r.put(kLayout.expert() + 4, int32_t(3)); }).wrong,
            "it chooses the wrong experts for a row");
}
TEST(CompareRoutes, WhatIsBehindThePairsIsNotLookedAt) {
  EXPECT_FALSE(ofRoute([](Routes &r) { r.put(kLayout.endOfPairs(), int32_t(9)); }).wrong);
  EXPECT_EQ(kLayout.endOfPairs(), kLayout.row());
}
TEST(CompareRoutes, GroupsLeavePairsAlone) {
  for (const int64_t at : {kLayout.expert(), kLayout.weight() + 20})
    EXPECT_EQ(ofGroupRoutes([&](Routes &r) { r.put(at, 0.125f); }).wrong,
              "it changes the experts of rows, or their weights");
}
TEST(CompareRoutes, GroupsHaveOneOrder) {
  for (const int64_t at :
       {kLayout.row(), kLayout.token() + 20, kLayout.count(), kLayout.segments() + 3 * 12 + 8})
    EXPECT_EQ(ofGroupRoutes([&](Routes &r) { r.put(at, int32_t(7)); }).wrong,
              "it puts rows of experts in the wrong order");
}
TEST(CompareRoutes, BehindTheSegmentsMayBeAnything) {
  EXPECT_FALSE(ofGroupRoutes([](Routes &r) { r.put(kLayout.segments() + 4 * 12, 1.0f); }).wrong);
  EXPECT_FALSE(ofGroupRoutes([](Routes &r) { r.put(kLayout.count() + 4, 1.0f); }).wrong);
}
