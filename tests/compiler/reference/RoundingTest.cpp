//===- RoundingTest.cpp - The interpreter rounds like the packer -----------===//
#include "compiler/reference/Rounding.h"

#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/pack/Pack.h"
#include "compiler/reference/Weights.h"
#include "tests/runtime/formats/RandomWeights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ingot;
using namespace ingot::reference;

static std::vector<float> someRow(int64_t k, float spread) {
  std::vector<float> row(static_cast<size_t>(k));
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = spread * (uniform(11, i) - 0.5f) * (i % 37 == 5 ? 8.0f : 1.0f);
  return row;
}

/// Decodes row 0 of the panel's quantised weight.
static std::vector<float> unpackRow0(const PanelLayout &layout, std::span<const std::byte> panel) {
  const test::WeightReader<PanelLayout> reader(layout, panel.data());
  std::vector<float> row;
  for (int64_t k = 0; k < layout.k; ++k)
    row.push_back(reader.value(0, k));
  return row;
}

TEST(Rounding, AgreesWithThePacker) {
  for (WeightFormat format :
       {WeightFormat::Int8, WeightFormat::Int4G32, WeightFormat::Int4G64, WeightFormat::Int4G128})
    for (int64_t k : {32, 576, 200}) // 200: not a multiple of a group
      for (float spread : {1.0f, 1e-3f, 1e-7f, 0.0f}) {
        std::vector<float> row = someRow(k, spread);
        import::Tensor tensor{"w", WeightFormat::F32, {1, k}, std::as_bytes(std::span(row))};
        PanelLayout layout = panelLayout(format, 1, k);
        std::vector<std::byte> panel(static_cast<size_t>(layout.panelBytes()));
        ASSERT_TRUE(compiler::packPanels(tensor, layout, 0, panel));
        std::vector<float> rounded = row;
        ASSERT_TRUE(roundRow(format, rounded));
        EXPECT_EQ(rounded, unpackRow0(layout, panel)) << numericFormat(format).name << ", K " << k;
      }
}

TEST(Rounding, Fp8AgreesWithThePacker) {
  for (int64_t k : {32, 576, 200})
    for (float spread : {1.0f, 1e-3f, 1e-30f, 1e-44f, 0.0f}) {
      std::vector<float> row = someRow(k, spread);
      import::Tensor tensor{"w", WeightFormat::F32, {1, k}, std::as_bytes(std::span(row))};
      PanelLayout layout = panelLayout(WeightFormat::Fp8, 1, k);
      std::vector<std::byte> panel(static_cast<size_t>(layout.panelBytes()));
      ASSERT_TRUE(compiler::packPanels(tensor, layout, 0, panel));
      std::vector<float> rounded = row;
      ASSERT_TRUE(roundRow(WeightFormat::Fp8, rounded));
      EXPECT_EQ(rounded, unpackRow0(layout, panel)) << "K " << k << ", spread " << spread;
      if (spread ==
          1.0f) // 3 bits of mantissa: half a step is 1/16 of the number, above 2^-6 of the scale
        for (size_t i = 0; i < row.size(); ++i)
          EXPECT_LE(std::abs(row[i] - rounded[i]), std::abs(row[i]) / 16 + 4.0f / 448 * 0x1p-9f)
              << i;
    }
}

TEST(Rounding, ErrorsAreHalfAStep) {
  std::vector<float> row = someRow(64, 1), rounded = row;
  ASSERT_TRUE(roundRow(WeightFormat::Int8, rounded));
  for (size_t group = 0; group < row.size(); group += 32) {
    float largest = 0;
    for (size_t i = group; i < group + 32; ++i)
      largest = std::max(largest, std::abs(row[i]));
    for (size_t i = group; i < group + 32; ++i)
      EXPECT_LE(std::abs(row[i] - rounded[i]), 0.51f * largest / 127 + largest * 0x1p-11f);
  }
}

TEST(Rounding, ScalesAreNeverLost) {
  for (WeightFormat format : {WeightFormat::Int8, WeightFormat::Int4G32}) {
    std::vector<float> row = someRow(32, 1e-7f), rounded = row;
    ASSERT_TRUE(roundRow(format, rounded));
    for (size_t i = 0; i < row.size(); ++i) // the step is f16's smallest number
      EXPECT_LE(std::abs(row[i] - rounded[i]), 0x1p-25f);
    row[3] = 1e7f; // more than 127 times f16's largest number
    import::Tensor tensor{"w", WeightFormat::F32, {1, 32}, std::as_bytes(std::span(row))};
    PanelLayout layout = panelLayout(format, 1, 32);
    std::vector<std::byte> panel(static_cast<size_t>(layout.panelBytes()));
    auto packed = compiler::packPanels(tensor, layout, 0, panel);
    ASSERT_FALSE(packed);
    EXPECT_EQ(packed.error().code, "E0448");
  }
}

TEST(Rounding, FloatsToEven) {
  EXPECT_EQ(roundToBf16(1.00390625f), 1.0f);      // 1 + 2^-8
  EXPECT_EQ(roundToBf16(1.01171875f), 1.015625f); // 1 + 3 * 2^-8
  EXPECT_EQ(roundToF16(1.00048828125f), 1.0f);    // 1 + 2^-11
  EXPECT_EQ(roundToBf16(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(roundToBf16(NAN)));
}

TEST(Rounding, FormatsThatOnlyFilesHold) {
  std::vector<float> row(32, 1.0f);
  auto rounded = roundRow(WeightFormat::Q4_K, row);
  ASSERT_FALSE(rounded);
  EXPECT_EQ(rounded.error().code, "E0452");
}
