//===- ServiceTimesTest.cpp - Where the time of a job goes -------------------===//
#include "runtime/service/Service.h"
#include "tests/runtime/session/FakeSession.h"

#include <gtest/gtest.h>
#include <latch>

using namespace ingot;
using namespace ingot::service;
using namespace ingot::test;

namespace {

class ServiceTimes : public FakeSessionTest {};

struct Taker final : Job {
  explicit Taker(std::latch &ended) : ended(ended) {}
  void take(Output &output) override {
    if (output.kind != Output::Kind::End)
      return;
    times = output.times;
    ended.count_down();
  }
  JobTimes times;
  std::latch &ended;
};

/// Runs six jobs, two at a time. The parts of each job's time add up to the whole, and some jobs waited.
TEST_F(ServiceTimes, partsMakeUpTheWhole) {
  constexpr int kJobs = 6;
  runtime::SessionOptions options;
  options.maxSeqs = 2;
  auto service = Service::create(open(options), {});
  std::latch ended(kJobs);
  std::vector<std::shared_ptr<Taker>> jobs;
  for (int i = 0; i < kJobs; ++i) {
    auto place = service->reserve();
    ASSERT_TRUE(place);
    runtime::Request wanted = request(fakePrompt(20 + i, i), 12);
    wanted.ignoreEos = true;
    jobs.push_back(std::make_shared<Taker>(ended));
    ASSERT_TRUE(service->submit(validated(service->session(), std::move(wanted)), jobs.back(),
                                std::move(*place)));
  }
  ended.wait();
  for (const auto &job : jobs) {
    EXPECT_GT(job->times.scheduled, 0u);
    EXPECT_LT(job->times.scheduled, job->times.firstToken);
    EXPECT_LT(job->times.firstToken, job->times.lastToken);
  }
  EXPECT_GE(jobs.back()->times.scheduled, jobs.front()->times.lastToken) << "it had to wait";

  const Measurements m = service->metrics().read();
  for (const Histogram *one : {&m.queueTime, &m.prefillTime, &m.decodeTime, &m.inferenceTime,
                               &m.endToEnd, &m.timePerToken, &m.askedTokens, &m.askedChoices})
    EXPECT_EQ(one->count(), uint64_t(kJobs));
  EXPECT_NEAR(m.queueTime.sum() + m.prefillTime.sum() + m.decodeTime.sum(), m.endToEnd.sum(), 1e-6);
  EXPECT_NEAR(m.queueTime.sum() + m.inferenceTime.sum(), m.endToEnd.sum(), 1e-6);
  EXPECT_EQ(m.askedTokens.sum(), 12.0 * kJobs);
  EXPECT_EQ(m.generationTokens, 12u * kJobs);
  EXPECT_GT(m.pageTokens, 0);
}

} // namespace
