//===- ParseOptions.h - The command line of `ingot compile` ---------------===//
#pragma once

#include "compiler/options/Options.h"

namespace ingot::compiler {

/// Parses the arguments after `ingot compile`. Returns nullopt if help was printed.
Result<std::optional<CompileOptions>> parseCompileOptions(int argc, const char *const *argv);

} // namespace ingot::compiler
