//===- CudaExecutorTest.cpp - Steps on the fake GPU -----------------------===//
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/kv/SequenceMemory.h"
#include "runtime/schedule/Scheduler.h"
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::test;

namespace {

/// Sampling at temperature 1, without filters.
constexpr RowSampling kDrawn = {
    .seed = 0, .scale = 1, .least = 0, .choice = 0, .topK = 0, .topP = 0, .zero = 0};

const runtime::MemoryLimits kLimits = {.context = 256, .maxSeqs = 5, .maxBatchTokens = 40};

Result<std::unique_ptr<CudaExecutor>> tryOpen(const std::string &path,
                                              const runtime::MemoryLimits &limits = kLimits,
                                              const ExecutorOptions &options = {}) {
  auto file = runtime::EngineFile::open(path);
  EXPECT_TRUE(file) << file.error().format();
  auto driver = openLibcuda({fakeLibcuda(), 0});
  if (!driver)
    return driver.error();
  return CudaExecutor::create(std::move(*driver), *file, limits, options);
}

std::unique_ptr<CudaExecutor> open(const std::string &path,
                                   const runtime::MemoryLimits &limits = kLimits) {
  auto executor = tryOpen(path, limits);
  EXPECT_TRUE(executor) << executor.error().format();
  return executor ? std::move(*executor) : nullptr;
}

/// Generates greedy answers to several prompts at once and checks every row of logits.
struct Answers {
  explicit Answers(CudaExecutor &executor)
      : executor(executor), memory(executor.pages(), int64_t(kLimits.maxSeqs), 256, kPageTokens),
        scheduler(memory, {int64_t(kLimits.maxBatchTokens), int64_t(kLimits.maxSeqs), 40}) {}

  void add(std::vector<int32_t> prompt, int64_t count) {
    ids[scheduler.add(prompt, count)] = {prompt, count};
  }

  /// Runs one step. Returns false when nothing is left.
  bool step() {
    const BatchView *batch = scheduler.plan();
    if (!batch)
      return false;
    auto ran = executor.step(*batch);
    EXPECT_TRUE(ran) << ran.error().format();
    scheduler.complete();
    const float *row = executor.logits();
    for (auto owner : scheduler.rows()) {
      auto &[tokens, left] = ids[owner.sequence];
      std::vector<float> expected = fakeLogits(tokens);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), row))
          << "sequence " << owner.sequence;
      int32_t id = int32_t(std::max_element(row, row + kFakeVocab) - row);
      tokens.push_back(id);
      if (--left)
        scheduler.append(owner.sequence, id);
      else
        scheduler.finish(owner.sequence);
      row += executor.logitsStride();
    }
    return true;
  }

  CudaExecutor &executor;
  runtime::SequenceMemory memory;
  runtime::Scheduler scheduler;
  std::map<int64_t, std::pair<std::vector<int32_t>, int64_t>> ids;
};

class CudaExecutorTest : public testing::Test {
protected:
  static const std::string &path() {
    static const std::string written =
        writeFakeEngine("gpu.ingot", withGpuProgram({"cuda:sm_90a", "cuda:compute_80"}));
    return written;
  }
  std::vector<std::string> ran() { return {fake.names, fake.names + fake.ran}; }
  FakeCuda &fake = freshFakeCuda();
};

TEST_F(CudaExecutorTest, AnswersAsTheModelDoes) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  EXPECT_EQ(executor->target(), "cuda:sm_90a");
  EXPECT_EQ(executor->device(), "Fake GPU");
  EXPECT_EQ(executor->remark(), "");
  Answers run(*executor);
  for (int i = 0; i < 7; ++i) // more than fit at once, so prefill chunks mix with decoding rows
    run.add(fakePrompt(3 + 23 * i, i), 4 + i);
  while (run.step())
    ;
  EXPECT_GT(fake.launches, 0);
  EXPECT_GT(fake.graphLaunches, 0);
}

TEST_F(CudaExecutorTest, DecodeStepsAreGraphsOfTheirBucket) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  Answers run(*executor);
  for (int i = 0; i < 3; ++i)
    run.add(fakePrompt(5, i), 6);
  run.step(); // the prompts
  EXPECT_EQ(fake.graphLaunches, 0);
  EXPECT_EQ(executor->graphs(), 0u);
  int launches = fake.launches;
  while (run.step())
    ;
  EXPECT_EQ(fake.graphLaunches, 5);
  EXPECT_EQ(executor->graphs(), 1u) << "three sequences: the bucket of four";
  EXPECT_EQ(fake.launches, launches);
  // embed, constants | append | attend | residual | append | attend | residual | head
  EXPECT_EQ(fake.graphNodes, 9);
  EXPECT_EQ(fake.fullEdges, 2) << "the first append waits for two kernels";
  EXPECT_EQ(fake.programmaticEdges, 6);
}

