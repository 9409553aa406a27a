//===- CodePlaceTest.cpp - Packers put codes where CodePlace.h says ---------===//
#include "runtime/formats/CodePlace.h"
#include "compiler/import/Codes.h"
#include "compiler/import/Dequantize.h"
#include "compiler/pack/Pack.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace ingot;

namespace {

constexpr int64_t kRows = 35;

/// A matrix of random codes in a format that files hold; scales are small and finite, whatever is read as one.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<float> scales = std::vector<float>(kRows, 1.0f); ///< of fp8
  import::Tensor tensor;

  Stored(WeightFormat format, int64_t k) : bytes(kRows * import::storedRowBytes(format, k)) {
    std::mt19937 random(7);
    for (std::byte &b : bytes)
      b = std::byte(random() & 0x3b);
    tensor.name = "t", tensor.format = format, tensor.shape = {kRows, k}, tensor.data = bytes;
    if (numericFormat(format).isScaledFloat())
      tensor.scales = scales;
  }

  int code(int64_t row, int64_t k) const {
    auto stored = import::tensorRow(tensor, row);
    if (numericFormat(tensor.format).isScaledFloat())
      return int(stored[size_t(k)]);
    const int64_t values = import::storedBlockValues(tensor.format);
    import::BlockParts parts;
    import::unpackBlock(
        tensor.format, stored.data() + k / values * import::storedBlockBytes(tensor.format), parts);
    return parts.q[k % values];
  }
};

template <typename Layout>
void expectPlaces(const Layout &layout, const Stored &stored,
                  const std::vector<std::byte> &packed) {
  const NumericFormat &format = numericFormat(layout.format);
  std::set<std::pair<int64_t, int>> taken; // no two codes share a bit
  for (int64_t row = 0; row < layout.n; ++row)
    for (int64_t k = 0; k < layout.k; ++k) {
      ASSERT_EQ(codeOf(layout, packed.data(), row, k), stored.code(row, k))
          << format.name << ": " << row << ", " << k;
      CodePlace place = codePlace(layout, format.bits, format.isScaledFloat(), row, k);
      ASSERT_TRUE(taken.insert({place.byte, place.bit}).second) << row << ", " << k;
      if (place.upperByte >= 0)
        ASSERT_TRUE(taken.insert({place.upperByte, place.upperBit}).second) << row << ", " << k;
    }
}

class CodePlaces : public testing::TestWithParam<WeightFormat> {};

TEST_P(CodePlaces, ArePackersPlaces) {
  const int64_t k = 2 * std::max<int64_t>(numericFormat(GetParam()).block(), 64);
  Stored stored(GetParam(), k);
  PanelLayout panels = panelLayout(GetParam(), kRows, k);
  std::vector<std::byte> packed(panels.bytes());
  ASSERT_TRUE(bool(compiler::packPanels(stored.tensor, panels, 0, packed)));
  expectPlaces(panels, stored, packed);
  FragmentLayout fragments = fragmentLayout(GetParam(), kRows, k);
  packed.assign(fragments.bytes(), std::byte(0));
  ASSERT_TRUE(bool(compiler::packFragments(stored.tensor, fragments, 0, packed)));
  expectPlaces(fragments, stored, packed);
}

/// 4, 5, 6 and 8 bits, of whatever scales, and fp8.
INSTANTIATE_TEST_SUITE_P(All, CodePlaces,
                         testing::Values(WeightFormat::Q4_0, WeightFormat::Q4_1, WeightFormat::Q5_0,
                                         WeightFormat::Q5_1, WeightFormat::Q8_0, WeightFormat::Q4_K,
                                         WeightFormat::Q5_K, WeightFormat::Q6_K, WeightFormat::Fp8),
                         [](const auto &info) {
                           return std::string(numericFormat(info.param).name);
                         });

// The formula is there when programs are compiled: the first code of the second step of a tile of q4_0.
constexpr FragmentLayout kTile{WeightFormat::Q4_0, 16, 64, 64, 512, 512, -1, -1, -1, 576, 1, 1};
static_assert(codePlace(kTile, 4, false, 0, 16).byte == 4 &&
              codePlace(kTile, 4, false, 0, 1).byte == 2);

} // namespace
