//===- Memory.h - The memory coefficients of an engine --------------------===//
//
// What a token, a logits row, a KV page and the engine as such cost, computed from
// the buffers and KV slots of the table. The writer stores the result, the
// verifier recomputes it, so neither is trusted. All arithmetic is checked.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <cstdint>
#include <optional>

namespace ingot::runtime {

/// a*b and a+b, or nothing beyond 63 bits.
std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b);
std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b);

/// Bytes of one element of a KV pool; 0 for a type that does not exist.
uint64_t elementBytes(fb::ElementType type);

/// Of the scale that a KV pool has for each vector (one head, one position; of k and of v); 0 for
/// types without.
uint64_t kvScaleBytes(fb::ElementType type);

/// 2 * kv_heads * page_tokens * (head_dim * sizeof(type) + bytes of the scale).
std::optional<uint64_t> kvPageBytes(uint64_t kvHeads, uint64_t headDim, uint64_t pageTokens,
                                    fb::ElementType type);

struct MemoryCoefficients {
  uint64_t perToken = 0, perRow = 0, fixed = 0; ///< arena: highest end of a buffer of the class
  uint64_t perPage = 0;                         ///< one page of every KV slot
};

/// Recomputed; nothing if a sum overflows or a class or type is unknown.
std::optional<MemoryCoefficients> memoryCoefficients(const fb::Engine &engine);

/// Bytes in memory of the weights that are made from a seed, each rounded up to 64; nothing if
/// the sum overflows.
std::optional<uint64_t> seedBytes(const fb::Engine &engine);

/// Launches of one step of the whole program. `steps` must name existing sections.
uint64_t launchesPerStep(const fb::Engine &engine);

} // namespace ingot::runtime