/// Runs a prompt and the decode steps that follow it.
void answer(CudaExecutor &executor) {
  Answers run(executor);
  run.add(fakePrompt(6, 1), 3);
  while (run.step())
    ;
}

TEST_F(CudaExecutorTest, FullEdgesLeaveOutAllOverlap) {
  auto executor = tryOpen(path(), kLimits, {.gpu = {.edges = GpuEdges::Full}});
  ASSERT_TRUE(executor);
  answer(**executor);
  EXPECT_GT(fake.launches, 0);
  EXPECT_GT(fake.graphLaunches, 0);
  EXPECT_EQ(fake.overlapped, 0);
  EXPECT_EQ(fake.programmaticEdges, 0);
  EXPECT_EQ(fake.fullEdges, 8);
}

TEST_F(CudaExecutorTest, StepsWithoutGraphs) {
  auto executor = tryOpen(path(), kLimits, {.gpu = {.graphs = false}});
  ASSERT_TRUE(executor);
  answer(**executor);
  EXPECT_EQ(fake.graphs, 0);
  EXPECT_EQ(fake.launches, 3 * 9);
  EXPECT_EQ(fake.overlapped, 3 * 8);
}

TEST_F(CudaExecutorTest, OneCarveoutForAllKernels) {
  for (int carveout : {100, 37, kDriversCarveout}) {
    fake.ran = 0;
    auto executor = carveout == 100 ? tryOpen(path())
                                    : tryOpen(path(), kLimits, {.gpu = {.carveout = carveout}});
    ASSERT_TRUE(executor);
    answer(**executor);
    for (int i = 0; i < fake.ran; ++i)
      EXPECT_EQ(fake.carveouts[i], carveout) << fake.names[i];
  }
}

TEST_F(CudaExecutorTest, StepsChooseTheirVariants) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  Answers run(*executor);
  run.add(fakePrompt(6, 1), 2);
  run.step();
  const std::vector<std::string> prompt = {"embed_any",      "constants", "append",
                                           "attend_prompts", "residual",  "append",
                                           "attend_prompts", "residual",  "head"};
  EXPECT_EQ(ran(), prompt);
  EXPECT_EQ(fake.overlapped, fake.launches - 1) << "the first kernel is behind a copy";
  fake.ran = 0;
  run.step();
  auto decode = ran();
  EXPECT_EQ(std::count(decode.begin(), decode.end(), "embed_4"), 1);
  EXPECT_EQ(std::count(decode.begin(), decode.end(), "attend_shares"), 2);
  EXPECT_EQ(std::count(decode.begin(), decode.end(), "attend_prompts"), 0);
}

/// Sequences decode in the same step as a prefill chunk. Each kind of tile has its own launch, with
/// blocks only for its own tiles; the prompt's launch comes first. A graph has no launch for prompts.
TEST_F(CudaExecutorTest, MixedStepsLaunchBothKindsOfAttention) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  Answers run(*executor);
  run.add(fakePrompt(5, 1), 8);
  run.add(fakePrompt(6, 2), 8);
  run.step();
  run.add(fakePrompt(12, 3), 2);
  fake.ran = 0;
  run.step();
  const std::vector<std::string> both = {"attend_prompts", "attend_shares"};
  std::vector<std::string> attention;
  for (int i = 0; i < fake.ran; ++i)
    if (std::string(fake.names[i]).starts_with("attend")) {
      attention.push_back(fake.names[i]);
      EXPECT_EQ(fake.grids[i], attention.back() == both[0] ? 1u : 2u + kFakeShares);
    }
  EXPECT_EQ(attention, (std::vector<std::string>{both[0], both[1], both[0], both[1]}));
  while (run.step())
    ;
  EXPECT_GT(fake.graphLaunches, 0);
}

/// For a prefill chunk without rows of logits, the head has no blocks.
TEST_F(CudaExecutorTest, LaunchesWithoutBlocksAreLeftOut) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  Answers run(*executor);
  run.add(fakePrompt(60, 1), 1);
  run.step();
  auto first = ran();
  EXPECT_EQ(std::count(first.begin(), first.end(), "head"), 0);
  EXPECT_EQ(fake.copiesToHost, 0);
  while (run.step())
    ;
  EXPECT_EQ(fake.copiesToHost, 1);
}

