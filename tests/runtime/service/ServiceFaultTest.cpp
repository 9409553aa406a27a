//===- ServiceFaultTest.cpp - A service whose device fails -----------------===//
//
// The faults are refused launches, exhausted memory, steps that throw and steps that do not return, at
// the first step, in the middle, and while pages are swapped. Each request ends once and in time, and
// its output so far is right. No request is accepted after the fault. A new session answers again.
//===----------------------------------------------------------------------===//
#include "runtime/service/Service.h"
#include "tests/runtime/session/ExecutorAround.h"
#include "tests/runtime/session/FakeSession.h"

#include <condition_variable>
#include <csignal>
#include <latch>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::service;
using namespace ingot::test;
using namespace std::chrono_literals;

namespace {

enum class Fault : uint8_t { None, Launch, Memory, Throws, Hangs };
enum class Where : uint8_t { Step, Swap };

/// The planned fault and its time. A test and its device share it.
struct Plan {
  Fault fault = Fault::None;
  Where where = Where::Step;
  int at = 0;                        ///< the index of the failing call, from 0
  std::chrono::milliseconds slow{0}; ///< additional duration of each step

  std::mutex mutex;
  std::condition_variable wake;
  bool released = false;
  int steps = 0, saves = 0;
  bool owed = false; ///< the next step reports a mover's fault

  void release() {
    std::lock_guard lock(mutex);
    released = true;
    wake.notify_all();
  }
  void hang() {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return released; });
  }
  Result<void> happen() {
    switch (fault) {
    case Fault::Launch:
      return Error{ExitCode::Device, "E0716", "the GPU reports an error", "launch failed", ""};
    case Fault::Memory:
      return Error{ExitCode::Device, "E0715", "the GPU has no memory left", "out of memory", ""};
    case Fault::Throws:
      throw std::bad_alloc();
    case Fault::Hangs:
      hang();
      break;
    case Fault::None:
      break;
    }
    return {};
  }
};

class FaultyExecutor final : public ExecutorAround, private runtime::PageMover {
public:
  FaultyExecutor(std::unique_ptr<runtime::Executor> device, Plan &plan)
      : ExecutorAround(std::move(device)), plan(plan) {}

  Result<void> step(const BatchView &batch) override {
    if (auto fine = count(); !fine)
      return fine;
    return inner->step(batch);
  }
  Result<void> beginSampled(const BatchView &batch) override {
    if (auto fine = count(); !fine)
      return fine;
    return inner->beginSampled(batch);
  }
  runtime::PageMover *pageMover() override { return inner->pageMover() ? this : nullptr; }

private:
  Result<void> count() {
    std::this_thread::sleep_for(plan.slow);
    const bool now = plan.where == Where::Step && plan.steps == plan.at;
    ++plan.steps;
    return now || std::exchange(plan.owed, false) ? plan.happen() : Result<void>();
  }
  uint64_t pageBytes(size_t group) const override { return inner->pageMover()->pageBytes(group); }
  void copy(size_t group, int32_t from, int32_t to) override {
    inner->pageMover()->copy(group, from, to);
  }
  void save(size_t group, int32_t page, std::byte *to) override {
    if (plan.where == Where::Swap && plan.saves++ == plan.at) {
      if (plan.fault == Fault::Hangs)
        plan.hang();
      else
        plan.owed = true;
    }
    inner->pageMover()->save(group, page, to);
  }
  void load(size_t group, const std::byte *from, int32_t page) override {
    inner->pageMover()->load(group, from, page);
  }
  Plan &plan;
};

struct Taker final : Job {
  void take(Output &output) override {
    std::lock_guard lock(mutex);
    if (output.kind == Output::Kind::Token) {
      afterEnd |= ends > 0;
      if (output.id >= 0)
        ids.push_back(output.id);
      return;
    }
    ++ends;
    error = output.error;
    ended.notify_all();
  }
  /// Waits by this process's own time, since the process may be stopped meanwhile.
  bool endsWithin(std::chrono::seconds time) {
    std::unique_lock lock(mutex);
    for (auto left = time * 10 / 1s; left > 0 && ends == 0; --left)
      ended.wait_for(lock, 100ms, [&] { return ends > 0; });
    return ends > 0;
  }
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<int32_t> ids;
  int ends = 0;
  bool afterEnd = false;
  std::optional<Error> error;
};

