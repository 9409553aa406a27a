//===- Replica.cpp - See Replica.h -----------------------------------------===//
#include "runtime/schedule/simulate/Replica.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ingot::runtime {

namespace {

size_t swapBytes(const SimulationSetup &setup) { return setup.pageBytes ? setup.swapBytes : 0; }

StepCostTable scaledCost(const SimulationSetup &setup) {
  StepCostTable table = setup.cost;
  for (StepCostTable::Point &point : table.points)
    point.seconds *= setup.costFactor;
  table.perRow *= setup.costFactor;
  table.perPosition *= setup.costFactor;
  table.perRead *= setup.costFactor;
  return table;
}

} // namespace

PoolTime &PoolTime::operator+=(const PoolTime &other) {
  held += other.held;
  waste += other.waste;
  steps += other.steps;
  most = std::max(most, other.most);
  return *this;
}

SimulatedReplica::SimulatedReplica(const std::vector<SimulatedRequest> &requests,
                                   const SimulationSetup &setup, Tally &tally, double delay)
    : requests(requests), setup(setup), tally(tally), delay(delay), mover(setup.pageBytes),
      swapMemory(std::make_unique_for_overwrite<std::byte[]>(swapBytes(setup))),
      memory({{{setup.pages, 0}}, setup.rows, setup.context, kPageTokens, setup.context}, &mover,
             {swapMemory.get(), swapBytes(setup)}),
      scheduler(memory, setup.limits, setup.policy, scaledCost(setup)) {}

void SimulatedReplica::add(size_t index, double arrival, double now) {
  const SimulatedRequest &one = requests[index];
  promptOf(requests, index, prompt);
  SequenceOptions options;
  options.maxNew = one.outputTokens;
  options.priority = one.priority;
  options.user = one.user;
  options.arrival = now;
  [[maybe_unused]] const SequenceId id = scheduler.add(prompt, options);
  assert(size_t(id) == running.size() && "ids ascend from 0");
  running.push_back({index, {arrival, -1, -1, -1, 0}, &tally.served(one.user), true});
}

std::optional<double> SimulatedReplica::begin(double now) {
  if (!scheduler.plan(now))
    return {};
  work = scheduler.work();
  computing = setup.cost.seconds(work);
  whole =
      computing + double(std::exchange(mover.moved, uint64_t(0))) / setup.policy.swapBytesPerSecond;
  for (Scheduler::Share share : scheduler.shares()) {
    Running &own = running[size_t(share.sequence)];
    if (own.times.started < 0)
      tally.start(own.times, now);
    if (tally.fairnessCounts)
      *own.served += double(share.tokens) * (own.times.ids > 0 ? 2 : 1);
  }
  return whole;
}

void SimulatedReplica::end(double now, const std::function<void(size_t)> &answered) {
  scheduler.complete();
  time.steps += whole;
  const ScheduleStats stats = scheduler.stats();
  time.held += double(stats.pagesUsed) * whole;
  time.waste += double(stats.unusedSlots) / double(kPageTokens) * whole;
  time.most = std::max(time.most, stats.pagesUsed);
  scheduler.observe(work, computing);
  rows.assign(scheduler.rows().begin(), scheduler.rows().end());
  for (const Scheduler::Row &row : rows)
    takeId(row.sequence, now, answered);
}

void SimulatedReplica::takeId(SequenceId id, double now,
                              const std::function<void(size_t)> &answered) {
  Running &own = running[size_t(id)];
  assert(own.there && "an id after the end");
  const size_t index = own.request;
  const SimulatedRequest &one = requests[index];
  tally.id(one, own.times, now + delay);
  if (own.times.ids < one.outputTokens) {
    scheduler.append(id, answerId(index, own.times.ids));
    return;
  }
  tally.end(own.times);
  own.there = false;
  scheduler.finish(id);
  answered(index);
}

std::vector<SimulatedReplica::Pending> SimulatedReplica::pending() const {
  std::vector<Pending> all;
  for (const Running &one : running)
    if (one.there)
      all.push_back({one.request, one.times});
  return all;
}

} // namespace ingot::runtime