TEST_F(CudaExecutorTest, OneCopyToTheDeviceAStep) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  Answers run(*executor);
  run.add(fakePrompt(6, 1), 3);
  int before = fake.copiesToDevice;
  size_t bytes = fake.bytesToDevice;
  int steps = 0;
  while (run.step())
    ++steps;
  EXPECT_EQ(fake.copiesToDevice - before, steps);
  EXPECT_LT(fake.bytesToDevice - bytes, size_t(steps) * 2048);
}

/// Greedy and other steps alternate. Each kind has its own graph, and the greedy launches follow the head.
TEST_F(CudaExecutorTest, GreedyStepsHaveTheirOwnGraphs) {
  auto executor = open(writeFakeEngine("greedy-steps.ingot",
                                       withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true)));
  ASSERT_TRUE(executor);
  EXPECT_TRUE(executor->draws({}));
  EXPECT_FALSE(executor->draws(kDrawn)) << "an engine older than draws";
  EXPECT_FALSE(open(path())->draws({}));
  runtime::SequenceMemory memory(executor->pages(), 5, 256, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 5, 40});
  std::vector<int32_t> tokens = fakePrompt(5, 1);
  auto id = scheduler.add(tokens, 9);
  for (int step = 0; step < 8; ++step) {
    fake.ran = 0;
    int32_t next = -1;
    std::vector<float> expected = fakeLogits(tokens);
    if (step % 2 == 0) {
      ASSERT_TRUE(executor->beginSampled(*scheduler.plan()));
      auto ids = executor->endSampled();
      ASSERT_TRUE(ids) << ids.error().format();
      ASSERT_EQ(ids->size(), 1u);
      next = ids->front();
    } else {
      ASSERT_TRUE(executor->step(*scheduler.plan()));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), executor->logits()));
      next = int32_t(std::ranges::max_element(expected) - expected.begin());
    }
    EXPECT_EQ(next, std::ranges::max_element(expected) - expected.begin());
    EXPECT_EQ(ran().back(), step % 2 == 0 ? "argmax_finish" : "head");
    scheduler.complete();
    tokens.push_back(next);
    scheduler.append(id, next);
  }
  EXPECT_EQ(executor->graphs(), 2u);
}

/// Two steps are in flight. The second reads the ids of the first on the device.
TEST_F(CudaExecutorTest, RunsAheadOfIdsThatNobodyHasSeen) {
  auto executor =
      open(writeFakeEngine("ahead.ingot", withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true)));
  ASSERT_TRUE(executor);
  EXPECT_TRUE(executor->runsAhead());
  runtime::SequenceMemory memory(executor->pages(), 5, 256, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 5, 40});
  std::vector<std::vector<int32_t>> tokens;
  std::vector<runtime::SequenceId> sequences;
  for (int seed = 0; seed < 3; ++seed) {
    tokens.push_back(fakePrompt(4 + seed, seed));
    sequences.push_back(scheduler.add(tokens.back(), 20));
  }
  ASSERT_TRUE(executor->beginSampled(*scheduler.plan()));
  scheduler.complete();
  for (int step = 0; step < 12; ++step) {
    std::vector<runtime::SequenceId> owners;
    for (auto row : scheduler.rows())
      owners.push_back(row.sequence);
    for (size_t row = 0; row < owners.size(); ++row)
      scheduler.append(owners[row], ~int32_t(row));
    ASSERT_TRUE(executor->beginSampled(*scheduler.plan()));
    scheduler.complete();
    auto ids = executor->endSampled();
    ASSERT_TRUE(ids);
    ASSERT_EQ(ids->size(), 3u);
    for (size_t row = 0; row < owners.size(); ++row) {
      auto &mine = tokens[size_t(std::ranges::find(sequences, owners[row]) - sequences.begin())];
      std::vector<float> expected = fakeLogits(mine);
      EXPECT_EQ((*ids)[row], std::ranges::max_element(expected) - expected.begin()) << step;
      mine.push_back((*ids)[row]);
      scheduler.append(owners[row], (*ids)[row]);
    }
  }
  ASSERT_TRUE(executor->endSampled());
  EXPECT_EQ(fake.torn, 0);
}

