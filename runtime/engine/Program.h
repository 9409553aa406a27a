//===- Program.h - The programs of an engine -------------------------------===//
//
// An engine holds one program per kind of device: its table is one itself, further ones are
// in `programs` (engine.fbs). All of them compute the same model, over the same segments.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <vector>

namespace ingot::runtime {

enum class DeviceKind { Cpu, Cuda };

/// What the code of the program is for: its first code object says.
DeviceKind deviceKind(const fb::Engine &program);

/// The table itself, then its `programs`.
std::vector<const fb::Engine *> programsOf(const fb::Engine &engine);

/// The first program of a kind; null if there is none.
const fb::Engine *programFor(const fb::Engine &engine, DeviceKind kind);

/// The segments that hold stored weights of the program, rising.
std::vector<uint32_t> weightSegments(const fb::Engine &program);

} // namespace ingot::runtime