class ServiceFault : public FakeSessionTest {
protected:
  static constexpr uint64_t kPage = 2 * 4096;
  static constexpr int kJobs = 6;
  static constexpr int64_t kNew = 150;

  runtime::SessionOptions faulty(Plan &plan) {
    runtime::SessionOptions options;
    options.maxSeqs = 4;
    options.kvMemoryBytes = 9 * kPage; // 288 positions; a job grows to 225
    options.swapBytes = 32 * kPage;
    options.prefixCache = false;
    options.around = [&plan](std::unique_ptr<runtime::Executor> device) {
      return std::make_unique<FaultyExecutor>(std::move(device), plan);
    };
    return options;
  }
  static std::vector<int32_t> prompt(int job) { return fakePrompt(70 + job, job); }

  std::shared_ptr<Taker> ask(Service &service, int job) {
    auto taker = std::make_shared<Taker>();
    auto place = service.reserve();
    EXPECT_TRUE(place);
    runtime::Request wanted = request(prompt(job), kNew);
    wanted.ignoreEos = true;
    EXPECT_TRUE(
        service.submit(validated(service.session(), std::move(wanted)), taker, std::move(*place)));
    return taker;
  }

  /// Checks all guarantees for one fault at one place.
  void check(Plan &plan) {
    ServiceOptions options;
    options.stepLimit = 0.4;
    auto service = Service::create(open(faulty(plan)), options);
    struct Release { // runs before the service is joined
      Plan &plan;
      ~Release() { plan.release(); }
    } atTheEnd{plan};
    std::vector<std::shared_ptr<Taker>> takers;
    {
      std::lock_guard lock(plan.mutex); // a hanging first step would need it
      for (int job = 0; job < kJobs; ++job) {
        auto place = service->reserve();
        ASSERT_TRUE(place);
        runtime::Request wanted = request(prompt(job), kNew);
        wanted.ignoreEos = true;
        auto taker = std::make_shared<Taker>();
        if (service->submit(validated(service->session(), std::move(wanted)), taker,
                            std::move(*place)))
          takers.push_back(taker); // otherwise it has failed already
      }
    }
    ASSERT_FALSE(takers.empty());
    int failed = 0;
    for (size_t job = 0; job < takers.size(); ++job) {
      Taker &taker = *takers[job];
      ASSERT_TRUE(taker.endsWithin(10s)) << "a request hangs";
      std::vector<int32_t> expected = fakeGreedy(prompt(int(job)), kNew, false);
      ASSERT_LE(taker.ids.size(), expected.size());
      EXPECT_TRUE(std::equal(taker.ids.begin(), taker.ids.end(), expected.begin())) << "wrong ids";
      if (!taker.error) {
        EXPECT_EQ(taker.ids, expected);
        continue;
      }
      ++failed;
      EXPECT_TRUE(taker.error->code.starts_with("E07")) << taker.error->format();
      EXPECT_EQ(taker.error->exit, ExitCode::Device);
    }
    EXPECT_GT(failed, 0) << "nothing went wrong: nothing is shown";
    ASSERT_NE(service->failure(), nullptr);
    EXPECT_EQ(service->underWay(), 0);
    EXPECT_EQ(service->hung(), plan.fault == Fault::Hangs);
    auto place = service->reserve();
    ASSERT_TRUE(place);
    auto refused = service->submit(validated(service->session(), request({1, 2}, 3)),
                                   std::make_shared<Taker>(), std::move(*place));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, service->failure()->code);
    EXPECT_EQ(service->stop(), plan.fault != Fault::Hangs) << "waits for a step that hangs";
    plan.release();
    EXPECT_TRUE(service->stop(10) || plan.fault == Fault::Hangs);
    for (const auto &taker : takers) { // later output of the hung step was dropped
      EXPECT_EQ(taker->ends, 1);
      EXPECT_FALSE(taker->afterEnd);
    }
    // Create a new worker.
    Plan well;
    auto again = Service::create(open(faulty(well)), options);
    auto taker = ask(*again, 0);
    ASSERT_TRUE(taker->endsWithin(10s));
    EXPECT_EQ(taker->ids, fakeGreedy(prompt(0), kNew, false));
  }
};

