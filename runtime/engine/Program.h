//===- Program.h - The programs of an engine -------------------------------===//
//
// An engine holds one program per kind of device (engine.fbs). All of them compute the same model,
// over the same segments. What is asked here is of tables that passed Verify.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

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

/// The launches of a section in a step of that mode: of the first case that holds.
const fb::Case &caseFor(const fb::Section &section, fb::Mode mode);

/// In which of the entry's modes a step runs that case of the section: bit m for mode m.
uint8_t modesOf(const fb::Case &one, const fb::Section &section, const fb::Entry &entry);

/// The segments that hold stored weights of the program, rising.
std::vector<uint32_t> weightSegments(const fb::Program &program);

} // namespace ingot::runtime
