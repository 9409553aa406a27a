//===- WeightPlaceTest.cpp - Packing follows the formulas of WeightPlace.h ----===//
//
// The test reads every format in both layouts number by number. Everything that a file's blocks hold is where the
// formula puts it, no two numbers share a bit, and bits that belong to no number are 0.
//===----------------------------------------------------------------------===//
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/pack/Pack.h"
#include "tests/runtime/formats/RandomWeights.h"

#include "gtest/gtest.h"

#include <bit>
#include <random>

using namespace ingot;

namespace {

constexpr int64_t kRows = 35; // three tiles, two panels

/// A matrix of random numbers in a format that files hold. Scales are small and finite, whichever bytes are read as a
/// scale.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<float> scales; ///< of fp8
  import::Tensor tensor;

  Stored(WeightFormat format, int64_t k)
      : bytes(size_t(kRows * import::storedRowBytes(format, k))) {
    std::mt19937 random(7);
    for (std::byte &b : bytes)
      b = std::byte(random() & 0x3b);
    tensor.name = "t", tensor.format = format, tensor.shape = {kRows, k}, tensor.data = bytes;
    if (numericFormat(format).isScaledFloat()) {
      scales.resize(format == WeightFormat::Fp8Tensor ? 1
                    : format == WeightFormat::Fp8     ? kRows
                                                      : size_t((k + 127) / 128));
      for (float &scale : scales)
        scale = float(1 + random() % 1000) / 777;
      tensor.scales = scales;
    }
  }
};

/// Tracks which bits belong to a number: no two numbers may share a bit, and all other bits must be
/// 0.
class Bits {
public:
  explicit Bits(const std::vector<std::byte> &bytes) : bytes(bytes), taken(bytes.size(), 0) {}

  testing::AssertionResult take(int64_t byte, int first, int count) {
    if (byte < 0 || size_t(byte) >= bytes.size() || first < 0 || first + count > 8)
      return testing::AssertionFailure() << "not in the weight: byte " << byte << " bit " << first;
    const int mask = ((1 << count) - 1) << first;
    if (taken[size_t(byte)] & mask)
      return testing::AssertionFailure() << "taken twice: byte " << byte << " bit " << first;
    taken[size_t(byte)] |= mask;
    return testing::AssertionSuccess();
  }
  testing::AssertionResult takeBytes(int64_t byte, int count) {
    for (int i = 0; i < count; ++i)
      if (auto taken = take(byte + i, 0, 8); !taken)
        return taken;
    return testing::AssertionSuccess();
  }
  testing::AssertionResult restIsZero() const {
    for (size_t i = 0; i < bytes.size(); ++i)
      if (std::to_integer<int>(bytes[i]) & ~taken[i])
        return testing::AssertionFailure() << "a number of nobody in byte " << i;
    return testing::AssertionSuccess();
  }

private:
  const std::vector<std::byte> &bytes;
  std::vector<int> taken;
};

/// Takes the bits of w[row][k] where codes are not in planes. These are the bits of this number alone and, if it is the
/// first value of a run, the bits of the run.
template <typename Layout, typename Take>
void takePacked(const Layout &layout, Bits &bits, int64_t row, int64_t k, Take take) {
  const NumericFormat &format = numericFormat(layout.format);
  const int64_t block = blockPlace(layout, row, k), inUnit = row % rowsOfUnit(layout),
                in = k % layout.blockK;
  const auto takeBit = [&](BitPlace place) {
    take(bits.take(block + place.byte, place.bit, 1), row, k);
  };
  if (format.packing == NumericFormat::Packing::Bit1)
    return takeBit(bitInBlock(layout, format, inUnit, in));
  if constexpr (std::is_same_v<Layout, PanelLayout>)
    if (format.packing == NumericFormat::Packing::Trits) { // owned by its first digit
      const TritPlace place = tritInBlock(layout, format, inUnit, in);
      if (place.weight == 1) {
        take(bits.take(block + place.byte, place.bit, 4), row, k);
        if (place.fifth.byte >= 0)
          takeBit(place.fifth);
      }
      return;
    }
  const Grid &grid = *format.grid;
  const int64_t ofSign = grid.signs == GridSigns::Value ? 1
                         : grid.signs == GridSigns::Run ? grid.run
                                                        : kGroupK;
  if (k % ofSign == 0)
    takeBit(signInBlock(layout, format, inUnit, in));
  if (k % grid.run != 0)
    return;
  const RunPlace place = runInBlock(layout, format, inUnit, in);
  take(bits.takeBytes(block + place.byte, 1), row, k);
  for (int i = 0; i < grid.upperBits(); ++i)
    takeBit(place.upper[size_t(i)]);
}

