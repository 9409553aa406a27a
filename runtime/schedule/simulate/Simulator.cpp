//===- Simulator.cpp - See Simulator.h -------------------------------------===//
#include "runtime/schedule/simulate/Simulator.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <limits>
#include <map>

namespace ingot::runtime {

namespace {

class Simulation {
public:
  Simulation(const std::vector<SimulatedRequest> &requests, const SimulationSetup &setup)
      : requests(requests), setup(setup), tally(setup.ttftLimit, setup.itlLimit),
        replica(requests, setup, tally) {}

  SimulationResult run();

private:
  void arrive(size_t request, double when) { replica.add(request, when, when); }
  void arrivals();
  double nextArrival() const;
  void answered(size_t request);

  const std::vector<SimulatedRequest> &requests;
  const SimulationSetup &setup;
  Tally tally;
  SimulatedReplica replica;

  double now = 0;
  size_t next = 0;                                 ///< next request to arrive; only in an open loop
  std::map<int64_t, std::deque<size_t>> waitingOf; ///< by user; only in a closed loop
};

double Simulation::nextArrival() const {
  return next < requests.size() ? requests[next].arrival : std::numeric_limits<double>::infinity();
}

void Simulation::arrivals() {
  for (; nextArrival() <= now; ++next)
    arrive(next, requests[next].arrival);
  if (!setup.closed && next == requests.size())
    tally.fairnessCounts = false;
}

void Simulation::answered(size_t request) {
  if (!setup.closed)
    return;
  std::deque<size_t> &further = waitingOf[requests[request].user];
  if (further.empty()) {
    tally.fairnessCounts = false;
    return;
  }
  arrive(further.front(), now);
  further.pop_front();
}

SimulationResult Simulation::run() {
  if (setup.closed) {
    for (size_t i = 0; i < requests.size(); ++i)
      waitingOf[requests[i].user].push_back(i);
    next = requests.size();
    for (auto &[user, further] : waitingOf) {
      arrive(further.front(), 0);
      further.pop_front();
    }
  }
  while (true) {
    arrivals();
    if (const auto seconds = replica.begin(now)) {
      now += *seconds;
      replica.end(now, [this](size_t request) { answered(request); });
    } else if (next < requests.size()) {
      now = nextArrival();
    } else {
      break;
    }
  }
  SimulationResult result = tally.result(now);
  const PoolTime &time = replica.poolTime();
  if (time.held > 0)
    result.waste = time.waste / time.held;
  if (time.steps > 0)
    result.poolUse = time.held / time.steps / double(setup.pages);
  result.stats = replica.stats();
  return result;
}

} // namespace

SimulationResult simulate(const std::vector<SimulatedRequest> &requests,
                          const SimulationSetup &setup) {
  assert(std::ranges::all_of(requests, [](auto &one) { return one.follows < 0; }) &&
         "only a fleet has requests that follow others");
  return Simulation(requests, setup).run();
}

} // namespace ingot::runtime
