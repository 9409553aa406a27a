//===- ThreadsTest.cpp - The context follows the thread -----------------------===//
//
// The library keeps a current context per thread and refuses calls from a thread without one. A server
// opens a session on one thread, runs its steps on another, and closes it on a third.
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/embed/AwaitableService.h"
#include "runtime/kv/SequenceMemory.h"
#include "runtime/schedule/Scheduler.h"
#include "runtime/service/Service.h"
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <algorithm>
#include <dlfcn.h>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace ingot;
using namespace ingot::test;

namespace {

void onAThread(const std::function<void()> &work) { std::thread(work).join(); }

class CudaThreads : public testing::Test {
protected:
  static const std::string &path() {
    static const std::string written = writeFakeEngine(
        "threads.ingot", withGpuProgram({"cuda:sm_90a"}, /*alone=*/true, /*greedy=*/true));
    return written;
  }
  static std::unique_ptr<runtime::Session> openSession() {
    runtime::SessionOptions options;
    options.maxSeqs = 4;
    options.context = 200;
    options.loadTokenizer = false;
    auto session = runtime::Session::open(path(), options);
    EXPECT_TRUE(session) << session.error().format();
    return session ? std::move(*session) : nullptr;
  }
  static std::unique_ptr<cuda::CudaExecutor> openExecutor() {
    auto file = runtime::EngineFile::open(path());
    auto driver = cuda::openLibcuda({fakeLibcuda(), 0});
    EXPECT_TRUE(file && driver);
    auto executor = cuda::CudaExecutor::create(
        std::move(*driver), *file, {.context = 200, .maxSeqs = 4, .maxBatchTokens = 40});
    EXPECT_TRUE(executor) << executor.error().format();
    return executor ? std::move(*executor) : nullptr;
  }
  static runtime::Request request(int seed) {
    runtime::Request request;
    request.promptIds = fakePrompt(5 + seed, seed);
    request.maxTokens = 10;
    request.ignoreEos = true;
    return request;
  }
  void expectAllGivenBack() {
    EXPECT_EQ(fake.allocations, 0);
    EXPECT_EQ(fake.pinned, 0);
    EXPECT_EQ(fake.graphs, 0);
    EXPECT_EQ(fake.events, 0);
    EXPECT_EQ(fake.streams, 0);
    EXPECT_EQ(fake.contexts, 0);
    EXPECT_EQ(fake.loads, fake.unloads);
    EXPECT_EQ(fake.torn, 0);
    EXPECT_EQ(fake.freedUnderCopies, 0);
  }
  FakeCuda &fake = freshFakeCuda();
};

TEST_F(CudaThreads, OpenedHereSteppedThereClosedElsewhere) {
  auto executor = openExecutor();
  ASSERT_TRUE(executor);
  onAThread([&] {
    runtime::SequenceMemory memory(executor->pages(), 4, 200, kPageTokens);
    runtime::Scheduler scheduler(memory, {40, 4, 40});
    std::vector<int32_t> tokens = fakePrompt(5, 1);
    auto id = scheduler.add(tokens, 9);
    for (int step = 0; step < 4; ++step) {
      auto ran = executor->step(*scheduler.plan());
      ASSERT_TRUE(ran) << ran.error().format();
      std::vector<float> expected = fakeLogits(tokens);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), executor->logits()));
      scheduler.complete();
      tokens.push_back(int32_t(std::ranges::max_element(expected) - expected.begin()));
      scheduler.append(id, tokens.back());
    }
  });
  onAThread([&] { executor.reset(); });
  expectAllGivenBack();
}

/// Copies read and write page-locked memory until the step in flight is complete.
TEST_F(CudaThreads, ClosedElsewhereWhileAStepIsUnderWay) {
  auto executor = openExecutor();
  ASSERT_TRUE(executor);
  runtime::SequenceMemory memory(executor->pages(), 4, 200, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 4, 40});
  scheduler.add(fakePrompt(5, 1), 9);
  onAThread([&] { ASSERT_TRUE(executor->beginSampled(*scheduler.plan())); });
  onAThread([&] { executor.reset(); });
  expectAllGivenBack();
}

