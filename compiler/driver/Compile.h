//===- Compile.h - From a checkpoint to an engine, phase by phase ---------===//
#pragma once

#include "compiler/options/Options.h"

namespace ingot::compiler {

/// Compiles with the given options. Prints progress on stderr and results on stdout. An existing
/// output stays unchanged unless everything succeeds.
Result<void> compile(const CompileOptions &options);

/// Returns the names of the passes of all pipelines, in order. The passes must be registered.
std::vector<std::string> pipelinePasses();

} // namespace ingot::compiler