/// Greedy steps, sampling steps and steps that return logits alternate. The argmax keys are reset for
/// each step, and one graph is captured for each of the three kinds.
TEST_F(CudaExecutorTest, StepsThatDrawHaveTheirOwnGraphs) {
  auto executor = open(writeFakeEngine(
      "draws.ingot", withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true, /*draws=*/true)));
  ASSERT_TRUE(executor);
  EXPECT_TRUE(executor->draws(kDrawn));
  runtime::SequenceMemory memory(executor->pages(), 5, 256, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 5, 40});
  std::vector<int32_t> tokens = fakePrompt(5, 1);
  auto id = scheduler.add(tokens, 12);
  for (int step = 0; step < 10; ++step) {
    fake.ran = 0;
    std::vector<float> expected = fakeLogits(tokens);
    auto next = int32_t(std::ranges::max_element(expected) - expected.begin());
    const RowSampling how{.seed = uint64_t(step),
                          .scale = 1.25,
                          .least = -3,
                          .choice = 2,
                          .topK = 5,
                          .topP = 0.5f,
                          .zero = 0};
    BatchView batch = *scheduler.plan();
    if (step % 3 == 2) {
      ASSERT_TRUE(executor->step(batch));
    } else {
      if (step % 3 == 1) {
        batch.sampling = &how;
        next = fakeDraw(next, how, int64_t(tokens.size()));
      }
      ASSERT_TRUE(executor->beginSampled(batch));
      auto ids = executor->endSampled();
      ASSERT_TRUE(ids) << ids.error().format();
      ASSERT_EQ(ids->size(), 1u);
      EXPECT_EQ(ids->front(), next) << step;
    }
    const char *last[] = {"argmax_finish", "draw_ids", "head"};
    EXPECT_EQ(ran().back(), last[step % 3]);
    scheduler.complete();
    tokens.push_back(next);
    scheduler.append(id, next);
  }
  EXPECT_EQ(executor->graphs(), 3u);
}

/// The graphs of all buckets are made while the executor is idle, smallest first. Steps then make none.
TEST_F(CudaExecutorTest, GraphsAreMadeAhead) {
  auto executor = open(writeFakeEngine(
      "prepared.ingot", withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true, /*draws=*/true)));
  ASSERT_TRUE(executor);
  EXPECT_TRUE(executor->prepareAhead());
  EXPECT_EQ(executor->graphs(), 1u) << "one at a time";
  EXPECT_EQ(fake.graphNodes, 11) << "greedy steps first";
  while (executor->prepareAhead())
    ;
  EXPECT_EQ(executor->graphs(), 3 * 4u) << "1, 2, 4 and 8, for five sequences";
  EXPECT_EQ(fake.graphUploads, 12);
  EXPECT_FALSE(executor->prepareAhead());
  Answers run(*executor);
  for (int i = 0; i < 5; ++i)
    run.add(fakePrompt(3, i), 2 + 2 * i);
  while (run.step())
    ;
  EXPECT_GT(fake.graphLaunches, 0);
  EXPECT_EQ(executor->graphs(), 12u);
  EXPECT_EQ(fake.graphs, 12);

  auto wide = open(path(), {.context = 32, .maxSeqs = 6000, .maxBatchTokens = 6000});
  ASSERT_TRUE(wide);
  while (wide->prepareAhead())
    ;
  EXPECT_EQ(wide->graphs(), 64u) << "no end of them";

  auto none = tryOpen(path(), kLimits, {.gpu = {.graphs = false}});
  ASSERT_TRUE(none);
  EXPECT_FALSE((*none)->prepareAhead());
  auto failing = open(path());
  fake.failCall = "cuGraphUpload";
  EXPECT_FALSE(failing->prepareAhead());
  fake.failCall = nullptr;
  EXPECT_FALSE(failing->prepareAhead());
}

/// Returns options for a fake engine whose GPU program `edit` changes.
FakeOptions editedProgram(std::function<void(fb::ProgramT &)> edit) {
  FakeOptions options = withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true);
  options.addCode = [add = options.addCode, edit](fb::EngineT &engine,
                                                  std::vector<compiler::SegmentSource> &sources) {
    add(engine, sources);
    edit(*engine.programs.back());
  };
  return options;
}

/// Projections update the argmax keys in every step. A greedy step starts with keys of 0, whatever
/// step precedes it.
TEST_F(CudaExecutorTest, KeysAreClearedForGreedySteps) {
  uint32_t keys = 0;
  auto executor =
      open(writeFakeEngine("keys.ingot", editedProgram([&](fb::ProgramT &program) {
                             keys = program.entries[0]->outputs.back()->buffer - 1;
                             addOutput(program, fb::OutputRole::Keys, fb::Encoding::Key, keys);
                           })));
  ASSERT_TRUE(executor);
  runtime::SequenceMemory memory(executor->pages(), 5, 256, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 5, 40});
  std::vector<int32_t> tokens = fakePrompt(5, 1);
  auto id = scheduler.add(tokens, 9);
  for (bool greedy : {false, true, true, false, true}) {
    std::vector<float> expected = fakeLogits(tokens);
    auto want = int32_t(std::ranges::max_element(expected) - expected.begin());
    if (greedy) {
      ASSERT_TRUE(executor->beginSampled(*scheduler.plan()));
      auto ids = executor->endSampled();
      ASSERT_TRUE(ids) << ids.error().format();
      EXPECT_EQ(ids->front(), want);
    } else {
      ASSERT_TRUE(executor->step(*scheduler.plan()));
      *reinterpret_cast<uint64_t *>(executor->buffer(keys)) = 77; // as the head does
    }
    scheduler.complete();
    tokens.push_back(want);
    scheduler.append(id, want);
  }
}

