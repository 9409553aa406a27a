//===- UniformRoutesTest.cpp - The layout of dummy routes ------------------===//
#include "runtime/device/UniformRoutes.h"

#include "runtime/abi/Routes.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace ingot;

namespace {

template <typename T>
std::vector<T> read(const std::vector<std::byte> &from, int64_t at, int64_t n) {
  std::vector<T> list(static_cast<size_t>(n));
  std::memcpy(list.data(), from.data() + at, list.size() * sizeof(T));
  return list;
}

TEST(UniformRoutes, GoByExpertThenByToken) {
  // Tokens go to (0, 1, 2), (0, 3, 4) and (1, 2, 3) of five experts.
  const std::vector<std::byte> routes = runtime::uniformRoutes(5, 3, 3);
  const RoutesLayout layout{9};
  ASSERT_EQ(int64_t(routes.size()), 3 * routesBytes(3));
  EXPECT_EQ(read<int32_t>(routes, layout.expert(), 9),
            (std::vector<int32_t>{0, 1, 2, 0, 3, 4, 1, 2, 3}));
  EXPECT_EQ(read<int32_t>(routes, layout.token(), 9),
            (std::vector<int32_t>{0, 1, 0, 2, 0, 2, 1, 2, 1}));
  EXPECT_EQ(read<int32_t>(routes, layout.row(), 9),
            (std::vector<int32_t>{0, 2, 4, 1, 6, 8, 3, 5, 7}));
  EXPECT_EQ(read<int32_t>(routes, layout.count(), 1).front(), 5);
  EXPECT_EQ(read<int32_t>(routes, layout.segments(), 15),
            (std::vector<int32_t>{0, 0, 2, 1, 2, 4, 2, 4, 6, 3, 6, 8, 4, 8, 9}));
  EXPECT_EQ(read<float>(routes, layout.weight(), 1).front(), 1.0f / 3);
}

TEST(UniformRoutes, ExpertsWithoutTokensHaveNoRows) {
  const std::vector<std::byte> routes = runtime::uniformRoutes(64, 8, 1);
  EXPECT_EQ(read<int32_t>(routes, RoutesLayout{8}.count(), 1).front(), 8);
}

} // namespace
