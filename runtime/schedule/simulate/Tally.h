//===- Tally.h - What clients saw of a simulation --------------------------===//
//
// One for a whole simulation, however many replicas answer.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/ScheduleStats.h"
#include "runtime/schedule/simulate/Workload.h"

#include <map>
#include <vector>

namespace ingot::runtime {

struct Percentiles {
  double p50 = 0, p90 = 0, p99 = 0, most = 0;
  double mean = 0;
};

struct SimulationResult {
  int64_t requests = 0, outputTokens = 0; ///< of those that were answered
  double seconds = 0;
  double requestsPerSecond = 0, tokensPerSecond = 0;
  int64_t good = 0;                ///< requests within the limits
  double goodput = 0;              ///< of them, per second
  Percentiles ttft, itl;           ///< seconds; ITL over all pairs of ids
  Percentiles tpot, e2e;           ///< of requests: mean time between ids, arrival to last id
  Percentiles shortTtft, longTtft; ///< of the two classes (SimulatedRequest::isLong)
  double longestWait = 0;          ///< seconds from arrival to the first step
  /// Jain's index over what users got (prompt tokens and twice the ids) until the last arrival; of
  /// a closed loop, until the first user has no request left. 1: all alike.
  double fairness = 1;
  double waste = 0;   ///< slots of held pages that hold nothing, over slots held; mean over time
  double poolUse = 0; ///< pages held over pages; mean over time
  ScheduleStats stats;
};

/// When what happened to a request, as its client saw it; -1: not yet.
struct RequestTimes {
  double arrival = 0, started = -1, first = -1, last = -1;
  int64_t ids = 0;
};

class Tally {
public:
  Tally(double ttftLimit, double itlLimit) : ttftLimit(ttftLimit), itlLimit(itlLimit) {}

  /// What the user has got so far; stays where it is.
  double &served(int64_t user) { return servedOf.try_emplace(user, 0).first->second; }
  bool fairnessCounts = true;

  void start(RequestTimes &own, double now);
  void id(const SimulatedRequest &request, RequestTimes &own, double now);
  void end(const RequestTimes &own);

  /// All but what replicas know: waste, poolUse, stats.
  SimulationResult result(double seconds);

private:
  double ttftLimit, itlLimit;
  std::map<int64_t, double> servedOf;
  std::vector<double> shortTtft, longTtft, itl, tpot, e2e;
  SimulationResult sums;
};

} // namespace ingot::runtime