template <typename Layout>
testing::AssertionResult disjoint(const Layout &layout, const std::vector<std::byte> &packed) {
  const NumericFormat &format = numericFormat(layout.format);
  Bits bits(packed);
  auto all = testing::AssertionSuccess();
  const auto take = [&](testing::AssertionResult taken, int64_t row, int64_t k) {
    if (all && !taken)
      all = taken << " (" << row << ", " << k << ")";
  };
  for (int64_t row = 0; row < layout.n; ++row)
    for (int64_t k = 0; k < layout.blocks * layout.blockK; ++k) {
      if (format.isFloat()) {
        const bool wide = format.bits == 32 && std::is_same_v<Layout, PanelLayout>;
        take(bits.takeBytes(numberPlace(layout, format, row, k), wide ? 4 : 2), row, k);
        continue;
      }
      if (packingIn(layout, format) != NumericFormat::Packing::Planes) {
        takePacked(layout, bits, row, k, take);
      } else {
        const CodePlace code = codePlace(layout, format, row, k);
        const int low = format.bits == 8 ? 8 : format.bits < 4 ? 2 : 4;
        take(bits.take(code.byte, code.bit, low), row, k);
        EXPECT_EQ(code.upperByte >= 0, format.bits != low);
        if (code.upperByte >= 0)
          take(bits.take(code.upperByte, code.upperBit, format.bits - low), row, k);
      }
      const ScalePlaces scales = scalePlaces(layout, format, row, k);
      if (k % format.block() == 0) {
        take(bits.takeBytes(scales.d, format.scaleBytes()), row, k);
        if (format.hasZeros)
          take(bits.takeBytes(scales.t, 1), row, k);
        else if (format.hasMin)
          take(bits.takeBytes(scales.m, 2), row, k);
      }
      if (format.superGroup && k % format.group == 0) {
        if (scales.nibble < 0)
          take(bits.takeBytes(scales.s, 1), row, k);
        else
          take(bits.take(scales.s, scales.nibble, std::popcount(unsigned(nibbleMask(format)))), row,
               k);
        if (format.hasMin)
          take(bits.takeBytes(scales.t, 1), row, k);
      }
    }
  return all ? bits.restIsZero() : all;
}

/// Checks each part of a format that files hold, bit for bit.
template <typename Layout>
void expectParts(const Layout &layout, const Stored &stored, const std::vector<std::byte> &packed) {
  const NumericFormat &format = numericFormat(layout.format);
  const test::WeightReader<Layout> reader(layout, packed.data());
  for (int64_t row = 0; row < layout.n; ++row) {
    const auto bytes = import::tensorRow(stored.tensor, row);
    import::BlockParts parts;
    for (int64_t k = 0; k < layout.k; ++k) {
      if (format.isScaledFloat()) {
        ASSERT_EQ(reader.code(row, k), int(bytes[size_t(k)])) << row << ", " << k;
        ASSERT_EQ(reader.d(row, k), stored.tensor.scale(row, k)) << row << ", " << k;
        continue;
      }
      const int64_t values = import::storedBlockValues(layout.format), in = k % values;
      if (in == 0)
        import::unpackBlock(layout.format,
                            bytes.data() + k / values * import::storedBlockBytes(layout.format),
                            parts);
      ASSERT_EQ(reader.code(row, k), parts.q[in]) << row << ", " << k;
      ASSERT_EQ(reader.d(row, k), parts.d) << row << ", " << k;
      if (format.hasZeros)
        ASSERT_EQ(reader.t(row, k), parts.t[0]) << row << ", " << k;
      else if (format.hasMin)
        ASSERT_EQ(reader.m(row, k), parts.m) << row << ", " << k;
      if (format.superGroup)
        ASSERT_EQ(reader.s(row, k), parts.s[in / format.group]) << row << ", " << k;
      if (format.superGroup && format.hasMin)
        ASSERT_EQ(reader.t(row, k), parts.t[in / format.group]) << row << ", " << k;
    }
  }
}

/// Checks a float to within a bf16's rounding, or a format that --quantize makes to within half a step plus the
/// rounding of its scale.
template <typename Layout>
void expectNumbers(const Layout &layout, const import::Tensor &source,
                   const std::vector<std::byte> &packed) {
  const NumericFormat &format = numericFormat(layout.format);
  const test::WeightReader<Layout> reader(layout, packed.data());
  const bool rounds = layout.format == WeightFormat::F32 && !std::is_same_v<Layout, PanelLayout>;
  std::vector<float> numbers(size_t(layout.k));
  for (int64_t row = 0; row < layout.n; ++row) {
    ASSERT_TRUE(bool(import::dequantizeRow(source, row, numbers)));
    for (int64_t k = 0; k < layout.k; ++k) {
      const float want = numbers[size_t(k)], most = format.isFloat()
                                                        ? (rounds ? std::abs(want) / 256 : 0)
                                                        : std::abs(reader.d(row, k)) * 1.02f;
      ASSERT_LE(std::abs(reader.value(row, k) - want), most) << row << ", " << k;
    }
  }
}

