//===- SeededWeightTest.cpp - Pieces of weights that the host generates ------===//
#include "runtime/device/cuda/DummyWeightUnits.h"
#include "runtime/formats/DummyWeights.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

using namespace ingot;

namespace {

constexpr uint64_t kSeed = 11;

/// Any number of threads generates the same weights, of one tile or of several. 0 threads count as 1.
TEST(SeededWeightPieces, AreTheSameOnAnyNumberOfThreads) {
  for (uint64_t rows : {16, 100}) {
    const FragmentLayout layout = fragmentLayout(WeightFormat::BF16, int64_t(rows), 64);
    fb::WeightT table;
    table.format = numericFormat(WeightFormat::BF16).name;
    table.layout = fb::WeightLayout::Fragment16;
    table.shape = {rows, 64};
    table.size = uint64_t(layout.bytes());
    table.source = fb::WeightSource::Seed;
    table.tensor = 3;
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Weight::Pack(builder, &table));
    const cuda::DummyWeightUnits weight(
        kSeed, *flatbuffers::GetRoot<fb::Weight>(builder.GetBufferPointer()));
    ASSERT_EQ(weight.units(), (rows + 15) / 16);

    std::vector<std::byte> expected(table.size, std::byte{0});
    fillSeedFragments(kSeed, table.tensor, layout, 0, expected);
    for (int threads : {0, 1, 3, 64})
      for (uint64_t first = 0; first < weight.units(); ++first) {
        const uint64_t before = first * weight.unitBytes();
        std::vector<std::byte> filled(table.size - before, std::byte{1});
        weight.fill(first, filled, threads);
        EXPECT_TRUE(
            std::equal(filled.begin(), filled.end(), expected.begin() + std::ptrdiff_t(before)))
            << rows << " rows, " << threads << " threads, from tile " << first;
      }
  }
}

} // namespace
