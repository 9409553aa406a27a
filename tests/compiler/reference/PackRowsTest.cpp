//===- PackRowsTest.cpp - Rows of a fused tensor pack like a separate one --===//
//
// A weight that is a part of a tensor, with its rows in a given order, must pack to the same bytes as a
// separate tensor with those rows: for CPUs and GPUs, with and without conversion to another format.
//===----------------------------------------------------------------------===//
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/pack/Pack.h"
#include "compiler/reference/Weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

using namespace ingot;

namespace {

constexpr int64_t kHeads = 5, kSize = 14, kColumns = 256;

std::vector<std::byte> someBytes(WeightFormat format, int64_t rows) {
  std::vector<std::byte> data(static_cast<size_t>(rows * import::storedRowBytes(format, kColumns)));
  std::minstd_rand random(7);
  for (std::byte &byte : data)
    byte = static_cast<std::byte>(random() % 0x3C);
  return data;
}

/// The k rows of a fused tensor, [head][q, k, v], and a separate tensor that holds the same rows.
struct Packed {
  std::vector<std::byte> data, copied;
  import::Checkpoint checkpoint;
  import::Tensor copy;

  explicit Packed(WeightFormat format) : data(someBytes(format, 3 * kHeads * kSize)) {
    checkpoint.tensors = {{"qkv", format, {3 * kHeads * kSize, kColumns}, data}};
    const auto rowBytes = import::storedRowBytes(format, kColumns);
    for (int64_t head = 0; head < kHeads; ++head) {
      auto from = data.begin() + (3 * head + 1) * kSize * rowBytes;
      copied.insert(copied.end(), from, from + kSize * rowBytes);
    }
    copy = {"k", format, {kHeads * kSize, kColumns}, copied};
  }
  import::RowSource source() const {
    TensorRows k{"qkv", -1, RowOrder::ofHeads(kSize, kHeads, kSize, 3 * kSize)};
    auto found = import::RowSource::find(checkpoint, std::span(&k, 1));
    EXPECT_TRUE(found);
    return std::move(*found);
  }
};

constexpr WeightFormat kStored[] = {WeightFormat::F32,  WeightFormat::F16,  WeightFormat::BF16,
                                    WeightFormat::Q4_0, WeightFormat::Q4_1, WeightFormat::Q5_0,
                                    WeightFormat::Q5_1, WeightFormat::Q8_0, WeightFormat::Q4_K,
                                    WeightFormat::Q5_K, WeightFormat::Q6_K};
constexpr WeightFormat kTo[] = {WeightFormat::BF16, WeightFormat::Int8, WeightFormat::Int4G64,
                                WeightFormat::Fp8};

template <typename F> void forEachPair(F check) {
  for (WeightFormat stored : kStored) {
    Packed packed(stored);
    std::vector<WeightFormat> to(std::begin(kTo), std::end(kTo));
    to.push_back(stored);
    for (WeightFormat format : to) {
      SCOPED_TRACE(std::string(numericFormat(stored).name) + " to " +
                   std::string(numericFormat(format).name));
      check(packed, format);
    }
  }
}

} // namespace

TEST(PackRows, PanelsOfHeads) {
  forEachPair([](const Packed &packed, WeightFormat format) {
    PanelLayout layout = panelLayout(format, kHeads * kSize, kColumns);
    const auto bytes = static_cast<size_t>(layout.panels * layout.panelBytes());
    std::vector<std::byte> part(bytes), whole(bytes);
    ASSERT_TRUE(compiler::packPanels(packed.source(), layout, 0, part));
    ASSERT_TRUE(compiler::packPanels(packed.copy, layout, 0, whole));
    EXPECT_TRUE(part == whole);
    // One job packs the panels from the second one on.
    std::vector<std::byte> piece(bytes - static_cast<size_t>(layout.panelBytes()));
    ASSERT_TRUE(compiler::packPanels(packed.source(), layout, 1, piece));
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + layout.panelBytes()));
  });
}

TEST(PackRows, FragmentsOfHeads) {
  forEachPair([](const Packed &packed, WeightFormat format) {
    FragmentLayout layout = fragmentLayout(format, kHeads * kSize, kColumns);
    const auto bytes = static_cast<size_t>(layout.tiles * layout.tileBytes());
    std::vector<std::byte> part(bytes), whole(bytes);
    ASSERT_TRUE(compiler::packFragments(packed.source(), layout, 0, part));
    ASSERT_TRUE(compiler::packFragments(packed.copy, layout, 0, whole));
    EXPECT_TRUE(part == whole);
  });
}
