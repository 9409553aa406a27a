//===- Simulator.h - The scheduler under a virtual clock -------------------===//
//
//   requests --> [ Scheduler + SequenceMemory ] --batch--> clock += cost of the batch --> ids, times
//                 the real ones                    (StepCostTable: nothing is computed)
//
// Ids are made up, time is counted, everything else is what a service runs. So policies are
// compared in seconds of work instead of hours, and two runs with one seed give the same figures.
// Fleet.h has many of them behind a router.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/simulate/Replica.h"

namespace ingot::runtime {

/// Every request must fit the pool and the context (SequenceMemory::fits). Rising in arrival; none
/// follows another (SimulatedRequest::follows).
SimulationResult simulate(const std::vector<SimulatedRequest> &requests,
                          const SimulationSetup &setup);

} // namespace ingot::runtime
