//===- KernelBenchTest.cpp - Single launches of a step, on the fake GPU --------===//
#include "runtime/device/KernelBench.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/kv/SequenceMemory.h"
#include "runtime/schedule/Scheduler.h"
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::test;

namespace {

using runtime::KernelBench;

/// embed, constants | append | attend | residual | append | attend | residual | head, followed by
/// argmax | argmax_finish.
enum Kernel : uint32_t { Embed, Constants, Append, Attend, Residual, Head, Argmax, ArgmaxFinish };

class CudaKernelBench : public testing::Test {
protected:
  void SetUp() override {
    auto file = runtime::EngineFile::open(
        writeFakeEngine("bench.ingot", withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true)));
    ASSERT_TRUE(file);
    auto driver = openLibcuda({fakeLibcuda(), 0});
    ASSERT_TRUE(driver);
    auto made = CudaExecutor::create(std::move(*driver), *file,
                                     {.context = 256, .maxSeqs = 5, .maxBatchTokens = 40});
    ASSERT_TRUE(made) << made.error().format();
    executor = std::move(*made);
    bench = executor->kernelBench();
    memory.emplace(executor->pages(), 5, 256, kPageTokens);
    scheduler.emplace(*memory, runtime::ScheduleLimits{40, 5, 40});
  }
  /// Plans a decode step of `count` sequences, or a prefill of their prompts.
  const BatchView &batch(int count, int promptTokens = 1) {
    for (int i = 0; i < count; ++i)
      scheduler->add(fakePrompt(promptTokens, i), 2);
    return *scheduler->plan();
  }
  std::vector<std::string> ran() { return {fake.names, fake.names + fake.ran}; }

  FakeCuda &fake = freshFakeCuda();
  std::unique_ptr<CudaExecutor> executor;
  std::unique_ptr<KernelBench> bench;
  std::optional<runtime::SequenceMemory> memory;
  std::optional<runtime::Scheduler> scheduler;
};

TEST_F(CudaKernelBench, LaunchesOfOneKernelInAllLayers) {
  ASSERT_TRUE(bench->prepare(batch(3)));
  auto launches = bench->launches({.only = Attend});
  EXPECT_EQ(launches.count, 2u);
  EXPECT_EQ(launches.variant, "attend_shares");
  EXPECT_TRUE(launches.overlap);
  EXPECT_FALSE(bench->launches({.only = Attend, .overlap = false}).overlap);
  fake.ran = 0;
  auto seconds = bench->time({.only = Attend}, 3, 2);
  ASSERT_TRUE(seconds) << seconds.error().format();
  EXPECT_EQ(seconds->size(), 3u);
  // Two launches with four copies each: one warm-up run, then three times two.
  EXPECT_EQ(ran(), std::vector<std::string>(size_t(2 * 4 * (1 + 3 * 2)), "attend_shares"));
}

/// Each launch depends on the previous one, and each copy on the previous copy.
TEST_F(CudaKernelBench, EdgesAreThoseThatAreAskedFor) {
  ASSERT_TRUE(bench->prepare(batch(1)));
  for (bool overlap : {true, false}) {
    const int nodes = fake.graphNodes, full = fake.fullEdges, programmatic = fake.programmaticEdges;
    ASSERT_TRUE(bench->time({.only = Residual, .overlap = overlap}, 1, 1));
    EXPECT_EQ(fake.graphNodes - nodes, 8);
    EXPECT_EQ(fake.fullEdges - full, overlap ? 0 : 7);
    EXPECT_EQ(fake.programmaticEdges - programmatic, overlap ? 7 : 0);
  }
}

TEST_F(CudaKernelBench, TheStepWithoutOneKernel) {
  ASSERT_TRUE(bench->prepare(batch(1)));
  EXPECT_EQ(bench->launches({}).count, 11u);
  fake.ran = 0;
  ASSERT_TRUE(bench->time({.without = Attend}, 1, 1));
  auto names = ran();
  EXPECT_EQ(names.size(), 2u * 9);
  EXPECT_EQ(std::ranges::count(names, "attend_shares"), 0);
  EXPECT_EQ(std::ranges::count(names, "residual"), 2 * 2);
  EXPECT_EQ(std::ranges::count(names, "argmax_finish"), 2);
}

TEST_F(CudaKernelBench, PromptsHaveTheirVariants) {
  ASSERT_TRUE(bench->prepare(batch(1, 20)));
  EXPECT_EQ(bench->launches({.only = Attend}).variant, "attend_prompts");
  EXPECT_EQ(bench->launches({.only = Embed}).variant, "embed_any");
  EXPECT_TRUE(bench->time({.only = Attend}, 2, 1));
}

/// Graphs are destroyed one by one, since a run makes hundreds of them.
TEST_F(CudaKernelBench, GraphsDoNotPileUp) {
  const BatchView &view = batch(2);
  ASSERT_TRUE(bench->prepare(view));
  const int before = fake.graphs; // the step's own
  for (uint32_t kernel : {Append, Attend, Residual, Append})
    ASSERT_TRUE(bench->time({.only = kernel}, 1, 1));
  EXPECT_EQ(fake.graphs, before + 1);
  bench.reset();
  EXPECT_EQ(fake.graphs, before);
}

TEST_F(CudaKernelBench, HostTimeAndLimitsAreThere) {
  ASSERT_TRUE(bench->prepare(batch(2)));
  auto host = bench->hostSeconds();
  ASSERT_TRUE(host);
  ASSERT_TRUE(*host);
  EXPECT_GT(**host, 0);
  auto limits = bench->limits(); // of an H200: copies do not fit in 1 GiB
  ASSERT_TRUE(limits) << limits.error().format();
  EXPECT_GT(limits->readGbPerS, 1);
  EXPECT_GT(limits->bf16Gflops, 100);
  EXPECT_GT(limits->fp8Gflops, limits->bf16Gflops);
}

TEST_F(CudaKernelBench, ADeadDeviceSaysSo) {
  ASSERT_TRUE(bench->prepare(batch(1)));
  EXPECT_TRUE(bench->alive());
  fake.failCall = "cuStreamSynchronize";
  fake.failCode = 700;
  auto seconds = bench->time({.only = Attend}, 1, 1);
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().code, "E0718");
  EXPECT_FALSE(bench->alive());
  fake.failCall = nullptr;
}

} // namespace