/// After a device failure it is unknown whether copies have completed, so the memory is not freed.
TEST_F(CudaThreads, MemoryOfCopiesStaysWhereTheDeviceFails) {
  auto executor = openExecutor();
  ASSERT_TRUE(executor);
  runtime::SequenceMemory memory(executor->pages(), 4, 200, kPageTokens);
  runtime::Scheduler scheduler(memory, {40, 4, 40});
  scheduler.add(fakePrompt(5, 1), 9);
  ASSERT_TRUE(executor->beginSampled(*scheduler.plan()));
  fake.failCall = "cuStreamSynchronize";
  onAThread([&] { executor.reset(); });
  EXPECT_EQ(fake.freedUnderCopies, 0);
  EXPECT_EQ(fake.pinned, 5) << "two batches, two lists of ids, logits";
  EXPECT_EQ(fake.allocations, 0);
  EXPECT_EQ(fake.contexts, 0);
}

/// As in `ingot serve`, the engine's thread runs the steps.
TEST_F(CudaThreads, AServiceAnswersFromItsOwnThread) {
  struct Asked final : service::Job {
    void take(service::Output &output) override {
      if (output.kind == service::Output::Kind::Token)
        ids.push_back(output.id);
      error = output.error;
    }
    std::vector<int32_t> ids;
    std::optional<Error> error;
  };
  auto session = openSession();
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->workAhead()); // as the service does while idle
  auto service = service::Service::create(std::move(session), {});
  std::vector<std::shared_ptr<Asked>> jobs;
  for (int seed = 0; seed < 6; ++seed) {
    auto place = service->reserve();
    ASSERT_TRUE(place);
    jobs.push_back(std::make_shared<Asked>());
    auto valid = service->session().validate(request(seed));
    ASSERT_TRUE(valid);
    ASSERT_TRUE(service->submit(std::move(*valid), jobs.back(), std::move(*place)));
  }
  while (service->underWay())
    std::this_thread::yield();
  EXPECT_FALSE(service->failure());
  onAThread([&] { service.reset(); });
  for (int seed = 0; seed < 6; ++seed) {
    EXPECT_FALSE(jobs[size_t(seed)]->error) << jobs[size_t(seed)]->error->format();
    EXPECT_EQ(jobs[size_t(seed)]->ids, fakeGreedy(fakePrompt(5 + seed, seed), 10, false));
  }
  expectAllGivenBack();
}

/// Covers a program that embeds libingot.
TEST_F(CudaThreads, AnEmbeddedExecutorAnswers) {
  embed::AwaitableService::Options options;
  options.session.context = 200;
  options.session.maxSeqs = 4;
  options.session.loadTokenizer = false;
  auto executor = embed::AwaitableService::open(path(), std::move(options));
  ASSERT_TRUE(executor) << executor.error().format();
  for (int seed = 0; seed < 3; ++seed)
    onAThread([&] {
      const embed::RequestId id = (*executor)->newId();
      embed::AwaitableRequest asked;
      asked.what = request(seed);
      ASSERT_TRUE((*executor)->enqueue(id, std::move(asked)));
      auto outputs = (*executor)->await(id, std::nullopt);
      ASSERT_TRUE(outputs) << outputs.error().format();
      ASSERT_EQ(outputs->size(), 1u);
      EXPECT_FALSE(outputs->front().error) << outputs->front().error->format();
      EXPECT_EQ(outputs->front().ids, fakeGreedy(fakePrompt(5 + seed, seed), 10, false));
    });
  onAThread([&] { executor->reset(); });
  expectAllGivenBack();
}

/// Copies bytes to the driver's device and back, and compares them.
void expectWorks(cuda::Driver &driver) {
  auto memory = driver.allocate(64, "a test");
  ASSERT_TRUE(memory) << memory.error().format();
  const int there = 7;
  int back = 0;
  EXPECT_TRUE(driver.copyToDevice(*memory, &there, sizeof there));
  EXPECT_TRUE(driver.copyToHost(&back, *memory, sizeof back));
  auto done = driver.wait();
  EXPECT_TRUE(done) << done.error().format();
  EXPECT_EQ(back, 7);
  driver.release(*memory);
}

