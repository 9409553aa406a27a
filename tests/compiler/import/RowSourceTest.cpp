//===- RowSourceTest.cpp - Rows of packed, joined and stacked tensors ------===//
#include "compiler/import/checkpoint/RowSource.h"
#include "compiler/import/checkpoint/CheckpointBuilder.h"
#include "compiler/import/checkpoint/Dequantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <random>

namespace ingot::import {
namespace {

/// A checkpoint in memory and the bytes that it refers to.
struct Made {
  std::deque<std::vector<std::byte>> bytes;
  std::shared_ptr<Checkpoint> checkpoint;
  CheckpointBuilder builder{Container::Safetensors};

  /// Adds a tensor with arbitrary codes and finite scales.
  Made &add(const std::string &name, WeightFormat format, std::vector<int64_t> shape) {
    Tensor tensor{name, format, std::move(shape), {}};
    const int64_t block = storedBlockBytes(format);
    std::vector<std::byte> &data = bytes.emplace_back(
        static_cast<size_t>(tensor.elements() / storedBlockValues(format) * block));
    std::minstd_rand random(static_cast<unsigned>(bytes.size()));
    for (std::byte &byte : data)
      byte = static_cast<std::byte>(random() % 0x3C); // never the exponent of an infinity
    tensor.data = data;
    builder.addTensor(std::move(tensor));
    return *this;
  }
  const Checkpoint &done() {
    if (!checkpoint)
      checkpoint = builder.finish("");
    return *checkpoint;
  }
  RowSource find(const std::vector<TensorRows> &parts) {
    auto found = RowSource::find(done(), parts);
    EXPECT_TRUE(found) << found.error().format();
    return std::move(*found);
  }
  std::string refusal(const std::vector<TensorRows> &parts) {
    auto found = RowSource::find(done(), parts);
    if (found)
      return "found";
    EXPECT_EQ(found.error().code, "E0852");
    return found.error().format();
  }
};

std::vector<float> rowOf(const Tensor &tensor, int64_t index) {
  std::vector<float> row(static_cast<size_t>(tensor.shape.back()));
  EXPECT_TRUE(dequantizeRow(tensor, index, row));
  return row;
}

/// Checks that the source's rows, read in blocks of several sizes and one by one, equal those of
/// the list.
void expectRows(const RowSource &source, const std::vector<StoredRow> &expected) {
  ASSERT_EQ(source.rows(), static_cast<int64_t>(expected.size()));
  std::vector<float> all;
  for (size_t n = 0; n < expected.size(); ++n) {
    StoredRow found = source.at(static_cast<int64_t>(n));
    EXPECT_EQ(found.tensor, expected[n].tensor) << n;
    EXPECT_EQ(found.index, expected[n].index) << n;
    std::vector<float> row = rowOf(*expected[n].tensor, expected[n].index);
    all.insert(all.end(), row.begin(), row.end());
  }
  const auto width = static_cast<size_t>(source.columns());
  for (size_t block : {size_t(1), size_t(5), expected.size()})
    for (size_t n = 0; n < expected.size(); n += block) {
      std::vector<float> some(std::min(block, expected.size() - n) * width);
      ASSERT_TRUE(source.read(static_cast<int64_t>(n), some));
      EXPECT_EQ(std::memcmp(some.data(), all.data() + n * width, some.size() * sizeof(float)), 0)
          << "rows from " << n << " in blocks of " << block;
    }
}

TEST(RowOrder, LoopsCountLikeDigits) {
  RowOrder k = RowOrder::ofHeads(2, 3, 2, 6);
  EXPECT_EQ(k.count(18), 6);
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < 6; ++n)
    rows.push_back(k.at(n));
  EXPECT_EQ(rows, (std::vector<int64_t>{2, 3, 8, 9, 14, 15}));
  EXPECT_EQ(k.last(18), 15);
  EXPECT_EQ(k.run(0, 18), 2);
  EXPECT_EQ(k.run(3, 18), 1);
  // Rope's halves are reordered as pairs. There are two heads of four rows.
  RowOrder pairs{0, {{2, 4}, {2, 1}, {2, 2}}};
  rows.clear();
  for (int64_t n = 0; n < 8; ++n)
    rows.push_back(pairs.at(n));
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(RowOrder{3}.count(10), 7);
}

TEST(RowSource, HeadsOfAPackedTensorInEveryFormat) {
  for (WeightFormat format :
       {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16, WeightFormat::Q4_0,
        WeightFormat::Q4_1, WeightFormat::Q5_0, WeightFormat::Q5_1, WeightFormat::Q8_0,
        WeightFormat::Q4_K, WeightFormat::Q5_K, WeightFormat::Q6_K}) {
    SCOPED_TRACE(numericFormat(format).name);
    Made made;
    made.add("qkv", format, {18, 256});
    RowSource k = made.find({{"qkv", -1, RowOrder::ofHeads(2, 3, 2, 6)}});
    EXPECT_EQ(k.format(), format);
    const Tensor *qkv = made.done().find("qkv");
    expectRows(k, {{qkv, 2}, {qkv, 3}, {qkv, 8}, {qkv, 9}, {qkv, 14}, {qkv, 15}});
  }
}

TEST(RowSource, PartsFollowEachOther) {
  Made made;
  made.add("a", WeightFormat::Q8_0, {3, 64}).add("b", WeightFormat::Q8_0, {4, 64});
  const Tensor *a = made.done().find("a"), *b = made.done().find("b");
  expectRows(made.find({{"b", -1, RowOrder::range(1, 2)}, {"a"}}),
             {{b, 1}, {b, 2}, {a, 0}, {a, 1}, {a, 2}});
}

TEST(RowSource, OneMatrixOfAStack) {
  Made made;
  made.add("experts", WeightFormat::F16, {4, 6, 8});
  const Tensor *experts = made.done().find("experts");
  // The rows are up of the third expert, where gate and up are interleaved.
  expectRows(made.find({{"experts", 2, {1, {{3, 2}}}}}),
             {{experts, 13}, {experts, 15}, {experts, 17}});
  // Without a matrix number, all matrices follow each other. This reads the second row of each.
  expectRows(made.find({{"experts", -1, {1, {{4, 6}, {1}}}}}),
             {{experts, 1}, {experts, 7}, {experts, 13}, {experts, 19}});
  EXPECT_EQ(made.find({{"experts", 3}}).rows(), 6);
}

TEST(RowSource, NumbersOfAVectorAreRows) {
  Made made;
  made.add("bias", WeightFormat::BF16, {18});
  RowSource v = made.find({{"bias", -1, RowOrder::ofHeads(4, 3, 2, 6)}});
  std::vector<float> whole = rowOf(*made.done().find("bias"), 0), part(6);
  ASSERT_EQ(v.columns(), 1);
  ASSERT_TRUE(v.read(0, part));
  EXPECT_EQ(part,
            (std::vector<float>{whole[4], whole[5], whole[10], whole[11], whole[16], whole[17]}));
  EXPECT_EQ(RowSource(*made.done().find("bias")).rows(), 18);
}

TEST(RowSource, NumbersOfAMatrixTurnIntoAVector) {
  Made made;
  made.add("conv", WeightFormat::BF16, {5, 1, 3}).add("packed", WeightFormat::Q8_0, {3, 64});
  const TensorRows byTap{"conv", -1, {0, {{3}, {5, 3}}}};
  auto taps = RowSource::find(made.done(), std::span(&byTap, 1), Unit::Numbers);
  ASSERT_TRUE(taps) << taps.error().format();
  const Tensor *conv = made.done().find("conv");
  std::vector<float> turned(15);
  RowSource moved = std::move(*taps);
  ASSERT_EQ(moved.rows(), 15);
  EXPECT_TRUE(moved.checkFinite());
  ASSERT_TRUE(moved.read(0, turned));
  for (int64_t tap = 0; tap < 3; ++tap)
    for (int64_t channel = 0; channel < 5; ++channel)
      EXPECT_EQ(turned[tap * 5 + channel], rowOf(*conv, channel)[tap]) << tap << ' ' << channel;
  // If the tensor is read as rows, it is a stack. Blocks of codes are not numbers.
  EXPECT_FALSE(RowSource::find(made.done(), std::span(&byTap, 1)));
  const TensorRows codes{"packed", -1, {0, {{64}, {3, 64}}}};
  EXPECT_FALSE(RowSource::find(made.done(), std::span(&codes, 1), Unit::Numbers));
}

TEST(RowSource, ColumnsOfATransposedTensorAreRows) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16}) {
    Made made;
    made.add("conv1d", format, {5, 12}).add("experts", format, {3, 5, 12});
    for (int64_t expert : {-1, 2}) {
      const Tensor *tensor = made.done().find(expert < 0 ? "conv1d" : "experts");
      const RowOrder order{1, {{2, 6}, {3}}}; // columns 1, 2, 3, 7, 8, 9
      RowSource source = made.find({{tensor->name, expert, order, /*transposed=*/true}});
      ASSERT_EQ(source.rows(), 6);
      ASSERT_EQ(source.columns(), 5);
      EXPECT_TRUE(source.checkFinite());
      for (int64_t block : {1, 2, 6})
        for (int64_t n = 0; n < 6; n += block) {
          std::vector<float> some(static_cast<size_t>(5 * block));
          ASSERT_TRUE(source.read(n, some));
          for (int64_t i = 0; i < block; ++i)
            for (int64_t k = 0; k < 5; ++k)
              EXPECT_EQ(some[static_cast<size_t>(i * 5 + k)],
                        rowOf(*tensor, std::max<int64_t>(expert, 0) * 5 + k)[order.at(n + i)]);
        }
    }
  }
}

