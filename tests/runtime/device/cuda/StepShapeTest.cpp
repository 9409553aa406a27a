//===- StepShapeTest.cpp - Buckets, variants, grids, batch images, code choice -===//
#include "runtime/device/cuda/StepShape.h"
#include "runtime/device/cuda/BatchImage.h"
#include "runtime/engine/GpuTarget.h"

#include <array>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cuda;

namespace {

TEST(StepShape, BucketsHoldTheirTokens) {
  const std::pair<uint64_t, uint64_t> expected[] = {{1, 1},   {2, 2},    {3, 4},    {5, 8},
                                                    {9, 16},  {17, 24},  {25, 32},  {33, 48},
                                                    {49, 64}, {65, 128}, {129, 192}};
  for (auto [tokens, bucket] : expected)
    EXPECT_EQ(bucketOf(tokens), bucket) << tokens;
  for (uint64_t tokens = 1; tokens < 300; ++tokens) {
    EXPECT_GE(bucketOf(tokens), tokens);
    EXPECT_EQ(bucketOf(bucketOf(tokens)), bucketOf(tokens));
  }
}

TEST(StepShape, GridsRoundUp) {
  StepShape shape{10, 3, 7, 1, 2, 9};
  EXPECT_EQ(blocks({fb::GridBase::Constant, 5, 2}, shape), 3u);
  EXPECT_EQ(blocks({fb::GridBase::Tokens, 1, 8}, shape), 2u);
  EXPECT_EQ(blocks({fb::GridBase::Rows, 4, 1}, shape), 12u);
  EXPECT_EQ(blocks({fb::GridBase::Tiles, 3, 7}, shape), 3u);
  EXPECT_EQ(blocks({fb::GridBase::PromptTiles, 8, 1}, shape), 16u);
  EXPECT_EQ(blocks({fb::GridBase::Shares, 8, 1}, shape), 72u);
  shape.rows = 0;
  EXPECT_EQ(blocks({fb::GridBase::Rows, 4, 3}, shape), 0u);
  shape.tokens = uint64_t(1) << 40;
  EXPECT_EQ(blocks({fb::GridBase::Tokens, uint64_t(1) << 40, 1}, shape), std::nullopt);
}

TEST(StepShape, CountsABatch) {
  AttentionTile tiles[] = {{0, 1, 0, 17}, {1, 4, 1, 0}};
  BatchView batch{};
  batch.tokens = 5;
  batch.rows = 2;
  batch.tiles = 2;
  batch.attentionTiles = tiles;
  StepShape shape = StepShape::of(batch, {.shares = 10});
  EXPECT_EQ(shape.tileTokens, 4u);
  EXPECT_EQ(shape.promptTiles, 1u);
  EXPECT_EQ(shape.shares, 11u);
  EXPECT_FALSE(shape.decodes());
  batch.tokens = batch.tiles = 1;
  EXPECT_TRUE(StepShape::of(batch, {}).decodes());
  batch.attentionTiles = tiles + 1;
  batch.tokens = 4;
  EXPECT_EQ(StepShape::of(batch, {.shares = 10}).shares, 0u) << "nothing to share";
  EXPECT_EQ(StepShape::ofDecodes(8, 3, {.shares = 10}).shares, 18u);
  EXPECT_TRUE(StepShape::ofDecodes(8, 3, {}).decodes());
}

/// The last token of a chunk may be a separate tile. It still counts as prefill.
TEST(StepShape, AChunksLastTokenDoesNotDecode) {
  AttentionTile tiles[] = {{0, 16, 0, 0}, {16, 1, 0, 16}, {17, 1, 1, 40}};
  BatchView batch{};
  batch.tokens = 18;
  batch.tiles = 3;
  batch.attentionTiles = tiles;
  EXPECT_EQ(StepShape::of(batch, {}).promptTiles, 2u);
  EXPECT_EQ(StepShape::of(batch, {}).shares, 1u);
}

/// Returns a table of variants, given the base of x and the token guard of each.
flatbuffers::DetachedBuffer
variantsOf(const std::vector<std::pair<fb::GridBase, uint64_t>> &variants) {
  fb::KernelVariantsT list;
  for (auto [base, most] : variants) {
    auto variant = std::make_unique<fb::VariantT>();
    variant->symbol = "f";
    variant->max_tokens = most;
    variant->x = std::make_unique<fb::Extent>(base, 1, 1);
    variant->y = std::make_unique<fb::Extent>(fb::GridBase::Constant, 1, 1);
    variant->z = std::make_unique<fb::Extent>(fb::GridBase::Constant, 1, 1);
    list.variants.push_back(std::move(variant));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::KernelVariants::Pack(builder, &list));
  return builder.Release();
}

TEST(StepShape, TheFirstVariantOfEachKind) {
  using Base = fb::GridBase;
  auto chosen = [](const flatbuffers::DetachedBuffer &table, uint64_t tokens) {
    const auto *list = flatbuffers::GetRoot<fb::KernelVariants>(table.data());
    const ChosenVariants of = variantsFor(*list, StepShape{.tokens = tokens});
    return std::vector<uint32_t>(of.begin(), of.end());
  };
  using Indices = std::vector<uint32_t>;
  auto one = variantsOf({{Base::Tokens, 4}, {Base::Constant, 9}, {Base::Tiles, 0}});
  EXPECT_EQ(chosen(one, 4), Indices{0});
  EXPECT_EQ(chosen(one, 5), Indices{1});
  EXPECT_EQ(chosen(one, 10), Indices{2});
  auto two = variantsOf(
      {{Base::Shares, 4}, {Base::PromptTiles, 9}, {Base::Shares, 0}, {Base::PromptTiles, 0}});
  EXPECT_EQ(chosen(two, 4), (Indices{0, 1}));
  EXPECT_EQ(chosen(two, 9), (Indices{1, 2}));
  EXPECT_EQ(chosen(two, 10), (Indices{2, 3}));
}

struct Fixture {
  std::array<int32_t, 5> ids = {9, 8, 7, 6, 5}, positions = {64, 0, 1, 2, 3},
                         sequences = {1, 0, 0, 0, 0};
  std::array<int32_t, 2> rows = {0, 4};
  std::array<AttentionTile, 2> tiles = {{{0, 1, 1, 64}, {1, 4, 0, 0}}};
  std::array<int32_t, 30> table{}; // three rows of ten
  BatchView batch{};
  Fixture() {
    for (int i = 0; i < 30; ++i)
      table[size_t(i)] = 100 + i;
    batch = {5,
             3,
             2,
             2,
             ids.data(),
             positions.data(),
             sequences.data(),
             rows.data(),
             tiles.data(),
             table.data(),
             10,
             nullptr,
             nullptr,
             0};
  }
};

TEST(BatchImage, HoldsTheBatchAtTheDevicesAddresses) {
  Fixture f;
  alignas(256) std::array<std::byte, 4096> image{};
  const Address device = 0x7f0000000000;
  uint64_t bytes = packBatch(f.batch, {}, device, image);
  ASSERT_GT(bytes, 0u);
  ASSERT_LE(bytes, image.size());
  BatchView view;
  std::memcpy(&view, image.data(), sizeof view);
  auto host = [&](const auto *address) {
    return reinterpret_cast<decltype(address)>(image.data() +
                                               (reinterpret_cast<Address>(address) - device));
  };
  EXPECT_EQ(view.tokens, 5);
  EXPECT_EQ(view.rows, 2);
  EXPECT_EQ(view.tiles, 2);
  EXPECT_EQ(view.sequences, 2) << "the third row is not used";
  EXPECT_EQ(view.blockTableStride, 3) << "position 64 is in the third page";
  for (const void *list : std::initializer_list<const void *>{
           view.ids, view.positions, view.sequenceOf, view.rowTokens, view.attentionTiles,
           view.splits, view.blockTable})
    EXPECT_EQ(reinterpret_cast<Address>(list) % 256, 0u);
  EXPECT_EQ(host(view.ids)[4], 5);
  EXPECT_EQ(host(view.positions)[0], 64);
  EXPECT_EQ(host(view.sequenceOf)[0], 1);
  EXPECT_EQ(host(view.rowTokens)[1], 4);
  EXPECT_EQ(view.promptTiles, 1);
  EXPECT_EQ(host(view.attentionTiles)[0].tokens, 4) << "prompts come first";
  EXPECT_EQ(host(view.attentionTiles)[1].firstPosition, 64);
  ASSERT_EQ(view.splitCount, 1);
  const AttentionSplit &split = host(view.splits)[0];
  EXPECT_EQ(split.token, 0);
  EXPECT_EQ(split.sequence, 1);
  EXPECT_EQ(split.position, 64);
  EXPECT_EQ(split.index, 0);
  EXPECT_EQ(split.of, 1);
  EXPECT_EQ(host(view.blockTable)[0], 100);
  EXPECT_EQ(host(view.blockTable)[3 + 2], 112);
}

/// Each group of pages has a view at a fixed offset, with its own block table.
TEST(BatchImage, HasAViewForEachGroup) {
  Fixture f;
  std::array<int32_t, 30> second{}, third{};
  for (int i = 0; i < 30; ++i)
    second[size_t(i)] = 200 + i, third[size_t(i)] = 300 + i;
  const int32_t *tables[] = {f.table.data(), second.data(), third.data()};
  f.batch.groupTables = tables;
  alignas(256) std::array<std::byte, 8192> image{};
  const Address device = 0x7f0000000000;
  const uint64_t one = packBatch(f.batch, {}, device, image);
  const uint64_t bytes = packBatch(f.batch, {}, device, image, 3);
  EXPECT_EQ(bytes, one + 2 * 256 + 2 * 256) << "two views and two tables more";
  BatchView views[3];
  for (size_t group = 0; group < 3; ++group) {
    BatchView &view = views[group];
    std::memcpy(&view, image.data() + group * kViewBytes, sizeof view);
    EXPECT_EQ(view.groupTables, nullptr) << "that is the host's";
    EXPECT_EQ(view.blockTableStride, 3);
    int32_t entries[6];
    std::memcpy(entries, image.data() + (reinterpret_cast<Address>(view.blockTable) - device),
                sizeof entries);
    EXPECT_EQ(entries[0], 100 * int32_t(group + 1));
    EXPECT_EQ(entries[5], 100 * int32_t(group + 1) + 12) << "the second row's third page";
    BatchView same = view;
    same.blockTable = views[0].blockTable;
    EXPECT_EQ(std::memcmp(&same, &views[0], sizeof same), 0) << "all else is the first's";
  }
  for (uint64_t less = bytes - 600; less < bytes; less += 4)
    EXPECT_EQ(packBatch(f.batch, {}, device, std::span(image).first(less), 3), 0u) << less;
}

TEST(BatchImage, HoldsHowRowsAreDrawn) {
  Fixture f;
  alignas(256) std::array<std::byte, 4096> image{};
  const uint64_t without = packBatch(f.batch, {}, 4096, image);
  BatchView view;
  std::memcpy(&view, image.data(), sizeof view);
  EXPECT_EQ(view.sampling, nullptr);
  RowSampling rows[2] = {};
  rows[1].seed = 7, rows[1].scale = 2;
  f.batch.sampling = rows;
  EXPECT_EQ(packBatch(f.batch, {}, 4096, image), without + 256);
  std::memcpy(&view, image.data(), sizeof view);
  RowSampling copy;
  std::memcpy(&copy, image.data() + (reinterpret_cast<Address>(view.sampling + 1) - 4096),
              sizeof copy);
  EXPECT_EQ(copy.seed, 7u);
  EXPECT_EQ(copy.scale, 2);
}

TEST(BatchImage, SaysWhenThereIsNoRoom) {
  Fixture f;
  alignas(256) std::array<std::byte, 4096> image{};
  uint64_t bytes = packBatch(f.batch, {}, 4096, image);
  EXPECT_EQ(packBatch(f.batch, {}, 4096, std::span(image).first(bytes)), bytes);
  for (uint64_t less = 0; less < bytes; less += 4)
    EXPECT_EQ(packBatch(f.batch, {}, 4096, std::span(image).first(less)), 0u) << less;
}

TEST(GpuTarget, NamesAndWhatTheyRunOn) {
  using runtime::gpuTargetNamed;
  for (const char *bad :
       {"", "cuda", "cuda:", "cuda:sm_", "cuda:sm_9", "cuda:sm_090", "cuda:sm_90b", "cuda:sm_90aa",
        "cuda:compute_80a", "cuda:sm_-90", "cuda:sm_9999", "cpu:avx2", "cuda-emulator:compute_80"})
    EXPECT_FALSE(gpuTargetNamed(bad)) << bad;
  EXPECT_TRUE(gpuTargetNamed("cuda:sm_90a")->runsOn(90));
  EXPECT_FALSE(gpuTargetNamed("cuda:sm_90a")->runsOn(100));
  EXPECT_TRUE(gpuTargetNamed("cuda:sm_80")->runsOn(89));
  EXPECT_FALSE(gpuTargetNamed("cuda:sm_89")->runsOn(80));
  EXPECT_FALSE(gpuTargetNamed("cuda:sm_80")->runsOn(90));
  EXPECT_TRUE(gpuTargetNamed("cuda:compute_80")->runsOn(120));
  EXPECT_FALSE(gpuTargetNamed("cuda:compute_90")->runsOn(89));
}

} // namespace
