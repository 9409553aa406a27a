//===- CheckPackedTest.cpp - Wrongly packed weights are found ---------------===//
#include "compiler/driver/checks/CheckPacked.h"
#include "compiler/pack/Pack.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace ingot;

namespace {

constexpr int64_t kRows = 70, kColumns = 256;

/// A matrix of f32.
struct Stored {
  std::vector<float> numbers;
  import::Tensor tensor;

  Stored() : numbers(size_t(kRows * kColumns)) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.02f);
    for (float &number : numbers)
      number = normal(random);
    tensor.name = "t", tensor.format = WeightFormat::F32, tensor.shape = {kRows, kColumns};
    tensor.data = std::as_bytes(std::span(numbers));
  }
};

auto pack(const import::RowSource &source, const PanelLayout &layout, std::span<std::byte> out) {
  return compiler::packPanels(source, layout, 0, out);
}
auto pack(const import::RowSource &source, const FragmentLayout &layout, std::span<std::byte> out) {
  return compiler::packFragments(source, layout, 0, out);
}

/// Checks the weight piece by piece. Each piece is one panel or tile, so that every one of them is inspected.
template <typename Layout>
Result<void> checkAll(const import::RowSource &source, const Layout &layout, int64_t unitBytes,
                      std::span<const std::byte> packed) {
  for (int64_t unit = 0; unit * unitBytes < int64_t(packed.size()); ++unit)
    if (auto ok = compiler::checkPacked(
            source, layout, unit, packed.subspan(size_t(unit * unitBytes), size_t(unitBytes)), "w");
        !ok)
      return ok;
  return {};
}

template <typename Layout> void hold(const Layout &layout, int64_t unitBytes) {
  const Stored stored;
  const import::RowSource source(stored.tensor);
  std::vector<std::byte> packed(size_t(layout.bytes()));
  ASSERT_TRUE(pack(source, layout, packed));
  const std::string format(numericFormat(layout.format).name);
  auto right = checkAll(source, layout, unitBytes, packed);
  EXPECT_TRUE(right) << format << "\n" << (right ? "" : right.error().format());
  // Overwrite the second unit with the first, so that all of its codes are in the wrong place.
  std::vector<std::byte> wrong = packed;
  std::memcpy(&wrong[size_t(unitBytes)], packed.data(), size_t(unitBytes));
  auto exchanged = checkAll(source, layout, unitBytes, wrong);
  ASSERT_FALSE(exchanged) << format;
  EXPECT_EQ(exchanged.error().code, "E0493");
  EXPECT_NE(exchanged.error().what.find("weight w "), std::string::npos);
}

/// Checks that swapping the first two units of a piece is found.
template <typename Layout> void exchange(const Layout &layout, int64_t unitBytes) {
  const Stored stored;
  const import::RowSource source(stored.tensor);
  std::vector<std::byte> packed(size_t(layout.bytes()));
  ASSERT_TRUE(pack(source, layout, packed));
  EXPECT_TRUE(compiler::checkPacked(source, layout, 0, packed, "w"));
  std::swap_ranges(packed.begin(), packed.begin() + unitBytes, packed.begin() + unitBytes);
  EXPECT_FALSE(compiler::checkPacked(source, layout, 0, packed, "w"));
}

} // namespace

TEST(CheckPacked, OfFewPanelsEachIsLookedAt) {
  const PanelLayout panels = panelLayout(WeightFormat::Int8, kRows, kColumns);
  exchange(panels, panels.panelBytes());
  const FragmentLayout tiles = fragmentLayout(WeightFormat::Int8, kRows, kColumns);
  exchange(tiles, tiles.tileBytes());
}
TEST(CheckPacked, FindsAnotherNumberOfAVector) {
  Stored stored;
  stored.tensor.shape = {kRows * kColumns};
  auto source = import::RowSource(stored.tensor);
  std::vector<std::byte> packed(stored.tensor.data.begin(), stored.tensor.data.end());
  EXPECT_TRUE(compiler::checkPackedVector(source, packed, "norm"));
  std::swap_ranges(packed.begin() + 8, packed.begin() + 12, packed.begin() + 12);
  auto found = compiler::checkPackedVector(source, packed, "norm");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0493");
  EXPECT_EQ(found.error().why.rfind("value 2 is ", 0), 0u) << found.error().format();
}

TEST(CheckPacked, FindsPanelsOfOtherRows) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16,
                              WeightFormat::Int8, WeightFormat::Int4G32, WeightFormat::Fp8}) {
    const PanelLayout layout = panelLayout(format, kRows, kColumns);
    hold(layout, layout.panelBytes());
  }
}
TEST(CheckPacked, FindsTilesOfOtherRows) {
  for (WeightFormat format :
       {WeightFormat::F32, WeightFormat::BF16, WeightFormat::Int8, WeightFormat::Int4G64}) {
    const FragmentLayout layout = fragmentLayout(format, kRows, kColumns);
    hold(layout, layout.tileBytes());
  }
}
