//===- Fleet.h - Many replicas behind a router -----------------------------===//
//
//                                  +--> replica 0   [ Scheduler + SequenceMemory ]
//   clients --> [ Router ] --------+--> replica 1      each with its own clock of steps
//       ^                          +--> ...
//       +------- ids, with the network's and the router's delay
//
// Events on one clock; at one moment steps end first, then requests arrive, then steps begin, as in
// a service (and as in Simulator.h, to the last digit where there is one replica). Replicas may
// fail, and come and go with the load:
//
//   Off --start--> Starting --startSeconds--> Up --> Draining --last request ends--> Off
//                                              |
//                                              +--fails--> Down --restartSeconds--> Up, empty
//
// A replica that fails takes along what it was answering: requests that had got nothing yet are
// sent again, the others have ended in an error.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/simulate/Replica.h"
#include "runtime/schedule/simulate/Router.h"

namespace ingot::runtime {

struct ReplicaFailure {
  int64_t replica = 0;
  double at = 0; ///< seconds
};

/// Looked at every second: as many replicas as make `target` requests each, of all that have not
/// ended; more at once, fewer when fewer would have done for `downSeconds`.
struct FleetScaling {
  int64_t least = 1; ///< and at the start
  double target = 0; ///< 0: all replicas are there all the time
  double startSeconds = 30, downSeconds = 60;
};

struct FleetSetup {
  SimulationSetup replica;
  int64_t replicas = 1; ///< at most
  RouterOptions router;
  double network = 0;       ///< seconds between router and replica, one way
  double routerRequest = 0; ///< seconds that the router works on a request before it sends it
  double routerToken = 0;   ///< and on each id
  std::vector<ReplicaFailure> failures;
  double restartSeconds = 10;
  FleetScaling scaling;
};

/// Of one replica, over all of its lives.
struct ReplicaFigures {
  int64_t requests = 0; ///< sent to it
  double busy = 0;      ///< seconds of steps
  double poolUse = 0;   ///< pages held over pages; mean over the time of its steps
  double mostPoolUse = 0;
  ScheduleStats stats;
};

struct FleetResult {
  SimulationResult whole; ///< stats: sums
  std::vector<ReplicaFigures> replicas;
  int64_t failed = 0;   ///< requests that ended in an error
  int64_t resent = 0;   ///< that had to be sent again, each time
  int64_t mostUp = 0;   ///< replicas at once
  double paid = 0;      ///< replica-seconds, from the start of starting
  double router = 0;    ///< seconds that routers worked
  double imbalance = 1; ///< busy seconds of the busiest replica, over the mean
};

FleetResult simulateFleet(const std::vector<SimulatedRequest> &requests, const FleetSetup &setup);

} // namespace ingot::runtime
