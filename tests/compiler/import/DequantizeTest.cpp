//===- DequantizeTest.cpp - Dequantisation is bit-exact with the reference ----===//
//
// make_quant_golden.py wrote the expected numbers, tests/checkpoints/quant_golden.bin.
//===----------------------------------------------------------------------===//
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/checkpoint/RowSource.h"
#include "compiler/import/methods/Nvfp4.h"
#include "tests/SourceDir.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

using namespace ingot;
using namespace ingot::import;

namespace {

struct Golden {
  std::vector<std::byte> stored;
  std::vector<float> values;
};

std::map<std::string, Golden> readGoldens() {
  std::ifstream file(test::sourceDir() + "/tests/checkpoints/quant_golden.bin", std::ios::binary);
  std::map<std::string, Golden> goldens;
  uint32_t length;
  while (file.read(reinterpret_cast<char *>(&length), sizeof length)) {
    std::string name(length, '\0');
    file.read(name.data(), length);
    Golden &golden = goldens[name];
    uint64_t size;
    file.read(reinterpret_cast<char *>(&size), sizeof size);
    golden.stored.resize(size);
    file.read(reinterpret_cast<char *>(golden.stored.data()), static_cast<std::streamsize>(size));
    file.read(reinterpret_cast<char *>(&size), sizeof size);
    golden.values.resize(size);
    file.read(reinterpret_cast<char *>(golden.values.data()),
              static_cast<std::streamsize>(size * sizeof(float)));
  }
  return goldens;
}

size_t differences(std::span<const float> a, std::span<const float> b) {
  size_t count = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    count += std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]);
  return count;
}

TEST(Dequantize, EveryFormatEqualsTheReferenceBitForBit) {
  std::map<std::string, Golden> goldens = readGoldens();
  ASSERT_EQ(goldens.size(), 28u);
  for (const auto &[name, golden] : goldens) {
    std::optional<WeightFormat> format = weightFormatNamed(name);
    ASSERT_TRUE(format) << name;
    std::vector<float> values(golden.values.size());
    ASSERT_GE(values.size(), 512u);
    if (format == WeightFormat::Nvfp4) { // its four rows of five blocks differ from the file's
      Tensor tensor{"t", *format, {4, 320}, {}};
      tensor.maker = makeNvfp4({320, 4, golden.stored, {}, {1.0f}});
      ASSERT_TRUE(RowSource(tensor).read(0, values));
      EXPECT_TRUE(checkFinite(tensor));
    } else {
      ASSERT_TRUE(dequantizeRow(*format, golden.stored, values)) << name;
    }
    EXPECT_EQ(differences(values, golden.values), 0u) << name;
  }
}

/// Implements NumericFormat.h's formulas again, for single values of the parts that the packer sees.
float formula(WeightFormat id, const BlockParts &parts, int k) {
  const NumericFormat &format = numericFormat(id);
  const float d = parts.d, m = parts.m;
  const float q = static_cast<float>(format.numberOf(parts.q[k])),
              zero = static_cast<float>(format.zeroPoint);
  const int g = k / format.group;
  if (format.kind == NumericFormat::Kind::Affine)
    return format.hasMin ? d * q + m : d * (q - zero);
  if (!format.hasMin)
    return (d * parts.s[g]) * (q - zero);
  return (d * parts.s[g]) * q - (m * parts.t[g]);
}

TEST(Codes, PartsAndFormulaGiveTheSameNumbers) {
  for (const auto &[name, golden] : readGoldens()) {
    WeightFormat format = *weightFormatNamed(name);
    if (numericFormat(format).isFloat() || format == WeightFormat::Nvfp4)
      continue;
    const int64_t values = storedBlockValues(format), bytes = storedBlockBytes(format);
    EXPECT_EQ(values, numericFormat(format).block()) << name;
    std::vector<float> computed;
    for (size_t at = 0; at < golden.stored.size(); at += static_cast<size_t>(bytes)) {
      BlockParts parts;
      unpackBlock(format, golden.stored.data() + at, parts);
      for (int k = 0; k < values; ++k) {
        ASSERT_LT(parts.q[k], 1 << numericFormat(format).bits) << name;
        computed.push_back(formula(format, parts, k));
      }
    }
    EXPECT_EQ(differences(computed, golden.values), 0u) << name;
  }
}

TEST(Codes, F16OfEveryBitPattern) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = f16ToF32(static_cast<uint16_t>(bits));
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    EXPECT_EQ(std::signbit(value), bits >> 15 == 1);
    if (exponent == 31) {
      EXPECT_EQ(std::isinf(value), mantissa == 0);
      EXPECT_EQ(std::isnan(value), mantissa != 0);
      continue;
    }
    double expected =
        exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
    ASSERT_EQ(std::fabs(value), expected) << bits;
  }
}