/// A specialisation for few tokens omits a launch: small steps skip it, and their graph has no node for it. A kernel
/// without variants is skipped in every step.
TEST_F(CudaExecutorTest, StepsRunTheCaseOfTheirCount) {
  auto executor =
      open(writeFakeEngine("cases.ingot", editedProgram([](fb::ProgramT &program) {
                             constexpr uint32_t residual = 4;
                             for (auto &section : program.sections) {
                               auto few = std::make_unique<fb::CaseT>(*section->cases[0]);
                               if (!std::erase_if(few->launches, [](const auto &launch) {
                                     return launch->kernel == residual;
                                   }))
                                 continue;
                               few->when.push_back(std::make_unique<fb::ConditionT>());
                               few->when[0]->quantity = fb::Quantity::Tokens;
                               few->when[0]->value = 2;
                               section->cases.insert(section->cases.begin(), std::move(few));
                             }
                             program.code[0]->variants[1]->variants.clear();
                           })));
  ASSERT_TRUE(executor);
  runtime::SequenceMemory memory(executor->pages(), 5, 256, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 5, 40});
  auto id = scheduler.add(fakePrompt(5, 1), 9);
  auto launched = [&](const char *name) {
    fake.ran = 0;
    EXPECT_TRUE(executor->step(*scheduler.plan()));
    scheduler.complete();
    scheduler.append(id, 1);
    auto names = ran();
    return std::count(names.begin(), names.end(), name);
  };
  EXPECT_EQ(launched("residual"), 2) << "five tokens, launch by launch";
  EXPECT_EQ(launched("residual"), 0) << "one token, in a graph";
  // embed | append | attend | append | attend | head
  EXPECT_EQ(fake.graphNodes, 6);
  EXPECT_EQ(fake.fullEdges + fake.programmaticEdges, 5)
      << "what follows waits for what came before";
}

TEST_F(CudaExecutorTest, GivesEverythingBack) {
  {
    auto executor = open(path());
    ASSERT_TRUE(executor);
    EXPECT_EQ(fake.taken,
              executor->memory().taken() - executor->memory().uploaded + executor->memory().weights)
        << "what the memory plan says";
    Answers run(*executor);
    run.add(fakePrompt(6, 1), 3);
    while (run.step())
      ;
  }
  EXPECT_EQ(fake.allocations, 0);
  EXPECT_EQ(fake.pinned, 0);
  EXPECT_EQ(fake.graphs, 0);
  EXPECT_EQ(fake.events, 0);
  EXPECT_EQ(fake.loads, fake.unloads);
  EXPECT_EQ(fake.freedUnderCopies, 0);
}

TEST_F(CudaExecutorTest, TakesPtxWhereNoCubinFits) {
  fake.major = 10;
  auto executor = open(path());
  ASSERT_TRUE(executor);
  EXPECT_EQ(executor->target(), "cuda:compute_80");
  EXPECT_EQ(executor->remark(),
            "the engine has no code for Fake GPU (sm_100): the driver is compiling its "
            "compute_80 now; --target cuda:sm_100a would be faster");
  Answers run(*executor);
  run.add(fakePrompt(6, 1), 3);
  while (run.step())
    ;
}

TEST_F(CudaExecutorTest, ProposesNoTargetWhereOnlyPtxFits) {
  fake.major = 10;
  fake.minor = 3;
  auto executor = open(path());
  ASSERT_TRUE(executor);
  EXPECT_EQ(executor->remark(), "the engine has no code for Fake GPU (sm_103): the driver is "
                                "compiling its compute_80 now");
}

TEST_F(CudaExecutorTest, AnEngineOfGpuCodeAlone) {
  auto executor = open(writeFakeEngine("gpu-alone.ingot", withGpuProgram({"cuda:sm_90a"}, true)));
  ASSERT_TRUE(executor);
  Answers run(*executor);
  run.add(fakePrompt(6, 1), 3);
  while (run.step())
    ;
}