TEST(RowSource, OnlyItsOwnRowsMustBeFinite) {
  Made made;
  made.add("qkv", WeightFormat::F32, {6, 4});
  const float bad = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(made.bytes[0].data() + (3 * 4 + 2) * sizeof bad, &bad, sizeof bad);
  EXPECT_TRUE(made.find({{"qkv", -1, RowOrder::range(0, 3)}}).checkFinite());
  auto checked = made.find({{"qkv", -1, {1, {{3, 2}}}}}).checkFinite(); // 1, 3, 5
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "E0208");
  EXPECT_TRUE(checked.error().why.starts_with("first at row 3, column 2 of 6 x 4"))
      << checked.error().why;
}

TEST(RowSource, WhatTheCheckpointDoesNotHold) {
  Made made;
  made.add("a", WeightFormat::F16, {6, 8}).add("b", WeightFormat::F32, {6, 8});
  made.add("c", WeightFormat::F16, {6, 9}).add("stack", WeightFormat::F16, {2, 6, 8});
  EXPECT_NE(made.refusal({{"none"}}).find("'none'"), std::string::npos);
  EXPECT_NE(made.refusal({{"a", -1, RowOrder::range(4, 3)}}).find("6 rows"), std::string::npos);
  EXPECT_NE(made.refusal({{"a"}, {"b"}}).find("of f32 follow"), std::string::npos);
  EXPECT_NE(made.refusal({{"a"}, {"c"}}).find("9 columns"), std::string::npos);
  EXPECT_NE(made.refusal({{"stack", -1, {}, true}}).find("3 dimensions"), std::string::npos);
  EXPECT_NE(made.refusal({{"stack", -1, RowOrder::range(4, 9)}}).find("12 rows"),
            std::string::npos);
  EXPECT_NE(made.refusal({{"stack", 2}}).find("matrix 2 of 2"), std::string::npos);
  EXPECT_NE(made.refusal({{"a", 0}}).find("2 dimensions"), std::string::npos);
  EXPECT_NE(made.refusal({{"a", -1, {9}, true}}).find("8 rows"), std::string::npos);
  made = Made();
  made.add("codes", WeightFormat::Q8_0, {64, 64}).add("vector", WeightFormat::F32, {6});
  EXPECT_NE(made.refusal({{"codes", -1, {}, true}}).find("only matrices of floats"),
            std::string::npos);
  EXPECT_EQ(made.find({{"vector", -1, {}, true}}).columns(), 6); // transposed, it is one row
}

