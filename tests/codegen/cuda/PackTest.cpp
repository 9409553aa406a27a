//===- PackTest.cpp - Packed gpu-frag16 weights, read by coordinates --------===//
#include "FragmentReference.h"

#include "compiler/import/blocks/Codes.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/pack/Pack.h"

#include "gtest/gtest.h"

#include <random>

using namespace ingot;
using namespace ingot::codegen::cuda::test;

namespace {

/// A tensor of random bytes whose scales are small.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<float> scales; ///< of fp8
  import::Tensor tensor;

  Stored(WeightFormat format, int64_t n, int64_t k) {
    const NumericFormat &numeric = numericFormat(format);
    std::mt19937 random(7);
    int64_t rowBytes = import::storedRowBytes(format, k);
    bytes.resize(n * rowBytes);
    if (numeric.isFloat()) {
      for (int64_t i = 0; i < n * k; ++i) {
        float value = float(int(random() % 2001) - 1000) / 512;
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        _Float16 half = _Float16(value);
        uint16_t upper = uint16_t(bits >> 16);
        if (format == WeightFormat::F32)
          std::memcpy(bytes.data() + 4 * i, &value, 4);
        else
          std::memcpy(bytes.data() + 2 * i,
                      format == WeightFormat::F16 ? static_cast<void *>(&half) : &upper, 2);
      }
    } else {
      for (std::byte &b : bytes)
        b = std::byte(random() & 0x3b); // finite wherever it is read as an f16
    }
    if (numeric.isScaledFloat()) {
      int64_t blocks = (n + 127) / 128 * ((k + 127) / 128);
      scales.resize(format == WeightFormat::Fp8Tensor ? 1
                    : format == WeightFormat::Fp8     ? n
                                                      : blocks);
      for (float &scale : scales)
        scale = float(1 + random() % 1000) / 777;
      tensor.scales = scales;
    }
    tensor.name = "t", tensor.format = format, tensor.shape = {n, k}, tensor.data = bytes;
  }
};

class Fragments : public testing::TestWithParam<int> {};

TEST_P(Fragments, ReadByCoordinates) {
  WeightFormat format = WeightFormat(GetParam());
  bool made = format >= WeightFormat::Int8 &&
              format <= WeightFormat::Int4G128; // --quantize makes it from floats
  WeightFormat source = made ? WeightFormat::F32 : format;
  int64_t block = made || numericFormat(format).isFloat() ? 1 : import::storedBlockValues(format);
  for (auto [n, k] : {std::pair<int64_t, int64_t>{35, 5 * block + (block == 1 ? 95 : 0)},
                      {1, block},
                      {16, 3 * block},
                      {144, 131 * block}}) {
    Stored stored(source, n, k);
    FragmentLayout layout = fragmentLayout(format, n, k);
    std::vector<std::byte> packed(layout.bytes());
    // Pack tile by tile, as the driver does, but out of order.
    for (int64_t tile = layout.tiles; tile-- > 0;)
      ASSERT_TRUE(bool(compiler::packFragments(
          stored.tensor, layout, tile,
          std::span(packed).subspan(tile * layout.tileBytes(), layout.tileBytes()))));
    FragmentReader reader(layout, packed.data());
    std::vector<float> row(k);
    for (int64_t r = 0; r < n; ++r) {
      ASSERT_TRUE(bool(import::dequantizeRow(stored.tensor, r, row)));
      for (int64_t i = 0; i < k; ++i) {
        float got = reader.value(r, i);
        if (made) { // the error is at most half a step of the scale
          ASSERT_LE(std::abs(got - row[i]), std::abs(reader.d(r, i)) * 1.02f) << r << ", " << i;
        } else if (format == WeightFormat::F32) {
          ASSERT_LE(std::abs(got - row[i]), std::abs(row[i]) / 256) << r << ", " << i;
        } else {
          ASSERT_EQ(got, row[i]) << n << "x" << k << ": " << r << ", " << i;
        }
      }
    }
    // Rows beyond the weight contribute nothing.
    for (int64_t r = n; r < layout.tiles * 16; ++r)
      for (int64_t i = 0; i < k; ++i)
        ASSERT_EQ(reader.value(r, i), 0.0f) << "padding row " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fragments, testing::Range(0, kWeightFormatCount),
                         [](const auto &info) {
                           return std::string(numericFormat(WeightFormat(info.param)).name);
                         });

} // namespace
