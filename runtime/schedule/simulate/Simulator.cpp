//===- Simulator.cpp - See Simulator.h -------------------------------------===//
#include "runtime/schedule/simulate/Simulator.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace ingot::runtime {

namespace {

/// Pages have no content here; moves take time.
class CountingMover final : public PageMover {
public:
  explicit CountingMover(uint64_t bytes) : bytes(bytes) {}
  uint64_t pageBytes(size_t) const override { return bytes; }
  void copy(size_t, int32_t, int32_t) override { moved += bytes; }
  void save(size_t, int32_t, std::byte *) override { moved += bytes; }
  void load(size_t, const std::byte *, int32_t) override { moved += bytes; }

  uint64_t bytes, moved = 0;
};

Percentiles percentilesOf(std::vector<double> values) {
  if (values.empty())
    return {};
  std::ranges::sort(values);
  auto at = [&](double share) {
    return values[std::min(values.size() - 1, size_t(share * double(values.size())))];
  };
  return {at(0.5), at(0.9), at(0.99), values.back()};
}

class Simulation {
public:
  Simulation(const std::vector<SimulatedRequest> &requests, const SimulationSetup &setup)
      : requests(requests), setup(setup), mover(setup.pageBytes),
        swapMemory(std::make_unique_for_overwrite<std::byte[]>(swapBytes(setup))),
        memory({{{setup.pages, 0}}, setup.rows, setup.context, kPageTokens, setup.context}, &mover,
               {swapMemory.get(), swapBytes(setup)}),
        scheduler(memory, setup.limits, setup.policy, told(setup)) {}

  SimulationResult run();

private:
  struct Running {
    size_t request;
    double arrival, started = -1, first = -1, last = -1;
    int64_t ids = 0;
  };

  static size_t swapBytes(const SimulationSetup &setup) {
    return setup.pageBytes ? setup.swapBytes : 0;
  }
  static StepCostTable told(const SimulationSetup &setup) {
    StepCostTable table = setup.cost;
    for (StepCostTable::Point &point : table.points)
      point.seconds *= setup.toldCost;
    table.perRow *= setup.toldCost;
    table.perPosition *= setup.toldCost;
    return table;
  }

  void arrive(size_t request, double when);
  void arrivals();
  double nextArrival() const;
  void step(const BatchView &batch);
  void takeId(SequenceId id);
  void end(SequenceId id, const Running &own);

  const std::vector<SimulatedRequest> &requests;
  const SimulationSetup &setup;
  CountingMover mover;
  std::unique_ptr<std::byte[]> swapMemory; ///< never touched: it takes addresses alone
  SequenceMemory memory;
  Scheduler scheduler;

  double now = 0;
  size_t next = 0; ///< request that has not arrived; of an open loop
  std::map<int64_t, std::deque<size_t>> waitingOf; ///< by user; of a closed loop
  std::map<SequenceId, Running> running;
  std::map<int64_t, double> served; ///< by user, while it counts
  bool fairnessCounts = true;
  std::vector<double> shortTtft, longTtft, itl;
  double heldTime = 0, wasteTime = 0, stepTime = 0;
  SimulationResult result;
};

void Simulation::arrive(size_t index, double when) {
  const SimulatedRequest &one = requests[index];
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < one.promptTokens; ++i)
    prompt.push_back(i < one.prefixTokens ? int32_t(one.prefix * 7919 + i)
                                          : int32_t(1'000'000 + index * 131 + size_t(i)));
  SequenceOptions options;
  options.maxNew = one.outputTokens;
  options.priority = one.priority;
  options.user = one.user;
  options.arrival = when;
  running[scheduler.add(prompt, options)] = {index, when, -1, -1, -1, 0};
  served.try_emplace(one.user, 0);
}

double Simulation::nextArrival() const {
  return next < requests.size() ? requests[next].arrival : std::numeric_limits<double>::infinity();
}

