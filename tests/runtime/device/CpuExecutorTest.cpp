//===- CpuExecutorTest.cpp - Resolves and runs an engine's programs -------===//
#include "runtime/device/cpu/CpuExecutor.h"
#include "tests/runtime/device/FakeEngine.h"

#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cpu;
using runtime::EngineFile;
using runtime::MemoryLimits;

namespace {

/// A batch of one sequence in the given pages.
struct OneSequence {
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens, blockTable;
  std::vector<AttentionTile> tiles;

  OneSequence(std::vector<int32_t> prompt, int64_t first, int64_t count, std::vector<int32_t> pages)
      : blockTable(std::move(pages)) {
    for (int64_t i = first; i < first + count; ++i) {
      ids.push_back(prompt[size_t(i)]);
      positions.push_back(int32_t(i));
      sequenceOf.push_back(0);
    }
    for (int64_t i = 0; i < count; i += kAttentionTile)
      tiles.push_back(
          {int32_t(i), int32_t(std::min(kAttentionTile, count - i)), 0, int32_t(first + i)});
    rowTokens = {int32_t(count - 1)};
  }

  BatchView view() const {
    return {int64_t(ids.size()),
            1,
            int64_t(rowTokens.size()),
            int64_t(tiles.size()),
            ids.data(),
            positions.data(),
            sequenceOf.data(),
            rowTokens.data(),
            tiles.data(),
            blockTable.data(),
            int64_t(blockTable.size()),
            nullptr,
            nullptr,
            0};
  }
};

std::shared_ptr<EngineFile> openEngine(const std::string &path) {
  auto file = EngineFile::open(path);
  EXPECT_TRUE(file) << file.error().format();
  return *file;
}

class ExecutorTest : public testing::Test {
protected:
  void SetUp() override { path = test::writeFakeEngine("executor.ingot"); }
  void TearDown() override { std::remove(path.c_str()); }

  std::unique_ptr<CpuExecutor> create(uint64_t threads, uint64_t kvPages = 0) {
    MemoryLimits limits;
    limits.context = 256;
    if (kvPages)
      limits.kvBytes = kvPages * 2 * 4096;
    limits.maxBatchTokens = 128;
    limits.logitsRows = 4;
    limits.threads = threads;
    auto executor = CpuExecutor::create(openEngine(path), limits);
    EXPECT_TRUE(executor) << executor.error().format();
    return std::move(*executor);
  }

  std::string path;
};

} // namespace

TEST_F(ExecutorTest, computesTheKnownLogitsOnAnyThreadsAndPages) {
  std::vector<int32_t> prompt = test::fakePrompt(100, 1);
  std::vector<float> expected = test::fakeLogits(prompt);
  for (uint64_t threads : {1, 2, 3, 5})
    for (std::vector<int32_t> pages : {std::vector<int32_t>{0, 1, 2, 3}, {7, 2, 5, 0}}) {
      auto executor = create(threads);
      OneSequence batch(prompt, 0, 100, pages);
      ASSERT_TRUE(executor->step(batch.view()));
      for (int32_t id = 0; id < test::kFakeVocab; ++id)
        ASSERT_EQ(executor->logits()[id], expected[size_t(id)]) << threads << " threads, id " << id;
    }
}

TEST_F(ExecutorTest, chunksContinueInTheKvPages) {
  std::vector<int32_t> prompt = test::fakePrompt(100, 2);
  std::vector<float> expected = test::fakeLogits(prompt);
  auto executor = create(2);
  for (int64_t first = 0; first < 100; first += 37) {
    OneSequence batch(prompt, first, std::min<int64_t>(37, 100 - first), {4, 1, 6, 2});
    ASSERT_TRUE(executor->step(batch.view()));
  }
  EXPECT_EQ(std::vector<float>(executor->logits(), executor->logits() + test::kFakeVocab),
            expected);
}