TEST_F(CudaExecutorTest, RefusesGpusThatItHasNoCodeFor) {
  fake.major = 7;
  fake.minor = 5;
  auto executor = tryOpen(path());
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0714");
  EXPECT_EQ(executor.error().exit, ExitCode::Device);
  EXPECT_EQ(executor.error().why,
            "Fake GPU is sm_75; built for cpu:avx2, cuda:sm_90a, cuda:compute_80");
  EXPECT_EQ(executor.error().fix, "give --device cpu: ingot compiles for GPUs from sm_80 on");
  EXPECT_EQ(fake.allocations, 0);
}

TEST_F(CudaExecutorTest, RefusesLimitsThatDoNotFitBeforeTakingAnything) {
  fake.memory = 1 << 20;
  runtime::MemoryLimits limits = kLimits;
  limits.context = 2048;
  limits.maxSeqs = 20;
  auto executor = tryOpen(path(), limits);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0715");
  EXPECT_EQ(executor.error().exit, ExitCode::Device);
  EXPECT_NE(executor.error().why.find("KV 10.0 MiB (1280 pages)"), std::string::npos)
      << executor.error().why;
  EXPECT_NE(executor.error().why.find("free on Fake GPU: 1.0 MiB of 1.0 MiB"), std::string::npos)
      << executor.error().why;
  EXPECT_EQ(fake.highest, 0u);
}

/// KV pages must leave the memory that the driver needs later for code, graphs and itself.
TEST_F(CudaExecutorTest, LeavesRoomForWhatComesLater) {
  uint64_t takes = 0;
  {
    auto executor = open(path());
    ASSERT_TRUE(executor);
    takes = executor->memory().taken();
  }
  fake.memory = takes + takes / 8; // the free eighth is slightly too little
  auto refused = tryOpen(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0715");
  const std::string reserve = runtime::humanBytes(fake.memory / 8);
  EXPECT_NE(refused.error().why.find(" + code, graphs and driver " + reserve + "; free on"),
            std::string::npos)
      << refused.error().why;

  fake.memory = takes + takes / 7 + 8;
  fake.graphBytes = fake.memory / 8 / 5;
  fake.moduleBytes = fake.memory / 8 / 5;
  auto executor = open(path());
  ASSERT_TRUE(executor);
  EXPECT_EQ(executor->memory().limits.reserved, fake.memory / 8);
  Answers run(*executor);
  for (int i = 0; i < 4; ++i)
    run.add(fakePrompt(5, i), 3 + 4 * i);
  while (run.step())
    ;
  EXPECT_EQ(executor->graphs(), 3u);
  EXPECT_GT(fake.highest, 0u);
}

TEST_F(CudaExecutorTest, RefusesKernelsThatAskForMoreThanTheGpuHas) {
  auto options = withGpuProgram({"cuda:sm_90a"});
  options.change = [](fb::EngineT &t) {
    t.programs.back()->code[0]->variants[2]->variants[0]->shared_bytes = 200000;
  };
  auto executor = tryOpen(writeFakeEngine("shared.ingot", options));
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0717") << executor.error().format();
}

fb::TensorMapT boxesOf(uint32_t operand, fb::TensorElement element, uint32_t columns) {
  fb::TensorMapT map;
  map.operand = operand;
  map.element = element;
  map.box_rows = 8;
  map.box_columns = columns;
  map.swizzle = operand == 0;
  return map;
}

/// Returns an engine whose residual kernel runs in clusters of two and through tensor maps, of bytes and of bf16. A
/// step of one token uses the plain variant, which has no maps.
FakeOptions withTensorMaps() {
  auto options = withGpuProgram({"cuda:sm_90a"});
  options.change = [](fb::EngineT &t) {
    auto &list = t.programs.back()->code[0]->variants[4]->variants;
    list.push_back(std::make_unique<fb::VariantT>(*list[0]));
    list[0]->max_tokens = 1;
    list[1]->symbol = "residual_boxes";
    list[1]->cluster = 2;
    for (auto map : {boxesOf(0, fb::TensorElement::U8, 16), boxesOf(1, fb::TensorElement::BF16, 8)})
      list[1]->tensor_maps.push_back(std::make_unique<fb::TensorMapT>(map));
  };
  return options;
}

TEST_F(CudaExecutorTest, KernelsGetTensorMapsAndClusters) {
  const std::string boxes = writeFakeEngine("boxes.ingot", withTensorMaps());
  auto executor = open(boxes);
  ASSERT_TRUE(executor);
  EXPECT_EQ(fake.tensorMaps, 2) << "two layers share them";
  Answers run(*executor);
  for (int i = 0; i < 3; ++i)
    run.add(fakePrompt(7, i), 4 + 3 * (i == 2));
  while (run.step())
    ;
  EXPECT_GT(fake.graphLaunches, 0);
  std::map<std::string, int> count;
  for (int i = 0; i < fake.ran; ++i) {
    ++count[fake.names[i]];
    EXPECT_EQ(fake.clusters[i], fake.names[i] == std::string("residual_boxes") ? 2u : 1u);
  }
  EXPECT_GT(count["residual_boxes"], 2) << "in prompts and in graphs";
  EXPECT_GT(count["residual"], 0) << "when one sequence is left";
  EXPECT_EQ(fake.tensorMaps, 2) << "none is made in a step";
}

/// The map covers as many rows as the limits allow, at the operand's address.
TEST_F(CudaExecutorTest, TensorMapsThatCannotBeMadeAreErrors) {
  const std::string path = writeFakeEngine("boxes.ingot", withTensorMaps());
  fake.failCall = "cuTensorMapEncodeTiled";
  fake.failAfter = 1;
  auto executor = tryOpen(path);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0724");
  EXPECT_EQ(executor.error().exit, ExitCode::Device);
  EXPECT_EQ(executor.error().what,
            "the GPU cannot describe 40 rows of 64 bytes in boxes of 8 by 8");
  EXPECT_EQ(executor.error().why,
            "cuTensorMapEncodeTiled: CUDA_ERROR_FAKE (999): what the test asked for");
  EXPECT_EQ(fake.allocations, 0);
  EXPECT_EQ(fake.pinned, 0);
}

TEST_F(CudaExecutorTest, RefusesGridsThatCannotBeLaunched) {
  auto options = withGpuProgram({"cuda:sm_90a"});
  options.change = [](fb::EngineT &t) {
    auto &v = *t.programs.back()->code[0]->variants[5]->variants[0];
    v.y = std::make_unique<fb::Extent>(fb::GridBase::Rows, 40000, 1);
  };
  auto executor = tryOpen(writeFakeEngine("grid.ingot", options));
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, "E0719") << executor.error().format();
}

