//===- Replica.h - One service on an external clock ------------------------===//
//
//   add() --> [ Scheduler + SequenceMemory ] --begin(now)--> seconds of the step
//               the real ones                --end(now)----> ids, answered requests
//
// The owner of the clock calls begin() and end() for each step. With one replica, that is a loop (Simulator.h);
// with many, the events of a fleet (Fleet.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/Scheduler.h"
#include "runtime/schedule/simulate/Tally.h"
#include "runtime/schedule/simulate/Workload.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace ingot::runtime {

struct SimulationSetup {
  int64_t pages = 0, rows = 32, context = 4096;
  ScheduleLimits limits{512, 32, 512};
  SchedulePolicy policy;
  StepCostTable cost;     ///< costs that drive the clock
  double costFactor = 1;  ///< the scheduler gets `cost` times this factor, and must learn the true
                          ///< costs
  uint64_t pageBytes = 0; ///< bytes of a KV page, for swaps
  uint64_t swapBytes = 0;
  bool closed = false;  ///< each user's next request arrives when the previous one is answered
  double ttftLimit = 0; ///< seconds; goodput counts requests within both limits; 0: no limit
  double itlLimit = 0;  ///< limit on a request's mean time between tokens
};

/// Integrals over time, from which means are computed.
struct PoolTime {
  double held = 0, waste = 0; ///< pages times seconds
  double steps = 0;           ///< seconds
  int64_t most = 0;           ///< maximum number of pages held at once

  PoolTime &operator+=(const PoolTime &other);
};

class SimulatedReplica {
public:
  /// The arguments must outlive this object. `delay`: seconds that a token takes to reach its client.
  SimulatedReplica(const std::vector<SimulatedRequest> &requests, const SimulationSetup &setup,
                   Tally &tally, double delay = 0);

  /// Adds a request at time `now`. Its client sent it at `arrival`.
  void add(size_t request, double arrival, double now);
  /// Starts a step at `now` and returns its seconds; nullopt if there is no work.
  std::optional<double> begin(double now);
  /// Ends the step at `now`. `answered` may call add().
  void end(double now, const std::function<void(size_t request)> &answered);

  /// An unfinished request and its times so far.
  struct Pending {
    size_t request;
    RequestTimes times;
  };
  std::vector<Pending> pending() const;

  ScheduleStats stats() const { return scheduler.stats(); }
  const PoolTime &poolTime() const { return time; }

private:
  /// Simulated pages have no contents, but moving them takes time.
  class CountingMover final : public PageMover {
  public:
    explicit CountingMover(uint64_t bytes) : bytes(bytes) {}
    uint64_t pageBytes(size_t) const override { return bytes; }
    void copy(size_t, int32_t, int32_t) override { moved += bytes; }
    void save(size_t, int32_t, std::byte *) override { moved += bytes; }
    void load(size_t, const std::byte *, int32_t) override { moved += bytes; }

    uint64_t bytes, moved = 0;
  };
  struct Running {
    size_t request;
    RequestTimes times;
    double *served; ///< the service that its user has received (Tally::served)
    bool there = true;
  };

  void takeId(SequenceId id, double now, const std::function<void(size_t)> &answered);

  const std::vector<SimulatedRequest> &requests;
  const SimulationSetup &setup;
  Tally &tally;
  double delay;
  CountingMover mover;
  std::unique_ptr<std::byte[]> swapMemory; ///< never touched, so it uses only address space
  SequenceMemory memory;
  Scheduler scheduler;

  std::vector<Running> running; ///< indexed by SequenceId; ids ascend from 0
  StepWork work;                ///< work of the current step
  double computing = 0, whole = 0;
  std::vector<Scheduler::Row> rows;
  std::vector<int32_t> prompt;
  PoolTime time;
};

} // namespace ingot::runtime
