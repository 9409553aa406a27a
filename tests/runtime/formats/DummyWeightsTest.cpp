//===- DummyWeightsTest.cpp - Panels against the formula, value by value --===//
//
// The formula is implemented here a second time, from the text of DummyWeights.h, for one weight
// at a time. WeightPlace.h gives the position of its bits. A whole tensor made this way must
// equal the output of fillSeedPanels and fillSeedFragments, padding included.
//===----------------------------------------------------------------------===//
#include "runtime/formats/DummyWeights.h"
#include "runtime/formats/WeightPlace.h"
#include "tests/runtime/formats/RandomWeights.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace ingot;

namespace {

using Bytes = std::vector<std::byte>;

float halfToFloat(uint16_t bits) { // handles only normal numbers and zero
  if ((bits & 0x7fff) == 0)
    return 0;
  float size = std::ldexp(1024.0f + float(bits & 1023), (bits >> 10 & 31) - 25);
  return bits & 0x8000 ? -size : size;
}

uint64_t naiveMix(uint64_t z) {
  z = z + 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Computes one tensor, a weight at a time.
struct Naive {
  uint64_t seed, tensor;
  const NumericFormat &format;

  /// Returns `bits` bits from bit `shift` of word `i` of a plane of row n.
  uint64_t bits(int64_t n, int plane, int64_t i, int64_t shift, int bits) const {
    uint64_t row = naiveMix(naiveMix(seed ^ naiveMix(tensor)) ^ uint64_t(2 * n + plane));
    uint64_t word = naiveMix(row + uint64_t(i) * 0x9e3779b97f4a7c15u);
    return word >> shift & ((uint64_t(1) << bits) - 1);
  }
  uint64_t four(int64_t n, int64_t k) const {
    return bits(n, 0, k / 16, 8 * (k % 8) + 4 * (k / 8 % 2), 4);
  }
  /// Returns the grid index of the run that holds k.
  int index(int64_t n, int64_t k) const {
    uint64_t index = 0;
    for (int64_t i = 0; i < format.grid->run; ++i)
      index |= (four(n, k / format.grid->run * format.grid->run + i) & 7) << (3 * i);
    return int(index % uint64_t(format.grid->count()));
  }
  int code(int64_t n, int64_t k) const {
    if (format.isScaledFloat())
      return int(bits(n, 0, k / 8, 8 * (k % 8), 8) & 0xbf);
    if (format.bits == 8)
      return int(bits(n, 0, k / 8, 8 * (k % 8), 8));
    if (format.packing == NumericFormat::Packing::Trits)
      return int(four(n, k) % 3);
    if (format.packing == NumericFormat::Packing::Bit1)
      return int(four(n, k) & 2);
    if (const Grid *grid = format.grid) {
      const int64_t signOf = grid->signs == GridSigns::Value ? k
                             : grid->signs == GridSigns::Run ? k / grid->run * grid->run
                                                             : k / 32 * 32;
      return grid->magnitude(index(n, k), int(k % grid->run)) | int(four(n, signOf) & 8);
    }
    uint64_t low = bits(n, 0, k / 16, 8 * (k % 8) + 4 * (k / 8 % 2), 4), high = 0;
    if (format.bits == 5)
      high = bits(n, 1, k / 64, 32 * (k / 32 % 2) + 8 * (k % 4) + k % 32 / 4, 1);
    if (format.bits == 6)
      high = bits(n, 1, k / 32, 32 * (k / 16 % 2) + 8 * (k % 4) + 2 * (k % 16 / 4), 2);
    return int((low | high << 4) & ((1u << format.bits) - 1));
  }
  float number(int64_t n, int64_t k) const {
    int sum = 0;
    for (int field = 0; field < 5; ++field)
      sum += int(bits(n, 0, k / 4, 16 * (k % 4) + 3 * field, 3));
    return float(2 * sum - 35) / 512;
  }
  uint16_t d(int64_t n, int64_t k) const {
    bool flip = (format.zeroPoint != 0 || format.hasZeros) && (n + k / format.block()) % 2 != 0;
    return uint16_t(seedScales(format.id).d ^ (flip ? 0x8000 : 0));
  }
  /// Returns the dequantised weight as a double.
  double value(int64_t n, int64_t k) const {
    if (format.isFloat())
      return number(n, k);
    if (format.isScaledFloat()) {
      int q = code(n, k), e = q >> 3 & 15, m = q & 7;
      double size = e ? std::ldexp(8 + m, e - 10) : std::ldexp(m, -9);
      return 0x1.119p-5 * (q & 0x80 ? -size : size);
    }
    SeedScales scales = seedScales(format.id);
    double scale = halfToFloat(d(n, k)), m = halfToFloat(scales.m);
    double q = format.numberOf(code(n, k)) - (format.hasZeros ? scales.t : format.zeroPoint);
    if (format.superGroup)
      return scale * (format.floatSubScales ? test::e4m3Value(scales.s) : scales.s) * q -
             m * scales.t;
    return scale * q + m;
  }
};

template <typename T> void put(Bytes &to, int64_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

template <typename Layout>
void putScales(Bytes &to, const Layout &l, int64_t n, int64_t k, const Naive &naive) {
  const ScalePlaces places = scalePlaces(l, naive.format, n, k);
  const SeedScales scales = seedScales(l.format);
  if (naive.format.isScaledFloat())
    return put(to, places.d, 0x1.119p-5f);
  const float d = halfToFloat(naive.d(n, k));
  if (naive.format.scale == NumericFormat::Scale::F16)
    put(to, places.d, naive.d(n, k));
  else if (naive.format.scale == NumericFormat::Scale::BF16)
    put(to, places.d, uint16_t(std::bit_cast<uint32_t>(d) >> 16));
  else
    put(to, places.d, d);
  if (places.m >= 0 && naive.format.minScale() == NumericFormat::Scale::F16)
    put(to, places.m, scales.m);
  else if (places.m >= 0)
    put(to, places.m, uint16_t(std::bit_cast<uint32_t>(float(halfToFloat(scales.m))) >> 16));
  if (places.s >= 0)
    putSubScale(places, to.data(), scales.s);
  if (places.t >= 0)
    put(to, places.t, scales.t);
}

void putNumber(Bytes &to, WeightFormat format, int64_t at, float w) {
  if (format == WeightFormat::F32)
    put(to, at, w);
  else if (format == WeightFormat::F16)
    put(to, at, static_cast<_Float16>(w));
  else
    put(to, at, uint16_t(std::bit_cast<uint32_t>(w) >> 16));
}

/// Writes a row of codes that are not stored in planes. A grid's run is written whole.
template <typename Layout>
void putPackedRow(Bytes &to, const Layout &l, int64_t n, const Naive &naive) {
  for (int64_t k = 0; k < l.k; ++k) {
    std::byte *const block = to.data() + blockPlace(l, n, k);
    const Grid *grid = naive.format.grid;
    uint8_t signs[8];
    for (int64_t i = 0; i < 8; ++i)
      signs[i] = uint8_t(naive.code(n, k + i));
    if (!grid)
      putCodeOfBlock(l, naive.format, n % rowsOfUnit(l), k % l.blockK, naive.code(n, k), block);
    else if (k % grid->run == 0)
      putRun(l, naive.format, n % rowsOfUnit(l), k % l.blockK, naive.index(n, k), signs, block);
  }
}

/// Padding codes are the zero point in panels (0 if the format has a table), and 0 in tiles.
template <typename Layout> Bytes naiveTensor(uint64_t seed, uint64_t tensor, const Layout &l) {
  constexpr bool ofPanels = std::is_same_v<Layout, PanelLayout>;
  Bytes bytes(size_t(l.bytes()), std::byte{0});
  Naive naive{seed, tensor, numericFormat(l.format)};
  for (int64_t n = 0; n < l.n; ++n) {
    if (naive.format.isFloat()) {
      const WeightFormat stored =
          ofPanels || l.format != WeightFormat::F32 ? l.format : WeightFormat::BF16;
      for (int64_t k = 0; k < l.k; ++k)
        putNumber(bytes, stored, numberPlace(l, naive.format, n, k), naive.number(n, k));
      continue;
    }
    for (int64_t k = 0; k < roundUp(l.k, naive.format.block()); k += naive.format.group)
      putScales(bytes, l, n, k, naive);
    if (naive.format.packing != NumericFormat::Packing::Planes) {
      putPackedRow(bytes, l, n, naive);
      continue;
    }
    for (int64_t k = 0; k < (ofPanels ? l.blocks * l.blockK : l.k); ++k)
      putCode(codePlace(l, naive.format, n, k), naive.format.bits, bytes.data(),
              k < l.k              ? naive.code(n, k)
              : naive.format.table ? 0
                                   : naive.format.zeroPoint);
  }
  return bytes;
}

Bytes filled(uint64_t seed, uint64_t tensor, const PanelLayout &l, int64_t panelsAtOnce) {
  Bytes bytes(size_t(l.bytes()), std::byte{0});
  for (int64_t first = 0; first < l.panels; first += panelsAtOnce) {
    int64_t panels = std::min(panelsAtOnce, l.panels - first);
    fillSeedPanels(
        seed, tensor, l, first,
        std::span(bytes).subspan(size_t(first * l.panelBytes()), size_t(panels * l.panelBytes())));
  }
  return bytes;
}

class DummyWeights : public testing::TestWithParam<int> {
protected:
  WeightFormat id = WeightFormat(GetParam());
  const NumericFormat &format = numericFormat(id);
};

TEST_P(DummyWeights, PanelsAreTheFormula) {
  for (int64_t n : {1, 17, 31, 32, 33, 67})
    for (int64_t k : {1, 2, 3, 5, 31, 32, 33, 47, 64, 97, 127, 129, 161, 256, 259, 515}) {
      PanelLayout layout = panelLayout(id, n, k);
      uint64_t seed = uint64_t(n * 1000 + k), tensor = uint64_t(k % 7);
      Bytes expected = naiveTensor(seed, tensor, layout);
      ASSERT_EQ(filled(seed, tensor, layout, layout.panels), expected) << n << " x " << k;
      ASSERT_EQ(filled(seed, tensor, layout, 1), expected) << n << " x " << k;
    }
}

TEST_P(DummyWeights, TilesAreTheFormula) {
  for (int64_t n : {1, 15, 16, 17, 35})
    for (int64_t k : {1, 3, 17, 31, 33, 64, 65, 129, 161, 256, 259, 515, 776}) {
      FragmentLayout layout = fragmentLayout(id, n, k);
      Bytes expected = naiveTensor(7, 3, layout), bytes(expected.size(), std::byte{0});
      fillSeedFragments(7, 3, layout, 0, bytes);
      ASSERT_EQ(bytes, expected) << n << " x " << k;
      const auto last = size_t(layout.tileBytes() * (layout.tiles - 1)); // last tile only
      std::fill(bytes.begin() + int64_t(last), bytes.end(), std::byte{0});
      fillSeedFragments(7, 3, layout, layout.tiles - 1, std::span(bytes).subspan(last));
      ASSERT_EQ(bytes, expected) << n << " x " << k;
    }
}

TEST_P(DummyWeights, DifferFromSeedToSeedAndTensorToTensor) {
  PanelLayout layout = panelLayout(id, 32, 256);
  Bytes first = filled(0, 0, layout, 1);
  EXPECT_NE(first, filled(1, 0, layout, 1));
  EXPECT_NE(first, filled(0, 1, layout, 1));
  EXPECT_NE(filled(1, 0, layout, 1), filled(0, 1, layout, 1));
  EXPECT_EQ(first, filled(0, 0, layout, 1));
}

/// Checks the mean and deviation of all weights, and that rows, columns and neighbours are uncorrelated.
TEST_P(DummyWeights, LookLikeNoiseOfDeviation2Percent) {
  constexpr int64_t kN = 512, kK = 1024;
  Naive naive{42, 3, format};
  std::vector<double> rowSum(kN), columnSum(kK);
  double sum = 0, squares = 0, neighbours = 0, below = 0;
  std::vector<double> last(kK);
  for (int64_t n = 0; n < kN; ++n) {
    double before = 0;
    for (int64_t k = 0; k < kK; ++k) {
      double w = naive.value(n, k);
      sum += w, squares += w * w, neighbours += w * before, below += w * last[size_t(k)];
      rowSum[size_t(n)] += w, columnSum[size_t(k)] += w;
      last[size_t(k)] = before = w;
    }
  }
  constexpr double kCount = kN * kK, kDeviation = 0.02;
  EXPECT_NEAR(sum / kCount, 0, 1.2e-4);
  EXPECT_NEAR(std::sqrt(squares / kCount), kDeviation, 0.01 * kDeviation);
  // If the mean of the codes is not the zero point, its square remains in the correlation, because a block
  // has one sign.
  double mean = 0, meanSquare = 0;
  const int codes =
      format.isFloat() || format.isScaledFloat() || format.hasMin ? 0 : 1 << format.bits;
  const bool packed = format.packing != NumericFormat::Packing::Planes; // some codes are rarer
  for (int code = 0; code < (packed ? int(kK) : codes); ++code) {
    const int one = packed ? naive.code(0, code) : code, of = packed ? int(kK) : codes;
    const double number = format.numberOf(one) - format.zeroPoint;
    mean += number / of, meanSquare += number * number / of;
  }
  // A sign that a run shares shifts its values by 1; their mean square is 39.
  const double shared = format.grid && format.grid->signs != GridSigns::Value ? 0.03 : 0;
  const double left = 0.02 + shared + (codes ? mean * mean / meanSquare : 0);
  EXPECT_NEAR(neighbours / squares, 0, left);
  EXPECT_NEAR(below / squares, 0, left);
  for (double row : rowSum)
    EXPECT_LT(std::abs(row), 6 * kDeviation * std::sqrt(double(kK)));
  for (double column : columnSum)
    EXPECT_LT(std::abs(column), 6 * kDeviation * std::sqrt(double(kN)));
}

INSTANTIATE_TEST_SUITE_P(Formats, DummyWeights, testing::Range(0, kWeightFormatCount),
                         [](const auto &info) {
                           return std::string(numericFormat(WeightFormat(info.param)).name);
                         });

/// Deployed engines store only the seed, so the numbers must never change.
TEST(DummyWeightsForEver, AFewNumbers) {
  EXPECT_EQ(seedMix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(seedWord(seedRow(7, 3, 5, 0), 2),
            naiveMix(naiveMix(naiveMix(7 ^ naiveMix(3)) ^ 10) + 2 * 0x9e3779b97f4a7c15u));
  Naive int4{1, 2, numericFormat(WeightFormat::Int4G64)};
  std::string codes, numbers;
  for (int64_t k = 0; k < 16; ++k) {
    codes += std::to_string(int4.code(9, k)) + " ";
    numbers += std::to_string(int(512 * int4.number(9, k))) + " ";
  }
  EXPECT_EQ(codes, "12 1 14 9 0 6 14 9 7 4 7 1 13 12 10 14 ");
  EXPECT_EQ(numbers, "5 11 -11 19 -1 9 -15 -17 -11 3 -11 -7 7 -9 5 9 ");
}

TEST(DummyWeightsVectors, AreOnesAndPadding) {
  Bytes bytes(size_t(f32RowBytes(5)), std::byte{0});
  fillSeedVector(5, bytes);
  for (int64_t i = 0; i < 32; ++i) {
    float value;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    EXPECT_EQ(value, i < 5 ? 1.0f : 0.0f) << i;
  }
}

} // namespace