/// Any call that fails while a session is opened or runs is reported as an error.
TEST_F(CudaExecutorTest, EveryCallCanFail) {
  for (const char *call :
       {"cuMemGetInfo", "cuMemAlloc", "cuMemAllocHost", "cuMemsetD8Async", "cuMemcpyHtoDAsync",
        "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncSetAttribute", "cuEventCreate"}) {
    freshFakeCuda();
    fake.failCall = call;
    auto executor = tryOpen(path());
    ASSERT_FALSE(executor) << call;
    EXPECT_EQ(executor.error().exit, ExitCode::Device) << call;
    EXPECT_EQ(fake.allocations, 0) << call;
    EXPECT_EQ(fake.pinned, 0) << call;
  }
  auto alwaysClustered = withTensorMaps();
  alwaysClustered.change = [change = alwaysClustered.change](fb::EngineT &t) {
    change(t);
    auto &list = t.programs.back()->code[0]->variants[4]->variants;
    list.erase(list.begin());
  };
  const std::string clustered = writeFakeEngine("clustered.ingot", alwaysClustered);
  const std::vector<int32_t> prompt = fakePrompt(3, 1);
  for (const char *call :
       {"cuMemcpyHtoDAsync", "cuLaunchKernelEx", "cuMemcpyDtoHAsync", "cuStreamSynchronize",
        "cuGraphCreate", "cuGraphAddNode", "cuGraphKernelNodeSetAttribute", "cuGraphInstantiate",
        "cuGraphUpload", "cuGraphLaunch"}) {
    freshFakeCuda();
    auto executor = open(clustered);
    ASSERT_TRUE(executor);
    runtime::SequenceMemory memory(executor->pages(), 5, 256, kPageTokens);
    runtime::Scheduler scheduler(memory, {40, 5, 40});
    auto id = scheduler.add(prompt, 2);
    fake.failCall = call;
    auto ran = executor->step(*scheduler.plan());
    if (ran) { // the call belongs to graphs
      scheduler.complete();
      scheduler.append(id, 1);
      ran = executor->step(*scheduler.plan());
    }
    ASSERT_FALSE(ran) << call;
    EXPECT_EQ(ran.error().code, "E0718") << call;
    EXPECT_NE(ran.error().why.find(call), std::string::npos) << ran.error().why;
  }
}