class ServiceFaults : public ServiceFault,
                      public testing::WithParamInterface<std::tuple<Fault, Where, int>> {};

} // namespace

TEST_P(ServiceFaults, endWhatIsUnderWay) {
  Plan plan;
  std::tie(plan.fault, plan.where, plan.at) = GetParam();
  check(plan);
}

INSTANTIATE_TEST_SUITE_P(AtSteps, ServiceFaults,
                         testing::Combine(testing::Values(Fault::Launch, Fault::Memory,
                                                          Fault::Throws, Fault::Hangs),
                                          testing::Values(Where::Step), testing::Values(0, 1, 30)));
INSTANTIATE_TEST_SUITE_P(InSwaps, ServiceFaults,
                         testing::Combine(testing::Values(Fault::Launch, Fault::Memory,
                                                          Fault::Throws, Fault::Hangs),
                                          testing::Values(Where::Swap), testing::Values(0, 3)));

TEST_F(ServiceFault, aStepThatIsOnlySlowIsWaitedFor) {
  Plan plan;
  plan.slow = 10ms;
  ServiceOptions options;
  options.stepLimit = 0.4;
  auto service = Service::create(open(faulty(plan)), options);
  auto taker = ask(*service, 0);
  ASSERT_TRUE(taker->endsWithin(60s));
  EXPECT_FALSE(taker->error) << taker->error->format();
  EXPECT_EQ(taker->ids, fakeGreedy(prompt(0), kNew, false));
  EXPECT_EQ(service->failure(), nullptr);
}

TEST_F(ServiceFault, withoutALimitNobodyLooks) {
  Plan plan;
  plan.fault = Fault::Hangs;
  plan.at = 3;
  ServiceOptions options;
  options.stepLimit = 0;
  auto service = Service::create(open(faulty(plan)), options);
  auto taker = ask(*service, 0);
  EXPECT_FALSE(taker->endsWithin(1s));
  EXPECT_EQ(service->failure(), nullptr);
  plan.release();
  ASSERT_TRUE(taker->endsWithin(10s));
  EXPECT_EQ(taker->ids, fakeGreedy(prompt(0), kNew, false));
}

TEST_F(ServiceFault, stoppingDoesNotWaitForEver) {
  Plan plan;
  plan.fault = Fault::Hangs;
  plan.at = 3;
  ServiceOptions options;
  options.stepLimit = 0;
  auto service = Service::create(open(faulty(plan)), options);
  auto taker = ask(*service, 0);
  EXPECT_FALSE(taker->endsWithin(1s));
  EXPECT_FALSE(service->stop(0.2));
  plan.release();
  EXPECT_TRUE(service->stop(60));
  EXPECT_EQ(taker->ends, 1);
}

/// Runs in a child process that is stopped during a step for longer than the step limit.
TEST_F(ServiceFault, timeInWhichTheProcessWasStoppedDoesNotCount) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Plan plan;
    plan.slow = 2400ms;
    ServiceOptions options;
    options.stepLimit = 1.6;
    auto service = Service::create(open(faulty(plan)), options);
    auto taker = std::make_shared<Taker>();
    auto place = service->reserve();
    const bool taken = bool(service->submit(validated(service->session(), request(prompt(0), 1)),
                                            taker, std::move(*place)));
    const bool answered = taken && taker->endsWithin(30s) && !taker->error;
    _exit(answered && !service->failure() ? 0 : 1);
  }
  std::this_thread::sleep_for(500ms);
  kill(child, SIGSTOP);
  std::this_thread::sleep_for(1500ms);
  kill(child, SIGCONT);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "taken for a step that hangs";
}
