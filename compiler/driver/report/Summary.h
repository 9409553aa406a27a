//===- Summary.h - Summary of a finished compilation -----------------------===//
#pragma once

#include "compiler/driver/report/Progress.h"
#include "compiler/options/Options.h"

namespace ingot::compiler {

/// Opens the finished engine and prints the total time, the text data and the memory plan on stderr. With
/// --json, prints these on stdout, with the size of the engine and the time of each phase.
Result<void> printSummary(const CompileOptions &options,
                          const std::vector<Progress::Phase> &phases);

} // namespace ingot::compiler