/// Pages that are copied, or saved and loaded into other pages, give the same results as the originals.
TEST_F(ExecutorTest, movesPages) {
  std::vector<int32_t> prompt = test::fakePrompt(100, 2);
  std::vector<float> expected = test::fakeLogits(prompt);
  auto executor = create(2);
  runtime::PageMover *mover = executor->pageMover();
  ASSERT_TRUE(mover);
  EXPECT_EQ(mover->pageBytes(0), executor->memory().kv / executor->memory().pages);
  ASSERT_TRUE(executor->step(OneSequence(prompt, 0, 90, {0, 1, 2}).view()));
  mover->copy(0, 0, 5);
  std::vector<std::byte> host(2 * mover->pageBytes(0));
  mover->save(0, 1, host.data());
  mover->save(0, 2, host.data() + mover->pageBytes(0));
  // Another sequence overwrites the pages before they are loaded.
  ASSERT_TRUE(executor->step(OneSequence(test::fakePrompt(96, 5), 0, 96, {0, 1, 2}).view()));
  mover->load(0, host.data(), 7);
  mover->load(0, host.data() + mover->pageBytes(0), 1);
  ASSERT_TRUE(executor->step(OneSequence(prompt, 90, 10, {5, 7, 1, 3}).view()));
  EXPECT_EQ(std::vector<float>(executor->logits(), executor->logits() + test::kFakeVocab),
            expected);
}

/// Memory of KV pages is populated ahead of use. All of it arrives, and page contents are kept.
TEST_F(ExecutorTest, takesMemoryOfPagesAhead) {
  std::vector<int32_t> prompt = test::fakePrompt(100, 2);
  std::vector<float> expected = test::fakeLogits(prompt);
  auto executor = create(2, 4096); // 32 MiB of KV
  ASSERT_TRUE(executor->step(OneSequence(prompt, 0, 90, {0, 1, 2}).view()));
  auto resident = [] {
    int64_t pages = 0, ofThem = 0;
    std::ifstream("/proc/self/statm") >> pages >> ofThem;
    return ofThem * 4096;
  };
  const auto pages = int64_t(executor->memory().pages);
  const int64_t before = resident();
  auto takeAll = [&](int64_t wanted) {
    int64_t pieces = 0;
    while (executor->takeKvMemory(std::vector<int64_t>{wanted}))
      ++pieces;
    return pieces;
  };
  EXPECT_GT(takeAll(pages / 4), 0);
  const int64_t quarter = resident() - before;
  if (quarter == 0)
    GTEST_SKIP() << "this system has no MADV_POPULATE_WRITE";
  EXPECT_EQ(takeAll(pages / 4), 0) << "all is there";
  EXPECT_GT(takeAll(pages), 0);
  EXPECT_LT(quarter, int64_t(executor->memory().kv) / 2);
  EXPECT_GT(resident() - before, int64_t(executor->memory().kv) * 3 / 4);
  ASSERT_TRUE(executor->step(OneSequence(prompt, 90, 10, {0, 1, 2, 3}).view()));
  EXPECT_EQ(std::vector<float>(executor->logits(), executor->logits() + test::kFakeVocab),
            expected);
}

MemoryLimits locked() {
  MemoryLimits limits;
  limits.context = 256;
  limits.maxBatchTokens = 128;
  limits.logitsRows = 4;
  limits.lock = true;
  return limits;
}

/// Memory stays locked until the executor is destroyed. The answers do not change.
TEST_F(ExecutorTest, locksWeightsAndMemory) {
  const uint64_t before = lockedMemory();
  auto executor = CpuExecutor::create(openEngine(path), locked());
  if (!executor)
    GTEST_SKIP() << executor.error().format();
  const runtime::MemoryPlan &memory = (*executor)->memory();
  EXPECT_GT(memory.read, 0u);
  EXPECT_EQ(memory.lockable(), memory.read + memory.arena + memory.kv + memory.scratch);
  EXPECT_GE(lockedMemory() - before, memory.lockable());
  std::vector<int32_t> prompt = test::fakePrompt(100, 2);
  ASSERT_TRUE((*executor)->step(OneSequence(prompt, 0, 100, {0, 1, 2, 3}).view()));
  EXPECT_EQ(std::vector<float>((*executor)->logits(), (*executor)->logits() + test::kFakeVocab),
            test::fakeLogits(prompt));
  *executor = nullptr;
  EXPECT_EQ(lockedMemory(), before);
}

