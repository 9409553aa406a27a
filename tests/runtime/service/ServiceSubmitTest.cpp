//===- ServiceSubmitTest.cpp - From a request to the outputs of its choices --===//
#include "runtime/service/Service.h"
#include "tests/runtime/session/FakeSession.h"

#include <latch>
#include <limits>

using namespace ingot;
using namespace ingot::service;
using namespace ingot::test;

namespace {

// A service takes only validated requests, so that none is validated twice.
template <typename Request>
constexpr bool kIsTaken =
    requires(Service &service, Request request, std::shared_ptr<Job> job, Reservation place) {
      service.submit(std::move(request), std::move(job), std::move(place));
    };
static_assert(kIsTaken<runtime::ValidatedRequest> && !kIsTaken<runtime::Request>);

class ServiceSubmit : public FakeSessionTest {};

/// Keeps the ids of each choice.
struct KeptChoices final : Job {
  explicit KeptChoices(size_t choices) : ids(choices), ended(std::ptrdiff_t(choices)) {}
  void take(Output &output) override {
    if (output.kind == Output::Kind::End)
      ended.count_down();
    else if (output.id >= 0)
      ids.at(size_t(output.choice)).push_back(output.id);
  }
  std::vector<std::vector<int32_t>> ids;
  std::latch ended;
};

} // namespace

/// Outputs number the choices of a job from 0, whatever the request's own choice is.
TEST_F(ServiceSubmit, choicesAreNumberedFromTheRequestsOwn) {
  runtime::SessionOptions options;
  options.maxSeqs = 3;
  constexpr auto kMostSigned = uint32_t(std::numeric_limits<int32_t>::max());
  for (uint32_t first : {0u, kMostSigned - 1, kMostSigned, ~0u - 1, ~0u}) {
    runtime::Request wanted = request(fakePrompt(20, 1), 12);
    wanted.ignoreEos = true;
    wanted.sampling.temperature = 1;
    wanted.sampling.seed = 7;
    auto alone = open();
    std::vector<std::vector<int32_t>> expected;
    for (uint32_t i = 0; i < 3; ++i) {
      wanted.sampling.choice = first + i;
      expected.push_back(answer(*alone, wanted).ids);
    }
    EXPECT_NE(expected[0], expected[1]);
    wanted.sampling.choice = first;
    auto service = Service::create(open(options), {});
    auto place = service->reserve();
    ASSERT_TRUE(place);
    auto job = std::make_shared<KeptChoices>(3);
    ASSERT_TRUE(service->submit(validated(service->session(), std::move(wanted), 3), job,
                                std::move(*place)));
    job->ended.wait();
    EXPECT_EQ(job->ids, expected) << first;
  }
}
