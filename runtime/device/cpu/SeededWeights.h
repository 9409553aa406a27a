//===- SeededWeights.h - Weights made at load -----------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <cstddef>
#include <span>

namespace ingot::cpu {

/// Fills `memory` (engine.seed_bytes() zeroed bytes, 64-byte aligned) with the weights that the
/// engine wants made from its seed, on `threads` threads. The bytes do not depend on how many there
/// are. `engine` was verified. E0701 if the system gives no threads.
Result<void> fillSeededWeights(const fb::Engine &engine, std::span<std::byte> memory, int threads);

} // namespace ingot::cpu