/// Locked weights cannot be reclaimed, so they count as memory.
TEST_F(ExecutorTest, lockedWeightsCountAsMemory) {
  auto engine = openEngine(path);
  auto memoryPlan = runtime::memoryPlan(*engine, locked());
  ASSERT_TRUE(memoryPlan);
  EXPECT_EQ(memoryPlan->kept(), memoryPlan->allocated() + memoryPlan->read);
  const uint64_t allowed = memoryPlan->kept() - 1;
  auto executor = CpuExecutor::create(engine, locked(), std::nullopt, allowed);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0502");
  EXPECT_NE(executor.error().fix.find("omit --lock"), std::string::npos);
  MemoryLimits free = locked();
  free.lock = false;
  EXPECT_TRUE(CpuExecutor::create(engine, free, std::nullopt, allowed));
}

TEST_F(ExecutorTest, launchesWithoutItemsAreSkipped) {
  auto executor = create(2);
  executor->startTrace(/*keepEvents=*/false);
  OneSequence batch(test::fakePrompt(20, 3), 0, 20, {0, 1, 2, 3});
  batch.rowTokens.clear(); // nothing to sample yet
  ASSERT_TRUE(executor->step(batch.view()));
  const auto &names = executor->trace()->kernelNames();
  const auto &times = executor->trace()->kernelTimes();
  for (size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(times[i].launches, names[i] == "head"                               ? 0u
                                 : names[i] == "embed" || names[i] == "constants" ? 1u
                                                                                  : 2u)
        << names[i];
  BatchView nothing{};
  EXPECT_TRUE(executor->step(nothing));
}

TEST_F(ExecutorTest, batchesBeyondTheLimitsAreRefused) {
  auto executor = create(1);
  OneSequence batch(test::fakePrompt(129, 4), 0, 129, {0, 1, 2, 3, 4});
  auto ran = executor->step(batch.view());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, "E0901");
  EXPECT_NE(ran.error().why.find("129 tokens of 128"), std::string::npos);
}

TEST_F(ExecutorTest, memoryIsRefusedWithTheSum) {
  MemoryLimits limits;
  limits.context = 2048;
  limits.maxSeqs = 16;
  limits.maxBatchTokens = 512;
  limits.logitsRows = 16;
  auto executor = CpuExecutor::create(openEngine(path), limits, std::nullopt, 1 << 20);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0502");
  EXPECT_EQ(executor.error().exit, ExitCode::File);
  // 16 * 64 pages of 2 * 4096 bytes.
  EXPECT_NE(executor.error().why.find("KV 8.0 MiB (1024 pages)"), std::string::npos)
      << executor.error().why;
  EXPECT_NE(executor.error().why.find("available 1.0 MiB"), std::string::npos)
      << executor.error().why;
}

TEST_F(ExecutorTest, memoryIsAsPlanned) {
  auto executor = create(2);
  const runtime::MemoryPlan &memory = executor->memory();
  EXPECT_EQ(memory.pages, 8u);
  EXPECT_EQ(memory.kv, 8u * 2 * 4096);
  EXPECT_EQ(memory.arena, 128u * 128 + 4 * 512 + 64);
  EXPECT_EQ(memory.scratch, 2u * 128);
}

TEST_F(ExecutorTest, tracesEveryLaunch) {
  auto executor = create(2);
  executor->startTrace(/*keepEvents=*/true);
  std::vector<int32_t> prompt = test::fakePrompt(64, 5);
  for (int64_t first : {0, 32}) {
    OneSequence batch(prompt, first, 32, {0, 1, 2, 3});
    ASSERT_TRUE(executor->step(batch.view()));
  }
  std::string trace = path + ".trace";
  ASSERT_TRUE(executor->trace()->writeChromeTrace(trace));
  std::ifstream file(trace);
  std::stringstream text;
  text << file.rdbuf();
  size_t events = 0;
  for (size_t at = 0; (at = text.str().find("\"ph\":\"X\"", at)) != std::string::npos; ++at)
    ++events;
  // A step has 9 launches, each on one thread (if the other was late) or on two.
  EXPECT_GE(events, 2u * 9);
  EXPECT_LE(events, 2u * 9 * 2);
  EXPECT_NE(text.str().find("\"name\":\"attend\""), std::string::npos);
  EXPECT_NE(text.str().find("\"layer\":1,\"step\":1,\"tokens\":32"), std::string::npos);
  std::remove(trace.c_str());
  auto refused = executor->trace()->writeChromeTrace("/nonexistent/folder/trace");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0703");
}