/// The second layer's state has a window and therefore its own block table. Kernels of each layer get
/// the right table, in launches and in graphs, and pages move by group.
TEST_F(CudaExecutorTest, StatesOfAWindowHaveTheirOwnPages) {
  FakeOptions made = withGpuProgram({"cuda:sm_90a"});
  made.change = [](fb::EngineT &engine) {
    for (auto &program : engine.programs) {
      program->states[1]->window = 200; // longer than the prompt below
      program->sections.push_back(std::make_unique<fb::SectionT>(*program->sections[1]));
      program->sections.back()->name = "local";
      program->entries[0]->steps[2]->section = uint32_t(program->sections.size() - 1);
    }
  };
  auto executor = open(writeFakeEngine("windows.ingot", made),
                       {.context = 1024, .maxSeqs = 2, .maxBatchTokens = 40});
  ASSERT_TRUE(executor);
  ASSERT_EQ(executor->memory().groups.size(), 2u);
  runtime::PageMover &mover = *executor->pageMover();
  EXPECT_EQ(mover.pageBytes(0), 4096u);
  EXPECT_EQ(mover.pageBytes(1), 4096u);
  auto save = [&](size_t group, int32_t page) {
    std::vector<std::byte> bytes(mover.pageBytes(group));
    mover.save(group, page, bytes.data());
    return bytes;
  };
  auto written = [&](size_t group, int32_t page) {
    return std::ranges::any_of(save(group, page), [](std::byte b) { return b != std::byte(0); });
  };

  const std::vector<int32_t> prompt = fakePrompt(101, 1);
  std::vector<int32_t> pages[2] = {{3, 1, 2, 4}, {0, 5, 6, 2}};
  auto step = [&](int64_t first, int64_t count) {
    std::vector<int32_t> positions(static_cast<size_t>(count)), sequences(positions.size());
    std::vector<AttentionTile> tiles;
    for (int64_t i = 0; i < count; ++i)
      positions[size_t(i)] = int32_t(first + i);
    for (int64_t i = 0; i < count; i += kAttentionTile)
      tiles.push_back(
          {int32_t(i), int32_t(std::min(kAttentionTile, count - i)), 0, int32_t(first + i)});
    const auto last = int32_t(count - 1);
    const int32_t *tables[] = {pages[0].data(), pages[1].data()};
    BatchView batch{};
    batch.tokens = count, batch.sequences = batch.rows = 1, batch.tiles = int64_t(tiles.size());
    batch.ids = prompt.data() + first, batch.positions = positions.data();
    batch.sequenceOf = sequences.data(), batch.rowTokens = &last;
    batch.attentionTiles = tiles.data();
    batch.blockTable = tables[0], batch.blockTableStride = 4, batch.groupTables = tables;
    auto ran = executor->step(batch);
    EXPECT_TRUE(ran) << ran.error().format();
    const std::vector<float> expected = fakeLogits(std::span(prompt).first(size_t(first + count)));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), executor->logits())) << first;
  };
  step(0, 30);
  EXPECT_TRUE(written(0, 3));
  EXPECT_FALSE(written(0, 0));
  EXPECT_TRUE(written(1, 0));
  EXPECT_FALSE(written(1, 3));
  step(30, 40);
  mover.copy(1, 0, 9);
  EXPECT_TRUE(written(1, 9));
  EXPECT_FALSE(written(0, 9));
  pages[1][0] = 9;
  const std::vector<std::byte> saved = save(0, 1);
  pages[0][1] = 8;
  mover.load(0, saved.data(), 8);
  EXPECT_FALSE(written(1, 8));
  step(70, 30);
  const int graphs = fake.graphLaunches;
  step(100, 1);
  EXPECT_EQ(fake.graphLaunches, graphs + 1);
}

TEST_F(CudaExecutorTest, BatchesBeyondTheLimitsAreOurBug) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  BatchView batch{};
  batch.tokens = 41;
  auto ran = executor->step(batch);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, "E0901");
}

TEST_F(CudaExecutorTest, TraceHasTheDevicesTimes) {
  auto executor = open(path());
  ASSERT_TRUE(executor);
  EXPECT_EQ(fake.timedEvents, 0) << "nobody asks for times";
  executor->startTrace(false);
  Answers run(*executor);
  run.add(fakePrompt(6, 1), 3);
  while (run.step())
    ;
  const runtime::Trace &trace = *executor->trace();
  ASSERT_EQ(trace.kernelNames().size(), 6u);
  EXPECT_EQ(trace.kernelTimes()[2].launches, 6u) << "append: two layers, three steps";
  EXPECT_NEAR(trace.kernelTimes()[2].seconds, 6e-3, 1e-6);
  EXPECT_EQ(fake.graphLaunches, 0);
}

} // namespace
