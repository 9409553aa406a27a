//===- Provenance.h - What an engine says of how it was made --------------===//
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/driver/PassChecks.h"
#include "compiler/import/Checkpoint.h"
#include "dialects/plan/PlanDialect.h"
#include "runtime/schema/engine_generated.h"

namespace ingot::compiler {

/// Writes the table's provenance (the source, every option that changes what is computed, the plan's figures) and its
/// evidence.
void writeOrigin(const CompileOptions &options, const import::Checkpoint &checkpoint, plan::ProgramOp program,
                 const std::vector<PassEvidence> &evidence, fb::EngineT &table);

/// Whether passes at this point of --insert run on what the reference interpreter does not: kernels and plan.
bool isBehindLowering(const std::string &point);

} // namespace ingot::compiler
