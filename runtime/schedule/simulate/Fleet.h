//===- Fleet.h - Many replicas behind a router -----------------------------===//
//
//                                  +--> replica 0   [ Scheduler + SequenceMemory ]
//   clients --> [ Router ] --------+--> replica 1      each with its own clock of steps
//       ^                          +--> ...
//       +------- ids, with the delays of the network and the router
//
// There is one clock for all events. At equal times steps end first, then requests arrive, then steps begin, as
// in a service. With one replica, the results equal those of Simulator.h to the last digit. Replicas may fail, and
// scale up and down with the load:
//
//   Off --start--> Starting --startSeconds--> Up --> Draining --last request ends--> Off
//                                              |
//                                              +--fails--> Down --restartSeconds--> Up, empty
//
// When a replica fails, its requests that have no output yet are sent again. Its other requests end in an error.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/simulate/Replica.h"
#include "runtime/schedule/simulate/Router.h"

namespace ingot::runtime {

struct ReplicaFailure {
  int64_t replica = 0;
  double at = 0; ///< seconds
};

/// Describes how the number of replicas follows the load. Every second, the wanted number is set so that each replica
/// has `target` unfinished requests. Scaling up is immediate. Scaling down happens when fewer replicas would have
/// sufficed for `downSeconds`.
struct FleetScaling {
  int64_t least = 1; ///< minimum number of replicas, also at the start
  double target = 0; ///< 0: all replicas run all the time
  double startSeconds = 30, downSeconds = 60;
};

struct FleetSetup {
  SimulationSetup replica;
  int64_t replicas = 1; ///< maximum number of replicas
  RouterOptions router;
  double network = 0;       ///< seconds between router and replica, one way
  double routerRequest = 0; ///< seconds of router work per request before it is sent
  double routerToken = 0;   ///< seconds of router work per token
  std::vector<ReplicaFailure> failures;
  double restartSeconds = 10;
  FleetScaling scaling;
};

/// Figures of one replica, over all of its lives.
struct ReplicaFigures {
  int64_t requests = 0; ///< requests sent to it
  double busy = 0;      ///< seconds spent in steps
  double poolUse = 0;   ///< pages held / all pages; mean over the time of its steps
  double mostPoolUse = 0;
  ScheduleStats stats;
};

struct FleetResult {
  SimulationResult whole; ///< results of the whole fleet; `stats` are sums
  std::vector<ReplicaFigures> replicas;
  int64_t failed = 0;   ///< requests that ended in an error
  int64_t resent = 0;   ///< number of times that requests had to be sent again
  int64_t mostUp = 0;   ///< maximum number of replicas that were up at once
  double paid = 0;      ///< replica-seconds, including the time that replicas take to start
  double router = 0;    ///< seconds of router work
  double imbalance = 1; ///< busy seconds of the busiest replica / the mean
};

FleetResult simulateFleet(const std::vector<SimulatedRequest> &requests, const FleetSetup &setup);

} // namespace ingot::runtime
