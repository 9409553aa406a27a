//===- OutputPlace.h - Where an engine may be written ---------------------===//
#pragma once

#include "compiler/driver/Options.h"

namespace ingot::compiler {

/// Whether -o names a place that can be written and that holds nothing the compilation reads.
/// Asked before any work. Errors: E0390 and E0391 of TemporaryFile.h, E0416 it is an input.
Result<void> checkOutput(const CompileOptions &options);

/// Whether the file starts as an engine does.
bool isEngineFile(const std::string &path);

} // namespace ingot::compiler
