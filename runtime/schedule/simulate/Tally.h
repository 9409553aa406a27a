//===- Tally.h - Metrics seen by clients of a simulation -------------------===//
//
// A simulation has one Tally, whatever the number of replicas.
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
  int64_t requests = 0, outputTokens = 0; ///< answered requests, and their tokens
  double seconds = 0;
  double requestsPerSecond = 0, tokensPerSecond = 0;
  int64_t good = 0;      ///< requests within the limits
  double goodput = 0;    ///< requests within the limits per second
  Percentiles ttft, itl; ///< seconds; ITL over all pairs of tokens
  Percentiles tpot, e2e; ///< of each request: mean time between tokens, arrival to last token
  Percentiles shortTtft, longTtft; ///< by request class (SimulatedRequest::isLong)
  double longestWait = 0;          ///< seconds from arrival to the first step
  /// Jain's index over the service that users received (prompt tokens plus twice the new tokens) until the last arrival
  /// or, in a closed loop, until the first user has no requests left. 1: all users received the same.
  double fairness = 1;
  double waste = 0;   ///< empty positions in held pages / all positions in them; mean over time
  double poolUse = 0; ///< pages held / all pages; mean over time
  ScheduleStats stats;
};

/// The times of events of a request, as seen by its client; -1: not yet.
struct RequestTimes {
  double arrival = 0, started = -1, first = -1, last = -1;
  int64_t ids = 0;
};

class Tally {
public:
  Tally(double ttftLimit, double itlLimit) : ttftLimit(ttftLimit), itlLimit(itlLimit) {}

  /// Returns the service that the user has received so far. The reference stays valid.
  double &served(int64_t user) { return servedOf.try_emplace(user, 0).first->second; }
  bool fairnessCounts = true;

  void start(RequestTimes &own, double now);
  void id(const SimulatedRequest &request, RequestTimes &own, double now);
  void end(const RequestTimes &own);

  /// Returns all results except `waste`, `poolUse` and `stats`, which are figures of the replicas.
  SimulationResult result(double seconds);

private:
  double ttftLimit, itlLimit;
  std::map<int64_t, double> servedOf;
  std::vector<double> shortTtft, longTtft, itl, tpot, e2e;
  SimulationResult sums;
};

} // namespace ingot::runtime
