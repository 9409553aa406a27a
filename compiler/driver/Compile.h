//===- Compile.h - From a checkpoint to an engine, phase by phase ---------===//
#pragma once

#include "compiler/console/Options.h"

namespace ingot::compiler {

/// Compiles as told; prints progress on stderr and results on stdout. An existing output stays whole
/// unless everything succeeded.
Result<void> compile(const CompileOptions &options);

/// The names of the passes of all pipelines, in order; registered before.
std::vector<std::string> pipelinePasses();

} // namespace ingot::compiler
