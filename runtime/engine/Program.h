//===- Program.h - The programs of an engine -------------------------------===//
//
// An engine holds one program per kind of device (engine.fbs). All of them compute the same model,
// over the same segments. What is asked here is of tables that passed Verify.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

enum class DeviceKind { Cpu, Cuda };

/// What the code of the program is for: its first code object says.
DeviceKind deviceKind(const fb::Program &program);

/// The program of a kind; null if there is none.
const fb::Program *programFor(const fb::Engine &engine, DeviceKind kind);

/// The entry that reads tokens and leaves logits or ids, "generate": every program's first.
const fb::Entry &generateEntry(const fb::Program &program);

/// Where results of that role lie; null if the entry leaves none.
const fb::Output *outputOf(const fb::Entry &entry, fb::OutputRole role);

/// May the entry's steps be run in that mode?
bool hasMode(const fb::Entry &entry, fb::Mode mode);

/// What cases ask of a step. A graph's are those that it was made for.
struct StepCounts {
  fb::Mode mode = fb::Mode::Logits;
  uint64_t tokens = UINT64_MAX, rows = UINT64_MAX; ///< from the start: of more than any case bounds
  uint64_t tileTokens = UINT64_MAX;                ///< of the largest attention tile
};

/// Of all sections of a CPU's program that have several.
constexpr uint64_t kMostCpuCases = 63;

/// The launches of a section in such a step: of the first case whose conditions hold.
const fb::Case &caseFor(const fb::Section &section, const StepCounts &counts);

/// The case's conditions: "in the mode Greedy, with at most 8 tokens"; empty if it has none.
std::string conditionText(const fb::Case &one);

/// The segments that hold stored weights of the program, rising.
std::vector<uint32_t> weightSegments(const fb::Program &program);
/// The bytes of those segments.
uint64_t storedWeightBytes(const fb::Engine &engine, const fb::Program &program);

} // namespace ingot::runtime
