//===- FleetTest.cpp - Many replicas behind a router ------------------------===//
#include "runtime/schedule/simulate/Fleet.h"
#include "runtime/schedule/simulate/Simulator.h"
#include "tests/runtime/schedule/SmallModelCost.h"

#include <cmath>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

FleetSetup fleet(int64_t replicas, RoutePolicy policy = RoutePolicy::Least) {
  FleetSetup setup;
  setup.replica.pages = 32 * 64;
  setup.replica.context = 2048;
  setup.replica.cost = ingot::test::smallModelCost();
  setup.replica.pageBytes = 700'000;
  setup.replicas = replicas;
  setup.router.policy = policy;
  return setup;
}

SyntheticLoad load(double rate, int64_t requests) {
  SyntheticLoad load;
  load.rate = rate;
  load.requests = requests;
  load.promptTokens = 300;
  load.outputTokens = 100;
  load.mostTokens = 2000;
  return load;
}

/// Returns conversations over shared system prompts.
std::vector<SimulatedRequest> chats(double rate, int64_t requests) {
  SyntheticLoad wanted = load(rate, requests);
  wanted.promptTokens = 40;
  wanted.outputTokens = 40;
  wanted.spread = 0.3;
  wanted.prefixes = 20;
  wanted.prefixTokens = 256;
  wanted.zipf = 1;
  wanted.turns = 5;
  wanted.think = 5;
  return synthesize(wanted);
}

void expectEqual(const Percentiles &a, const Percentiles &b) {
  EXPECT_EQ(a.p50, b.p50);
  EXPECT_EQ(a.p90, b.p90);
  EXPECT_EQ(a.p99, b.p99);
  EXPECT_EQ(a.most, b.most);
  EXPECT_EQ(a.mean, b.mean);
}

void expectEqual(const SimulationResult &a, const SimulationResult &b) {
  EXPECT_EQ(a.requests, b.requests);
  EXPECT_EQ(a.outputTokens, b.outputTokens);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.goodput, b.goodput);
  expectEqual(a.ttft, b.ttft);
  expectEqual(a.itl, b.itl);
  expectEqual(a.tpot, b.tpot);
  expectEqual(a.e2e, b.e2e);
  EXPECT_EQ(a.longestWait, b.longestWait);
  EXPECT_EQ(a.fairness, b.fairness);
  EXPECT_EQ(a.waste, b.waste);
  EXPECT_EQ(a.poolUse, b.poolUse);
  EXPECT_EQ(a.stats.steps, b.stats.steps);
  EXPECT_EQ(a.stats.prefixHits, b.stats.prefixHits);
  EXPECT_EQ(a.stats.preemptions, b.stats.preemptions);
  EXPECT_EQ(a.stats.swaps, b.stats.swaps);
}

} // namespace

/// A fleet of one must agree with the simulator to the last digit under every policy. The loop of a single service and
/// the event queue of a fleet drive the same replica with different clocks.
TEST(Fleet, ofOneIsTheSimulator) {
  for (RoutePolicy policy : {RoutePolicy::Random, RoutePolicy::Least, RoutePolicy::Prefix})
    for (QueueOrder order : {QueueOrder::Priority, QueueOrder::Fair})
      for (Arrivals arrivals : {Arrivals::Poisson, Arrivals::Bursty, Arrivals::Closed})
        for (bool tight : {false, true}) {
          SyntheticLoad wanted = load(2, 120);
          wanted.arrivals = arrivals;
          wanted.users = 6;
          wanted.prefixes = 3;
          wanted.prefixTokens = 100;
          auto requests = synthesize(wanted);
          for (size_t i = 0; i < requests.size(); ++i)
            requests[i].priority = i % 7 == 0 ? -1 : 0;
          FleetSetup setup = fleet(1, policy);
          setup.replica.policy.order = order;
          setup.replica.closed = arrivals == Arrivals::Closed;
          setup.replica.ttftLimit = 1;
          setup.replica.itlLimit = 0.06;
          if (tight) {
            setup.replica.pages = 66;
            setup.replica.rows = setup.replica.limits.logitsRows = 8;
            setup.replica.swapBytes = 40 * setup.replica.pageBytes;
          }
          const FleetResult many = simulateFleet(requests, setup);
          expectEqual(many.whole, simulate(requests, setup.replica));
          EXPECT_EQ(many.replicas[0].requests, 120);
          EXPECT_EQ(many.imbalance, 1);
          EXPECT_EQ(many.paid, many.whole.seconds);
          if (tight)
            EXPECT_GT(many.whole.stats.preemptions, 0u);
        }
}

/// Requests that arrive at the same moment are all present when the step begins.
TEST(Fleet, whoComesAtOnceIsInOneStep) {
  auto requests = synthesize(load(3, 90));
  for (SimulatedRequest &one : requests)
    one.arrival = std::floor(one.arrival);
  const FleetSetup setup = fleet(1);
  expectEqual(simulateFleet(requests, setup).whole, simulate(requests, setup.replica));
}

