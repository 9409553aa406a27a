//===- Provenance.h - Provenance record of an engine ----------------------===//
#pragma once

#include "compiler/driver/checks/PassChecks.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/options/Options.h"
#include "dialects/plan/PlanDialect.h"
#include "runtime/schema/engine_generated.h"

namespace ingot::plan {
class ProgramOp;
}

namespace ingot::compiler {

/// Writes the engine's provenance (the source and every option that changes the computation) and its
/// evidence.
void writeOrigin(const CompileOptions &options, const import::Checkpoint &checkpoint,
                 const std::vector<PassEvidence> &evidence, bool planUnchecked, fb::EngineT &table);

/// Writes the provenance of one program: the types of its KV caches and the figures of its plan. If the program has no
/// KV cache, the type is `kv`.
void writeOriginOfProgram(const std::string &kv, plan::ProgramOp program, fb::ProgramT &table);

/// Returns whether passes at this point of --insert run on kernels and the plan, which the plan interpreter checks.
bool isBehindLowering(const std::string &point);

} // namespace ingot::compiler
