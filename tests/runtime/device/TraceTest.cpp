//===- TraceTest.cpp - Counts of the tokens that experts receive ------------===//
#include "runtime/device/Trace.h"

#include "runtime/abi/Routes.h"
#include "runtime/device/UniformRoutes.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

using namespace ingot;

namespace {

constexpr uint32_t kExperts = 5, kUsed = 3;
constexpr int64_t kTokens = 3;

runtime::Trace watching(const std::byte *routes) {
  runtime::Trace trace({"group"}, {{0, 7}}, 1, /*keepEvents=*/false);
  trace.watchRoutes(0, routes, kExperts, kUsed);
  return trace;
}

TEST(Trace, CountsTheTokensOfEachExpert) {
  // Tokens go to (0, 1, 2), (0, 3, 4) and (1, 2, 3).
  const std::vector<std::byte> routes = runtime::uniformRoutes(kExperts, kUsed, kTokens);
  runtime::Trace trace = watching(routes.data());
  trace.countRoutes(0, kTokens);
  trace.countRoutes(0, kTokens);
  ASSERT_EQ(trace.expertLoads().size(), 1u);
  EXPECT_EQ(trace.expertLoads()[0].layer, 7);
  EXPECT_EQ(trace.expertLoads()[0].tokens, (std::vector<uint64_t>{4, 4, 4, 4, 2}));
}

/// The copy from a device has room for one segment per expert. Its count may be any number.
TEST(Trace, ReadsNoMoreSegmentsThanThereAreExperts) {
  const RoutesLayout layout{0};
  std::vector<std::byte> copy(size_t(layout.segments() - layout.count()) +
                              kExperts * sizeof(RouteSegment));
  auto count = [&](int32_t written) {
    std::memcpy(copy.data(), &written, sizeof written);
    for (int32_t i = 0; i < int32_t(kExperts); ++i) {
      const RouteSegment one{i, 10 * i, 11 * i + 1}; // i + 1 rows
      std::memcpy(copy.data() + layout.segments() - layout.count() + size_t(i) * sizeof one, &one,
                  sizeof one);
    }
    runtime::Trace trace = watching(nullptr);
    trace.countSegments(0, copy.data());
    return trace.expertLoads()[0].tokens;
  };
  using Loads = std::vector<uint64_t>;
  EXPECT_EQ(count(5), (Loads{1, 2, 3, 4, 5}));
  EXPECT_EQ(count(2), (Loads{1, 2, 0, 0, 0}));
  EXPECT_EQ(count(std::numeric_limits<int32_t>::max()), (Loads{1, 2, 3, 4, 5}));
  EXPECT_EQ(count(-1), (Loads{0, 0, 0, 0, 0}));
}

} // namespace
