//===- BenchKernels.h - Benchmark of single kernels of an engine ------------===//
#pragma once

#include "tools/ingot/engines/EngineOptions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

struct BenchKernelsOptions {
  EngineOptions engine;
  std::vector<int64_t> tokens, contexts; ///< empty: the device's defaults
  std::vector<std::string> kernels;      ///< only these; empty: all, and whole steps
  int64_t decodeUpTo = 256;              ///< tokens; larger steps are prompts
  int repeats = 20;
  std::string edges = "both", format = "md";
};

/// Prints a line for each kernel and step as soon as it is measured (docs/command-line.md, "Bench of
/// kernels"). Errors: E0138: no step fits; E0139: no such kernel; all errors of the session.
Result<int> benchKernels(const BenchKernelsOptions &options);

} // namespace ingot::cli