class WeightPlaces : public testing::TestWithParam<int> {
protected:
  const WeightFormat id = WeightFormat(GetParam());
  const NumericFormat &format = numericFormat(id);

  template <typename Layout, typename Pack>
  void check(const Layout &layout, const import::Tensor &source, const Stored *parts, Pack pack) {
    std::vector<std::byte> packed(size_t(layout.bytes()));
    ASSERT_TRUE(bool(pack(source, layout, 0, packed)));
    if (parts)
      expectParts(layout, *parts, packed);
    else
      expectNumbers(layout, source, packed);
    EXPECT_TRUE(disjoint(layout, packed));
  }
  void check(int64_t k, const import::Tensor &source, const Stored *parts) {
    check(panelLayout(id, kRows, k), source, parts, compiler::packPanels);
    check(fragmentLayout(id, kRows, k), source, parts, compiler::packFragments);
  }
};

TEST_P(WeightPlaces, ArePackersPlaces) {
  const bool made = id >= WeightFormat::Int8 && id <= WeightFormat::Int4G128;
  for (int64_t blocks : {1, 3, 5}) {
    if (!made && !format.isFloat()) {
      const int64_t k = blocks * import::storedBlockValues(id) + (format.isScaledFloat() ? 140 : 0);
      Stored stored(id, k);
      check(k, stored.tensor, &stored);
      continue;
    }
    const int64_t k = 67 * blocks;
    std::mt19937 random(11);
    std::vector<float> numbers(size_t(kRows * k));
    for (float &number : numbers) // exact in bf16 and f16
      number = float(int(random() % 255) - 127) / 64;
    check(k, {"t", WeightFormat::F32, {kRows, k}, std::as_bytes(std::span(numbers))}, nullptr);
  }
}

/// Low-bit formats grow by at most a tenth, except that tiles hold TQ1_0 as two bits (FragmentLayout.h).
TEST(WeightPlacesOfFewBits, TakeATenthMoreAtMost) {
  constexpr int64_t kN = 4096, kK = 4096;
  for (WeightFormat format :
       {WeightFormat::IQ3_S, WeightFormat::IQ3_XXS, WeightFormat::IQ2_S, WeightFormat::IQ2_XS,
        WeightFormat::IQ2_XXS, WeightFormat::IQ1_S, WeightFormat::IQ1_M, WeightFormat::TQ2_0,
        WeightFormat::TQ1_0, WeightFormat::Q2_0, WeightFormat::Q1_0}) {
    const double most = 1.1 * double(kN * import::storedRowBytes(format, kK));
    EXPECT_LE(double(panelLayout(format, kN, kK).bytes()), most) << numericFormat(format).name;
    if (format != WeightFormat::TQ1_0)
      EXPECT_LE(double(fragmentLayout(format, kN, kK).bytes()), most) << numericFormat(format).name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeightPlaces, testing::Range(0, kWeightFormatCount),
                         [](const auto &info) {
                           return std::string(numericFormat(WeightFormat(info.param)).name);
                         });

// The formula is constexpr. These lines check it for the second step of a tile of q4_0 and for a row of the other half.
constexpr FragmentLayout kTile{WeightFormat::Q4_0, 16, 64, 64, 512, 512, -1, -1, -1, 576, 1, 1};
constexpr NumericFormat kQ4{
    WeightFormat::Q4_0, "q4_0", NumericFormat::Kind::Affine, 4, 32, 8, false, 0};
static_assert(codePlace(kTile, kQ4, 0, 16).byte == 4 && codePlace(kTile, kQ4, 0, 1).byte == 2 &&
              scalePlaces(kTile, kQ4, 8, 32).d == 512 + 2 * 3);
// These lines check it for the last sub-block of a row in the second panel of q4_k, after a panel of one block of 4736
// bytes.
constexpr PanelLayout kPanel{
    WeightFormat::Q4_K, 64, 256, 256, 512, 640, 0, 64, 128, 384, 4736, 1, 2};
constexpr NumericFormat kQ4K{
    WeightFormat::Q4_K, "q4_k", NumericFormat::Kind::SuperAffine, 4, 32, 0, true, 256};
static_assert(scalePlaces(kPanel, kQ4K, 33, 255).m == 4736 + 64 + 2 * 1 &&
              scalePlaces(kPanel, kQ4K, 33, 255).t == 4736 + 384 + 7 * 32 + 1 &&
              codePlace(kPanel, kQ4K, 33, 255).byte == 4736 + 640 + 7 * 512 + 3 * 128 + 4 + 3);

} // namespace
