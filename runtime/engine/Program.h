//===- Program.h - The programs of an engine -------------------------------===//
//
// An engine holds one program per kind of device (engine.fbs). All of them implement the same
// model, on the same segments. These functions expect tables that passed Verify.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/DeviceKind.h"
#include "runtime/schema/engine_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Returns the device kind that the program's code is for, according to its first code object.
DeviceKind deviceKind(const fb::Program &program);

/// Returns the program for a kind of device; null if there is none.
const fb::Program *programFor(const fb::Engine &engine, DeviceKind kind);

/// Returns the entry point that reads tokens and yields logits or next tokens, "generate": the first one of every
/// program.
const fb::Entry &generateEntry(const fb::Program &program);

/// Returns the output with that role; null if the entry point has none.
const fb::Output *outputOf(const fb::Entry &entry, fb::OutputRole role);

/// Returns whether the entry point's steps can run in that mode.
bool hasMode(const fb::Entry &entry, fb::Mode mode);

/// Returns the index of the weight that an argument of kind Weight or LayerWeight names in a step.
uint32_t weightIndex(const fb::Arg &arg, const fb::Step &step);

/// The properties of a step that conditions of specialisations test. A graph is built for one set of
/// these properties.
struct StepCounts {
  fb::Mode mode = fb::Mode::Logits;
  uint64_t tokens = UINT64_MAX, rows = UINT64_MAX; ///< initially larger than any bound
  uint64_t tileTokens = UINT64_MAX;                ///< of the largest attention tile
};

/// Maximum number of specialisations in a CPU program, summed over all sections that have several.
constexpr uint64_t kMostCpuCases = 63;

/// Returns the launches of a section in a step with `counts`: the first specialisation for which all conditions hold.
const fb::Case &caseFor(const fb::Section &section, const StepCounts &counts);

/// Returns the specialisation's conditions: "in the mode Greedy, with at most 8 tokens"; empty if it has
/// none.
std::string conditionText(const fb::Case &one);

/// Returns the segments that hold stored weights of the program, in increasing order.
std::vector<uint32_t> weightSegments(const fb::Program &program);
/// Returns the size in bytes of those segments.
uint64_t storedWeightBytes(const fb::Engine &engine, const fb::Program &program);

} // namespace ingot::runtime
