//===- Memory.h - The memory coefficients of an engine --------------------===//
//
// Computes the bytes of a token, a logits row, a KV page, a slot of fixed states and of the engine itself
// from the buffers and states of a program. The writer stores the result and the verifier recomputes it, so the stored
// sizes need not be trusted. All arithmetic is checked.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ingot::runtime {

/// a*b and a+b; nullopt beyond 63 bits.
std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b);
std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b);

/// The shape of a stream within a page.
struct StreamShape {
  uint64_t heads = 0, width = 0;
  std::string_view format; ///< a row of formats/KvFormat.h
};

/// Returns the size in bytes of a page of `pageTokens` positions: heads * pageTokens vectors for each stream. Nullopt
/// if a format is unknown or the sum overflows.
std::optional<uint64_t> pageBytes(std::span<const StreamShape> streams, uint64_t pageTokens);
std::optional<uint64_t> pageBytes(const fb::State &state, uint64_t pageTokens);

/// Returns the size in bytes of a slot of a fixed state (formats/FixedState.h). Nullopt if a stream is empty or not of
/// f32, or the sum overflows.
std::optional<uint64_t> slotBytes(const fb::State &state);

struct MemoryCoefficients {
  uint64_t perToken = 0, perRow = 0, fixed = 0; ///< arena: largest end of a buffer of the class
  uint64_t perPage = 0;                         ///< one page of every paged state
  uint64_t perSlot = 0;                         ///< one slot of every fixed state
};

/// Recomputes the coefficients; nullopt if a sum overflows or a class or type is unknown.
std::optional<MemoryCoefficients> memoryCoefficients(const fb::Program &program);

/// Returns the number of bytes in memory of the weights that are generated from a seed, each rounded up to 64; nullopt
/// if the sum overflows.
std::optional<uint64_t> seedBytes(const fb::Program &program);

/// Returns the number of launches in one step of many tokens in the mode Logits. The entry point's steps must name
/// existing sections that have a specialisation for it.
uint64_t launchesOf(const fb::Entry &entry, const fb::Program &program);

} // namespace ingot::runtime
