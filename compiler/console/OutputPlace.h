//===- OutputPlace.h - Where results may be written -----------------------===//
#pragma once

#include "compiler/console/Options.h"

namespace ingot::compiler {

/// Whether -o names a place that can be written and that holds nothing the compilation reads.
/// Asked before any work. Errors: E0390 and E0391 of TemporaryFile.h, E0416 it is an input.
Result<void> checkOutput(const CompileOptions &options);

/// Writes a result that is text: to the file of -o, or to standard output. Errors: E0390 … E0394.
Result<void> writeText(const std::string &text, const std::string &path);

/// Whether the file starts as an engine does.
bool isEngineFile(const std::string &path);

} // namespace ingot::compiler
