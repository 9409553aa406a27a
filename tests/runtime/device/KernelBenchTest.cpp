//===- KernelBenchTest.cpp - Single launches of a step, on the CPU ------------===//
#include "runtime/device/KernelBench.h"
#include "runtime/device/cpu/CpuExecutor.h"
#include "tests/runtime/device/FakeEngine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cpu;

namespace {

class CpuKernelBench : public testing::Test {
protected:
  void SetUp() override {
    auto file = runtime::EngineFile::open(test::writeFakeEngine("bench.ingot"));
    ASSERT_TRUE(file) << file.error().format();
    runtime::MemoryLimits limits;
    limits.context = 256;
    limits.maxBatchTokens = 64;
    limits.threads = 2;
    auto made = CpuExecutor::create(*file, limits);
    ASSERT_TRUE(made) << made.error().format();
    executor = std::move(*made);
    bench = executor->kernelBench();
    ids = test::fakePrompt(32, 1);
    positions.resize(ids.size());
    std::iota(positions.begin(), positions.end(), 0);
    batch = {32,
             1,
             1,
             2,
             ids.data(),
             positions.data(),
             sequenceOf.data(),
             rowTokens.data(),
             tiles.data(),
             blockTable.data(),
             1,
             nullptr,
             nullptr,
             0};
  }
  uint32_t kernel(std::string_view name) const {
    const auto &all = *executor->program().kernels();
    for (uint32_t k = 0; k < all.size(); ++k)
      if (all[k]->name()->string_view() == name)
        return k;
    ADD_FAILURE() << "no kernel " << name;
    return 0;
  }
  float *logits() { return const_cast<float *>(executor->logits()); }
  void forgetLogits() {
    std::fill_n(logits(), test::kFakeVocab, std::numeric_limits<float>::quiet_NaN());
  }

  std::unique_ptr<CpuExecutor> executor;
  std::unique_ptr<runtime::KernelBench> bench;
  std::vector<int32_t> ids, positions, sequenceOf = std::vector<int32_t>(32), rowTokens = {31},
                                       blockTable = {0};
  std::vector<AttentionTile> tiles = {{0, 16, 0, 0}, {16, 16, 0, 16}};
  BatchView batch{};
};

TEST_F(CpuKernelBench, TheWholeStepIsTheExecutorsOwn) {
  ASSERT_TRUE(bench->prepare(batch));
  const std::vector<float> expected = test::fakeLogits(ids);
  EXPECT_EQ(bench->launches({}).count, executor->launches());
  forgetLogits();
  auto seconds = bench->time({}, 3, 2);
  ASSERT_TRUE(seconds) << seconds.error().format();
  EXPECT_EQ(seconds->size(), 3u);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), logits()));
}

TEST_F(CpuKernelBench, OthersAreLeftOut) {
  ASSERT_TRUE(bench->prepare(batch));
  const uint32_t head = kernel("head");
  EXPECT_EQ(bench->launches({.only = head}).count, 1u);
  EXPECT_EQ(bench->launches({.without = head}).count, executor->launches() - 1);
  forgetLogits();
  ASSERT_TRUE(bench->time({.without = head}, 1, 1));
  EXPECT_TRUE(std::isnan(logits()[0]));
  ASSERT_TRUE(bench->time({.only = head}, 1, 1));
  EXPECT_FALSE(std::isnan(logits()[0]));
  auto host = bench->hostSeconds();
  ASSERT_TRUE(host);
  EXPECT_FALSE(host->has_value()) << "there is no queue";
}

/// In a step without rows of logits, the head has nothing to do.
TEST_F(CpuKernelBench, LaunchesWithoutWorkAreNone) {
  batch.rows = 0;
  ASSERT_TRUE(bench->prepare(batch));
  EXPECT_EQ(bench->launches({.only = kernel("head")}).count, 0u);
}

} // namespace
