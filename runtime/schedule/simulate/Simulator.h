//===- Simulator.h - The scheduler on a virtual clock ----------------------===//
//
//   requests --> [ Scheduler + SequenceMemory ] --batch--> clock += cost of the batch --> ids, times
//                 the real ones                    (StepCostTable: nothing is computed)
//
// Tokens are generated and time is simulated. Everything else is the code of a real service. Policies can thus be
// compared in seconds instead of hours, and two runs with one seed give the same figures. Fleet.h runs many
// replicas behind a router.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/simulate/Replica.h"

namespace ingot::runtime {

/// Simulates requests on one replica. Every request must fit the pool and the context (SequenceMemory::fits).
/// Requests are in ascending order of arrival, and none follows another (SimulatedRequest::follows).
SimulationResult simulate(const std::vector<SimulatedRequest> &requests,
                          const SimulationSetup &setup);

} // namespace ingot::runtime