TEST(Fleet, isDeterministic) {
  const auto requests = chats(20, 600);
  for (RoutePolicy policy : {RoutePolicy::Random, RoutePolicy::TwoChoices, RoutePolicy::Prefix}) {
    const FleetSetup setup = fleet(4, policy);
    expectEqual(simulateFleet(requests, setup).whole, simulateFleet(requests, setup).whole);
  }
  FleetSetup other = fleet(4, RoutePolicy::Random);
  other.router.seed = 2;
  EXPECT_NE(simulateFleet(requests, other).whole.ttft.mean,
            simulateFleet(requests, fleet(4, RoutePolicy::Random)).whole.ttft.mean);
}

/// Two concurrent requests on two replicas must each take as long as a single request.
TEST(Fleet, replicasWorkSideBySide) {
  std::vector<SimulatedRequest> two(2);
  for (SimulatedRequest &one : two) {
    one.promptTokens = 500;
    one.outputTokens = 10;
  }
  const double alone = simulate({two[0]}, fleet(1).replica).seconds;
  const FleetResult both = simulateFleet(two, fleet(2));
  EXPECT_EQ(both.whole.seconds, alone);
  EXPECT_EQ(both.whole.outputTokens, 20);
  EXPECT_EQ(both.paid, 2 * alone);
  EXPECT_GT(simulateFleet(two, fleet(1)).whole.seconds, 1.5 * alone);
}

TEST(Fleet, waysAndTheRouterTakeTime) {
  std::vector<SimulatedRequest> one(1);
  one[0].arrival = 1;
  one[0].promptTokens = 100;
  one[0].outputTokens = 5;
  FleetSetup setup = fleet(2);
  const SimulationResult direct = simulateFleet(one, setup).whole;
  setup.network = 0.25;
  setup.routerRequest = 0.125;
  setup.routerToken = 0.5;
  const FleetResult far = simulateFleet(one, setup);
  EXPECT_NEAR(far.whole.ttft.mean, direct.ttft.mean + 2 * 0.25 + 0.125 + 0.5, 1e-12);
  EXPECT_NEAR(far.whole.itl.mean, direct.itl.mean, 1e-12) << "ids are late, not slow";
  EXPECT_NEAR(far.whole.e2e.mean, direct.e2e.mean + 2 * 0.25 + 0.125 + 0.5, 1e-12);
  EXPECT_NEAR(far.router, 0.125 + 5 * 0.5, 1e-12);
}

TEST(Workload, conversationsSayAllAgain) {
  const auto requests = chats(5, 20000);
  ASSERT_EQ(requests.size(), 20000u);
  std::vector<int32_t> before, prompt;
  std::vector<int64_t> of(20);
  double conversations = 0, think = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const SimulatedRequest &one = requests[i];
    ASSERT_LE(one.promptTokens + one.outputTokens, 2000);
    promptOf(requests, i, prompt);
    ASSERT_EQ(int64_t(prompt.size()), one.promptTokens);
    if (one.follows < 0) {
      ++conversations;
      ++of[size_t(one.prefix)];
      continue;
    }
    think += one.think;
    const SimulatedRequest &last = requests[size_t(one.follows)];
    ASSERT_LT(one.follows, int64_t(i));
    ASSERT_EQ(one.session, last.session);
    ASSERT_GT(one.promptTokens, last.promptTokens + last.outputTokens);
    promptOf(requests, size_t(one.follows), before);
    ASSERT_TRUE(std::equal(before.begin(), before.end(), prompt.begin()));
    ASSERT_EQ(prompt[before.size()], answerId(size_t(one.follows), 1));
  }
  EXPECT_NEAR(20000 / conversations, 5, 0.3);
  EXPECT_NEAR(think / (20000 - conversations), 5, 0.2);
  EXPECT_NEAR(double(of[0]) / double(of[9]), 10, 4) << "Zipf, exponent 1";
  // One conversation begins per second, so 5 requests arrive per second.
  EXPECT_NEAR(requests.back().arrival, 20000 / 5, 250);
}

TEST(Fleet, turnsWaitForAnswers) {
  std::vector<SimulatedRequest> turns(2);
  turns[0].promptTokens = 320;
  turns[0].outputTokens = 100;
  turns[1] = turns[0];
  turns[1].follows = 0;
  turns[1].think = 3;
  turns[1].promptTokens = 450;
  turns[1].outputTokens = 1;
  FleetSetup setup = fleet(1);
  const FleetResult chat = simulateFleet(turns, setup);
  EXPECT_EQ(chat.whole.requests, 2);
  const double first = simulate({turns[0]}, setup.replica).seconds;
  EXPECT_GT(chat.whole.seconds, first + 3);
  // 13 full pages cover the 419 positions that were computed.
  EXPECT_EQ(chat.whole.stats.prefixHits, 13u * 32);
  // A turn with its own arrival time does not arrive before that time.
  turns[1].arrival = 100;
  EXPECT_GT(simulateFleet(turns, setup).whole.seconds, 100);
}

