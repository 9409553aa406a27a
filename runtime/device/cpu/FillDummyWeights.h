//===- FillDummyWeights.h - Weights generated at load ---------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <cstddef>
#include <span>

namespace ingot::cpu {

/// Fills `memory` (program.seed_bytes() zeroed bytes, 64-byte aligned) with the weights that the
/// program generates from the engine's seed, on `threads` threads. The bytes do not depend on the
/// number of threads. `program` must be verified. E0701 if the system cannot start the threads.
Result<void> fillDummyWeights(const fb::Program &program, uint64_t seed,
                              std::span<std::byte> memory, int threads);

} // namespace ingot::cpu
