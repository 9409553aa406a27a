//===- Summary.h - What was made, where time went, what memory it needs ----===//
#pragma once

#include "compiler/console/Options.h"
#include "compiler/console/Progress.h"

namespace ingot::compiler {

/// Opens the finished engine and prints its memory statement on stderr (JSON on stdout with --json).
Result<void> printSummary(const CompileOptions &options,
                          const std::vector<Progress::Phase> &phases);

} // namespace ingot::compiler