/// The requirement: at 8 replicas, 1.5 times the hits of least-loaded routing.
TEST(Fleet, prefixRoutingFindsWhatLeastLoses) {
  const auto requests = chats(60, 3000);
  auto small = [](RoutePolicy policy) {
    FleetSetup setup = fleet(8, policy);
    setup.replica.pages = 600; // 19,200 positions for 20 system prompts of 256 and all the rest
    return setup;
  };
  const FleetResult least = simulateFleet(requests, small(RoutePolicy::Least)),
                    prefix = simulateFleet(requests, small(RoutePolicy::Prefix)),
                    session = simulateFleet(requests, small(RoutePolicy::Session));
  EXPECT_EQ(prefix.whole.requests, 3000);
  EXPECT_GT(double(prefix.whole.stats.prefixHits), 1.5 * double(least.whole.stats.prefixHits));
  EXPECT_LT(prefix.imbalance, session.imbalance) << "who stays at home has no regard for load";
  EXPECT_LT(prefix.whole.ttft.mean, least.whole.ttft.mean);
  EXPECT_LT(prefix.imbalance, 1.5);
  // Without shared prefixes the two policies are equal.
  const auto plain = synthesize(load(20, 600));
  const double one = simulateFleet(plain, fleet(8, RoutePolicy::Least)).whole.ttft.mean,
               other = simulateFleet(plain, fleet(8, RoutePolicy::Prefix)).whole.ttft.mean;
  EXPECT_EQ(one, other);
}

/// All requests share one prompt. Without the load limit, one replica would get all of them.
TEST(Fleet, aPopularPrefixIsSpread) {
  SyntheticLoad wanted = load(12, 600);
  wanted.prefixes = 1;
  wanted.prefixTokens = 600;
  const auto requests = synthesize(wanted);
  FleetSetup setup = fleet(8, RoutePolicy::Prefix);
  const FleetResult spread = simulateFleet(requests, setup);
  EXPECT_LT(spread.imbalance, 1.5);
  setup.router.loadSlack = 1e6;
  const FleetResult piled = simulateFleet(requests, setup);
  EXPECT_NEAR(piled.imbalance, 8, 1e-9);
  EXPECT_GT(piled.whole.ttft.mean, 5 * spread.whole.ttft.mean);
}

/// A replica fails under load. Another replica answers the requests that have no output yet, and the other requests
/// end. No request hangs, and the failed replica comes back empty.
TEST(Fleet, aFailureLosesWhatWasUnderWay) {
  const auto requests = synthesize(load(8, 400));
  FleetSetup setup = fleet(4, RoutePolicy::RoundRobin);
  const FleetResult well = simulateFleet(requests, setup);
  setup.failures = {{2, 20}};
  setup.restartSeconds = 10;
  const FleetResult failing = simulateFleet(requests, setup);
  EXPECT_GT(failing.failed, 0);
  EXPECT_LE(failing.failed, 32) << "what one replica has under way";
  EXPECT_EQ(failing.whole.requests + failing.failed, 400);
  EXPECT_EQ(well.failed + well.resent, 0);
  EXPECT_GT(failing.replicas[2].requests, 20) << "it came back";
  EXPECT_LT(failing.replicas[2].requests, well.replicas[2].requests);
  // With network delay, some requests are in transit when the replica fails.
  setup.network = 0.05;
  setup.failures = {{2, 20}, {0, 25}, {1, 25}, {3, 25}};
  const FleetResult all = simulateFleet(requests, setup);
  EXPECT_EQ(all.whole.requests + all.failed, 400) << "also while none is there";
  EXPECT_GT(all.resent, 0);
}

TEST(Fleet, scalesWithTheLoad) {
  // The load is low, then high, then low.
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < 700; ++i) {
    SimulatedRequest one;
    one.arrival = i < 50 ? 2.0 * i : i < 650 ? 100 + (i - 50) / 10.0 : 160 + 4.0 * (i - 650);
    one.promptTokens = 200;
    one.outputTokens = 50;
    requests.push_back(one);
  }
  FleetSetup setup = fleet(8);
  setup.scaling.target = 8;
  setup.scaling.startSeconds = 10;
  setup.scaling.downSeconds = 20;
  const FleetResult scaled = simulateFleet(requests, setup);
  EXPECT_EQ(scaled.whole.requests, 700);
  EXPECT_GE(scaled.mostUp, 3);
  EXPECT_EQ(scaled.failed + scaled.resent, 0) << "who drains ends what it has";
  FleetSetup fixed = fleet(8);
  const FleetResult whole = simulateFleet(requests, fixed);
  EXPECT_LT(scaled.paid, 0.5 * whole.paid);
  EXPECT_GT(scaled.whole.ttft.p99, whole.whole.ttft.p99) << "who starts later is late";
  // Scaling also works from zero replicas.
  setup.scaling.least = 0;
  EXPECT_EQ(simulateFleet(requests, setup).whole.requests, 700);
}
