//===- Simulator.h - The scheduler under a virtual clock -------------------===//
//
//   requests --> [ Scheduler + SequenceMemory ] --batch--> clock += cost of the batch --> ids, times
//                 the real ones                    (StepCostTable: nothing is computed)
//
// Ids are made up, time is counted, everything else is what a service runs. So policies are
// compared in seconds of work instead of hours, and two runs with one seed give the same figures.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/Scheduler.h"
#include "runtime/schedule/simulate/Workload.h"

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

struct Percentiles {
  double p50 = 0, p90 = 0, p99 = 0, most = 0;
};

struct SimulationResult {
  int64_t requests = 0, outputTokens = 0;
  double seconds = 0;
  double requestsPerSecond = 0, tokensPerSecond = 0;
  double goodput = 0;              ///< requests per second within the limits
  Percentiles ttft, itl;           ///< seconds; ITL over all pairs of ids
  Percentiles shortTtft, longTtft; ///< of the two classes (SimulatedRequest::isLong)
  double longestWait = 0;          ///< seconds from arrival to the first step
  /// Jain's index over what users got (prompt tokens and twice the ids) until the last arrival; of
  /// a closed loop, until the first user has no request left. 1: all alike.
  double fairness = 1;
  double waste = 0;   ///< slots of held pages that hold nothing, over slots held; mean over time
  double poolUse = 0; ///< pages held over pages; mean over time
  ScheduleStats stats;
};

/// Every request must fit the pool and the context (SequenceMemory::fits). Rising in arrival.
SimulationResult simulate(const std::vector<SimulatedRequest> &requests,
                          const SimulationSetup &setup);

} // namespace ingot::runtime
