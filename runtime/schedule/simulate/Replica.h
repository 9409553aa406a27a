//===- Replica.h - One service under somebody else's clock -----------------===//
//
//   add() --> [ Scheduler + SequenceMemory ] --begin(now)--> seconds of the step
//               the real ones                --end(now)----> ids, requests that are answered
//
// Whoever owns the clock says when a step begins and ends: a loop where there is one replica
// (Simulator.h), events where there are many (Fleet.h).
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
  StepCostTable cost;     ///< what the clock goes by, and what the scheduler is told
  double toldCost = 1;    ///< factor of what it is told: it has to find out
  uint64_t pageBytes = 0; ///< of a KV page, for swaps
  uint64_t swapBytes = 0;
  bool closed = false;  ///< a request of a user arrives when the one before was answered
  double ttftLimit = 0; ///< seconds; goodput counts requests within both limits; 0: none
  double itlLimit = 0;  ///< of a request's mean time between ids
};

/// Sums over time, of which means are made.
struct PoolTime {
  double held = 0, waste = 0; ///< pages times seconds
  double steps = 0;           ///< seconds
  int64_t most = 0;           ///< pages held at once

  PoolTime &operator+=(const PoolTime &other);
};

class SimulatedReplica {
public:
  /// What is given lives longer. `delay`: seconds that an id takes to its client.
  SimulatedReplica(const std::vector<SimulatedRequest> &requests, const SimulationSetup &setup,
                   Tally &tally, double delay = 0);

  /// Now; its client asked at `arrival`.
  void add(size_t request, double arrival, double now);
  /// The step that begins now: its seconds; nothing: there is none.
  std::optional<double> begin(double now);
  /// It ends now. `answered` may add().
  void end(double now, const std::function<void(size_t request)> &answered);

  /// A request that is here: whether its client has got something.
  struct Pending {
    size_t request;
    RequestTimes times;
  };
  std::vector<Pending> pending() const;

  ScheduleStats stats() const { return scheduler.stats(); }
  const PoolTime &poolTime() const { return time; }

private:
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
  struct Running {
    size_t request;
    RequestTimes times;
    double *served; ///< of its user
    bool there = true;
  };

  void takeId(SequenceId id, double now, const std::function<void(size_t)> &answered);

  const std::vector<SimulatedRequest> &requests;
  const SimulationSetup &setup;
  Tally &tally;
  double delay;
  CountingMover mover;
  std::unique_ptr<std::byte[]> swapMemory; ///< never touched: it takes addresses alone
  SequenceMemory memory;
  Scheduler scheduler;

  std::vector<Running> running; ///< by SequenceId, which rise from 0
  StepWork work;                ///< of the step under way
  double computing = 0, whole = 0;
  std::vector<Scheduler::Row> rows;
  std::vector<int32_t> prompt;
  PoolTime time;
};

} // namespace ingot::runtime