void Simulation::arrivals() {
  for (; nextArrival() <= now; ++next)
    arrive(next, requests[next].arrival);
  if (!setup.closed && next == requests.size())
    fairnessCounts = false;
}

void Simulation::end(SequenceId id, const Running &own) {
  const SimulatedRequest &one = requests[own.request];
  ++result.requests;
  result.outputTokens += own.ids;
  double itlMean = own.ids > 1 ? (own.last - own.first) / double(own.ids - 1) : 0;
  bool good = (setup.ttftLimit <= 0 || own.first - own.arrival <= setup.ttftLimit) &&
              (setup.itlLimit <= 0 || itlMean <= setup.itlLimit);
  result.goodput += good;
  running.erase(id);
  scheduler.finish(id);
  if (!setup.closed)
    return;
  std::deque<size_t> &further = waitingOf[one.user];
  if (further.empty()) {
    fairnessCounts = false;
    return;
  }
  arrive(further.front(), now);
  further.pop_front();
}

void Simulation::takeId(SequenceId id) {
  Running &own = running.at(id);
  if (own.first < 0) {
    own.first = now;
    (requests[own.request].isLong ? longTtft : shortTtft).push_back(now - own.arrival);
  } else {
    itl.push_back(now - own.last);
  }
  own.last = now;
  if (++own.ids == requests[own.request].outputTokens)
    end(id, Running(own));
  else
    scheduler.append(id, int32_t(2'000'000 + own.request * 17 + size_t(own.ids)));
}

void Simulation::step(const BatchView &batch) {
  const StepWork work = scheduler.work();
  double seconds = setup.cost.seconds(work);
  double moving = double(std::exchange(mover.moved, uint64_t(0))) / setup.policy.swapBytesPerSecond;
  for (Scheduler::Share share : scheduler.shares()) {
    Running &own = running.at(share.sequence);
    if (own.started < 0) {
      own.started = now;
      result.longestWait = std::max(result.longestWait, now - own.arrival);
    }
    if (fairnessCounts)
      served[requests[own.request].user] += double(share.tokens) * (own.ids > 0 ? 2 : 1);
  }
  now += seconds + moving;
  stepTime += seconds + moving;
  scheduler.complete();
  ScheduleStats stats = scheduler.stats();
  heldTime += double(stats.pagesUsed) * (seconds + moving);
  wasteTime += double(stats.unusedSlots) / double(kPageTokens) * (seconds + moving);
  scheduler.observe(work, seconds);
  std::vector<Scheduler::Row> rows(scheduler.rows().begin(), scheduler.rows().end());
  for (const Scheduler::Row &row : rows)
    takeId(row.sequence);
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
    if (const BatchView *batch = scheduler.plan(now))
      step(*batch);
    else if (next < requests.size())
      now = nextArrival();
    else
      break;
  }
  result.seconds = now;
  if (now > 0) {
    result.requestsPerSecond = double(result.requests) / now;
    result.tokensPerSecond = double(result.outputTokens) / now;
    result.goodput /= now;
  }
  result.shortTtft = percentilesOf(shortTtft);
  result.longTtft = percentilesOf(longTtft);
  shortTtft.insert(shortTtft.end(), longTtft.begin(), longTtft.end());
  result.ttft = percentilesOf(std::move(shortTtft));
  result.itl = percentilesOf(std::move(itl));
  double sum = 0, squares = 0;
  for (auto [user, tokens] : served)
    sum += tokens, squares += tokens * tokens;
  if (squares > 0)
    result.fairness = sum * sum / (double(served.size()) * squares);
  if (heldTime > 0)
    result.waste = wasteTime / heldTime;
  if (stepTime > 0)
    result.poolUse = heldTime / stepTime / double(setup.pages);
  result.stats = scheduler.stats();
  return result;
}

} // namespace

SimulationResult simulate(const std::vector<SimulatedRequest> &requests,
                          const SimulationSetup &setup) {
  return Simulation(requests, setup).run();
}

} // namespace ingot::runtime
