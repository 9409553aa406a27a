//===- OutputPlace.h - Checks and writes the output -----------------------===//
#pragma once

#include "compiler/options/Options.h"

namespace ingot::compiler {

/// Checks, before any work, that -o names a writable place that is not an input of the compilation.
/// Errors: E0390 and E0391 of TemporaryFile.h; E0416: it is an input.
Result<void> checkOutput(const CompileOptions &options);

/// Writes a text result to the file of -o, or to standard output. Errors: E0390 … E0394.
Result<void> writeText(const std::string &text, const std::string &path);

/// Returns whether the file starts as an engine does.
bool isEngineFile(const std::string &path);

} // namespace ingot::compiler