TEST(Dequantize, LengthsMustFit) {
  std::vector<std::byte> row(36);
  std::vector<float> values(64);
  EXPECT_TRUE(dequantizeRow(WeightFormat::Q4_0, row, values));
  EXPECT_FALSE(dequantizeRow(WeightFormat::Q4_0, row, std::span(values).first(32)));
  EXPECT_FALSE(dequantizeRow(WeightFormat::Q4_0, row, std::span(values).first(63)));
  EXPECT_FALSE(dequantizeRow(WeightFormat::Q4_K, row, values));
}

Tensor tensorOf(WeightFormat format, int64_t rows, int64_t k, std::span<const std::byte> data) {
  return {"layer.weight", format, {rows, k}, data};
}

TEST(CheckFinite, FindsTheFirstBadPlaceOfEveryFormat) {
  struct Case {
    WeightFormat format;
    size_t block, offset; // block with the bad bits, and their offset in it
    uint32_t bits;
    size_t size;
    const char *place;
  } cases[] = {{WeightFormat::F32, 5000, 0, 0x7FC00000, 4, "row 9, column 392"},
               {WeightFormat::F32, 0, 0, 0xFF800000, 4, "row 0, column 0"},
               {WeightFormat::F16, 511, 0, 0x7C00, 2, "row 0, column 511"},
               {WeightFormat::BF16, 512, 0, 0xFFFF, 2, "row 1, column 0"},
               {WeightFormat::Q4_0, 17, 0, 0x7E00, 2, "row 1, column 32"},
               {WeightFormat::Q4_1, 1, 2, 0xFC00, 2, "row 0, column 32"},
               {WeightFormat::Q5_0, 3, 0, 0x7C01, 2, "row 0, column 96"},
               {WeightFormat::Q5_1, 16, 2, 0x7C00, 2, "row 1, column 0"},
               {WeightFormat::Q8_0, 159, 0, 0x7C00, 2, "row 9, column 480"},
               {WeightFormat::Q4_K, 2, 2, 0x7C00, 2, "row 1, column 0"},
               {WeightFormat::Q5_K, 3, 0, 0x7C00, 2, "row 1, column 256"},
               {WeightFormat::Q6_K, 19, 208, 0xFC00, 2, "row 9, column 256"},
               {WeightFormat::Q2_K, 2, 82, 0x7C00, 2, "row 1, column 0"},
               {WeightFormat::Q3_K, 19, 108, 0xFC00, 2, "row 9, column 256"},
               {WeightFormat::IQ4_NL, 17, 0, 0x7E00, 2, "row 1, column 32"},
               {WeightFormat::IQ4_XS, 3, 0, 0x7C00, 2, "row 1, column 256"},
               {WeightFormat::Mxfp4, 17, 0, 0xFF, 1, "row 1, column 32"},
               {WeightFormat::TQ1_0, 3, 52, 0x7C00, 2, "row 1, column 256"},
               {WeightFormat::Q2_0, 9, 0, 0xFC00, 2, "row 1, column 64"},
               {WeightFormat::Q1_0, 7, 0, 0x7C00, 2, "row 1, column 384"},
               {WeightFormat::IQ2_XXS, 3, 0, 0x7C00, 2, "row 1, column 256"},
               {WeightFormat::Int4ZG128, 5, 0, 0x7C00, 2, "row 1, column 128"},
               {WeightFormat::Int4BG128, 5, 0, 0x7F80, 2, "row 1, column 128"},
               {WeightFormat::Int8F, 5, 0, 0xFF800000, 4, "row 1, column 128"}};
  for (const Case &test : cases) {
    const int64_t rows = 10, k = 512, bytes = storedBlockBytes(test.format);
    // Set all bits except those of the scales. Codes are never NaN.
    std::vector<std::byte> data(static_cast<size_t>(rows * storedRowBytes(test.format, k)));
    if (!numericFormat(test.format).isFloat())
      for (size_t i = 0; i < data.size(); ++i) {
        size_t inBlock = i % static_cast<size_t>(bytes);
        const auto at = static_cast<size_t>(storedBlock(test.format)->scaleAt);
        bool scale = inBlock >= at && inBlock < at + 4;
        data[i] = scale ? std::byte(0x10) : std::byte(0xFF);
      }
    Tensor tensor = tensorOf(test.format, rows, k, data);
    EXPECT_TRUE(checkFinite(tensor)) << numericFormat(test.format).name;
    std::memcpy(data.data() + test.block * static_cast<size_t>(bytes) + test.offset, &test.bits,
                test.size);
    Result<void> checked = checkFinite(tensor);
    ASSERT_FALSE(checked) << numericFormat(test.format).name;
    EXPECT_EQ(checked.error().code, "E0208");
    EXPECT_EQ(checked.error().exit, ExitCode::File);
    EXPECT_NE(checked.error().why.find(test.place), std::string::npos) << checked.error().why;
  }
}

} // namespace