TEST(RowSource, NumbersMultipliedByVectors) {
  Made made;
  made.add("a", WeightFormat::BF16, {6, 8})
      .add("g", WeightFormat::F32, {8})
      .add("h", WeightFormat::F16, {6});
  made.add("codes", WeightFormat::Q8_0, {6, 32}).add("wide", WeightFormat::F32, {32});
  const Checkpoint &checkpoint = made.done();
  const Tensor &a = *checkpoint.find("a"), &g = *checkpoint.find("g"), &h = *checkpoint.find("h");
  std::vector<float> columns(8), rows(6);
  ASSERT_TRUE(RowSource(g).read(0, columns));
  ASSERT_TRUE(RowSource(h).read(0, rows));

  // Reads rows 4 and 5, then 1 to 3. Each has its own factor, and the rows are read in any order and any range.
  RowSource source =
      made.find({{"a", -1, RowOrder::range(4, 2), false, Factors{"g", 1}, Factors{"h"}},
                 {"a", -1, RowOrder::range(1, 3), false, Factors{"g", 1}, Factors{"h"}}});
  EXPECT_EQ(source.format(), WeightFormat::F32);
  std::vector<float> all(5 * 8);
  ASSERT_TRUE(source.read(0, all));
  for (int64_t n = 0; n < 5; ++n) {
    const int64_t row = n < 2 ? 4 + n : n - 1;
    const std::vector<float> own = rowOf(a, row);
    for (size_t k = 0; k < 8; ++k)
      EXPECT_EQ(all[static_cast<size_t>(n) * 8 + k],
                own[k] * (rows[static_cast<size_t>(row)] * (columns[k] + 1)))
          << n << ' ' << k;
  }
  std::vector<float> some(2 * 8);
  ASSERT_TRUE(source.read(1, some));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 8));

  // These rows were joined before they were multiplied, so the factors continue from one part to the next.
  RowSource joined = made.find({{"a", -1, RowOrder::range(2, 3), false, {}, Factors{"h", 0, 2}},
                                {"a", -1, RowOrder::range(0, 3), false, {}, Factors{"h", 0, -3}}});
  std::vector<float> last(8);
  ASSERT_TRUE(joined.read(5, last));
  const std::vector<float> own = rowOf(a, 2);
  for (size_t k = 0; k < 8; ++k)
    EXPECT_EQ(last[k], own[k] * rows[5]);

  // Columns of a transposed tensor become its rows.
  RowSource across = made.find({{"a", -1, {}, true, Factors{"h"}, Factors{"g"}}});
  std::vector<float> column(6);
  ASSERT_TRUE(across.read(3, column));
  for (int64_t k = 0; k < 6; ++k)
    EXPECT_EQ(column[static_cast<size_t>(k)],
              rowOf(a, k)[3] * (columns[3] * rows[static_cast<size_t>(k)]));

  EXPECT_NE(made.refusal({{"a", -1, {}, false, Factors{"h"}}}).find("has 6 factors"),
            std::string::npos);
  EXPECT_NE(made.refusal({{"a", -1, {}, false, {}, Factors{"h", 0, 1}}}).find("needed are -1 to 4"),
            std::string::npos);
  EXPECT_NE(made.refusal({{"a", -1, {}, false, Factors{"none"}}}).find("does not exist"),
            std::string::npos);
  EXPECT_NE(made.refusal({{"a", -1, {}, false, Factors{"a"}}}).find("not a vector"),
            std::string::npos);
  EXPECT_NE(made.refusal({{"codes", -1, {}, false, Factors{"wide"}}}).find("only floats"),
            std::string::npos);
}

} // namespace
} // namespace ingot::import
