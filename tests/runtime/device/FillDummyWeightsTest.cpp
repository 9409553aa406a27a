//===- FillDummyWeightsTest.cpp - Weights generated at load ---------------===//
#include "runtime/device/cpu/FillDummyWeights.h"
#include "runtime/device/cpu/CpuExecutor.h"
#include "runtime/formats/DummyWeights.h"
#include "tests/runtime/device/FakeEngine.h"

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cpu;
using runtime::EngineFile;

namespace {

constexpr uint64_t kSeed = 11;

void addSeeded(fb::EngineT &engine, WeightFormat format, std::vector<uint64_t> shape) {
  fb::ProgramT &table = *engine.programs[0];
  auto weight = std::make_unique<fb::WeightT>();
  weight->name = "made" + std::to_string(table.weights.size());
  weight->format = numericFormat(format).name;
  bool vector = shape.size() == 1;
  weight->layout = vector ? fb::WeightLayout::VectorF32 : fb::WeightLayout::Panel32;
  weight->size =
      uint64_t(vector ? f32RowBytes(int64_t(shape[0]))
                      : panelLayout(format, int64_t(shape[0]), int64_t(shape[1])).bytes());
  weight->shape = std::move(shape);
  weight->source = fb::WeightSource::Seed;
  weight->tensor = uint32_t(table.weights.size() + 100);
  for (const auto &other : table.weights)
    if (other->source == fb::WeightSource::Seed)
      weight->offset = std::max(weight->offset, other->offset + other->size);
  table.weights.push_back(std::move(weight));
}

struct FakeFile {
  explicit FakeFile(const std::function<void(fb::EngineT &)> &change) {
    test::FakeOptions options;
    options.change = change;
    path = test::writeFakeEngine("seeded.ingot", options);
    auto opened = EngineFile::open(path, runtime::VerifyLevel::Everything);
    EXPECT_TRUE(opened) << opened.error().format();
    file = *opened;
  }
  ~FakeFile() { std::remove(path.c_str()); }
  std::string path;
  std::shared_ptr<EngineFile> file;
};

void addMany(fb::EngineT &table) {
  table.seed = kSeed;
  addSeeded(table, WeightFormat::Int4G64, {3000, 6000}); // several pieces
  addSeeded(table, WeightFormat::F32, {77});
  addSeeded(table, WeightFormat::Q6_K, {33, 256});
  addSeeded(table, WeightFormat::BF16, {65, 31});
}

TEST(DummyWeights, AreTheSameOnAnyNumberOfThreads) {
  FakeFile fake(addMany);
  const fb::Program &table = *fake.file->table().programs()->Get(0);
  EXPECT_GT(table.seed_bytes(), uint64_t(9) << 20);
  EXPECT_LT(fake.file->fileBytes(), uint64_t(1) << 16);

  std::vector<std::byte> expected(table.seed_bytes(), std::byte{0});
  for (const fb::Weight *weight : *table.weights()) {
    if (weight->source() != fb::WeightSource::Seed)
      continue;
    auto bytes = std::span(expected).subspan(weight->offset(), weight->size());
    auto n = int64_t(weight->shape()->Get(0));
    if (weight->layout() == fb::WeightLayout::VectorF32)
      fillSeedVector(n, bytes);
    else
      fillSeedPanels(kSeed, weight->tensor(),
                     panelLayout(*weightFormatNamed(weight->format()->string_view()), n,
                                 int64_t(weight->shape()->Get(1))),
                     0, bytes);
  }
  for (int threads : {1, 2, 5, 64}) {
    auto memory = HostMemory::allocate(table.seed_bytes(), "a test", true);
    ASSERT_TRUE(memory);
    std::span<std::byte> bytes(memory->data(), memory->size());
    ASSERT_TRUE(fillDummyWeights(table, kSeed, bytes, threads));
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin())) << threads;
  }
}

TEST(DummyWeights, AreInTheMemoryPlan) {
  FakeFile plain([](fb::EngineT &) {}), seeded(addMany);
  auto without = runtime::memoryPlan(*plain.file, {}), with = runtime::memoryPlan(*seeded.file, {});
  ASSERT_TRUE(without && with);
  EXPECT_EQ(without->seeded, 0u);
  EXPECT_EQ(with->seeded, seeded.file->table().programs()->Get(0)->seed_bytes());
  EXPECT_EQ(with->allocated(), without->allocated() + with->seeded);
  EXPECT_EQ(with->weights, without->weights);
  EXPECT_NE(with->text().find("generated from the seed at load"), std::string::npos)
      << with->text();
  EXPECT_EQ(without->text().find("seed"), std::string::npos);
  EXPECT_NE(with->json().find("\"seeded\":" + std::to_string(with->seeded)), std::string::npos);
}

/// The fake kernels read the engine's own three weights. The generated ones only have to exist.
TEST(DummyWeights, AnEngineWithThemRuns) {
  FakeFile fake(addMany);
  auto executor = CpuExecutor::create(fake.file, {.maxBatchTokens = 8, .threads = 2});
  ASSERT_TRUE(executor) << executor.error().format();
  EXPECT_EQ((*executor)->memory().seeded, fake.file->table().programs()->Get(0)->seed_bytes());
}

TEST(DummyWeights, BeyondTheMemoryAreRefusedBeforeAnyIsTaken) {
  FakeFile fake(addMany);
  auto little = CpuExecutor::create(fake.file, {.maxBatchTokens = 8}, std::nullopt, 5 << 20);
  ASSERT_FALSE(little);
  EXPECT_EQ(little.error().code, "E0502");
  EXPECT_EQ(little.error().exit, ExitCode::File);
  EXPECT_NE(little.error().why.find("generated from the seed"), std::string::npos);

  // The file has a few kilobytes and is otherwise valid, but it names 2^40 f32 values, which need 4 TiB.
  FakeFile huge([](fb::EngineT &table) {
    addSeeded(table, WeightFormat::F32, {uint64_t(1) << 20, uint64_t(1) << 20});
  });
  auto refused = CpuExecutor::create(huge.file, {.maxBatchTokens = 8});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0502");

  // 31 weights of 2^58 bytes fit in 63 bits, but the total with everything else does not.
  FakeFile absurd([](fb::EngineT &table) {
    for (int i = 0; i < 31; ++i)
      addSeeded(table, WeightFormat::F32, {uint64_t(1) << 28, uint64_t(1) << 28});
  });
  auto memoryPlan = runtime::memoryPlan(*absurd.file, {.maxSeqs = uint64_t(1) << 40, .threads = 1});
  ASSERT_FALSE(memoryPlan);
  EXPECT_EQ(memoryPlan.error().code, "E0386");
  auto unable = CpuExecutor::create(absurd.file, {.maxBatchTokens = 8});
  ASSERT_FALSE(unable);
  EXPECT_EQ(unable.error().code, "E0502");
}

} // namespace