TEST_F(CudaThreads, DriversOfTwoGpusTakeTurnsOnAThread) {
  fake.devices = 2;
  auto first = cuda::openLibcuda({fakeLibcuda(), 0});
  auto second = cuda::openLibcuda({fakeLibcuda(), 1});
  auto third = cuda::openLibcuda({fakeLibcuda(), 0});
  ASSERT_TRUE(first && second && third);
  for (int round = 0; round < 3; ++round)
    for (auto *driver : {&first, &second, &third})
      expectWorks(***driver);
  onAThread([&] {
    for (auto *driver : {&third, &second, &first})
      expectWorks(***driver);
  });
  first->reset();
  onAThread([&] { expectWorks(**third); });
  expectWorks(**third);
  second->reset();
  third->reset();
  expectAllGivenBack();
}

TEST_F(CudaThreads, WhatBelongsToAnotherGpuIsRefused) {
  fake.devices = 2;
  auto first = cuda::openLibcuda({fakeLibcuda(), 0});
  auto second = cuda::openLibcuda({fakeLibcuda(), 1});
  ASSERT_TRUE(first && second);
  auto event = (*first)->createEvent(/*timed=*/false);
  auto graph = (*first)->createGraph({});
  ASSERT_TRUE(event && graph);
  EXPECT_TRUE((*first)->record(*event));
  EXPECT_TRUE((*first)->launch(*graph));
  for (const auto &refused :
       {(*second)->record(*event), (*second)->wait(*event), (*second)->launch(*graph)}) {
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().why.find("(400)"), std::string::npos) << refused.error().why;
  }
  auto seconds = (*first)->secondsBetween(*event, *event);
  ASSERT_FALSE(seconds) << "it was made without times";
  EXPECT_NE(seconds.error().why.find("(400)"), std::string::npos);
}

/// A thread's current context may be destroyed while a new context has the same handle.
TEST_F(CudaThreads, AContextThatHasGoneIsNotTakenForTheNext) {
  std::unique_ptr<cuda::Driver> driver;
  auto reopen = [&] {
    driver.reset();
    auto opened = cuda::openLibcuda({fakeLibcuda(), 0});
    EXPECT_TRUE(opened);
    driver = std::move(*opened);
  };
  reopen();
  expectWorks(*driver);
  onAThread(reopen);
  expectWorks(*driver);
  onAThread([&] {
    expectWorks(*driver);
    onAThread(reopen);
    expectWorks(*driver);
  });
  expectWorks(*driver);
  driver.reset();
  expectAllGivenBack();
}

/// Covers a hook that uses another GPU on the engine's thread.
TEST_F(CudaThreads, OthersMaySetTheirContextOnTheThread) {
  auto driver = cuda::openLibcuda({fakeLibcuda(), 0});
  ASSERT_TRUE(driver);
  expectWorks(**driver);
  const int set = fake.contextsSet;
  expectWorks(**driver);
  EXPECT_EQ(fake.contextsSet, set) << "it is current already";
  void *library = dlopen(fakeLibcuda().c_str(), RTLD_NOW);
  auto setCurrent = reinterpret_cast<int (*)(void *)>(dlsym(library, "cuCtxSetCurrent"));
  ASSERT_TRUE(setCurrent);
  EXPECT_EQ(setCurrent(nullptr), 0);
  expectWorks(**driver);
  dlclose(library);
  driver->reset();
  expectAllGivenBack();
}

TEST_F(CudaThreads, AContextThatCannotBeSetIsAnError) {
  auto driver = cuda::openLibcuda({fakeLibcuda(), 0});
  ASSERT_TRUE(driver);
  onAThread([&] {
    fake.failCall = "cuCtxSetCurrent";
    auto waited = (*driver)->wait();
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, "E0718");
    fake.failCall = nullptr;
    EXPECT_TRUE((*driver)->wait());
  });
}

} // namespace
