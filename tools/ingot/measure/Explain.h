//===- Explain.h - Which launches a model has, and why not fewer ------------===//
#pragma once

#include "tools/ingot/EngineCache.h"

#include <cstdint>
#include <string>

namespace ingot::cli {

struct ExplainOptions {
  std::string
      model; ///< a checkpoint, whose shape is compiled, or an engine, which keeps no reasons
  CompileOptions compile;
  int64_t positions = 128, tokens = 1;
  int threads = 0; ///< 0: all
  bool json = false, quiet = false;
};

/// Prints for each layer kind its launches in a step (what is in each, its bytes, and the time that the cost model
/// foretells), what was fused, and what was not and why. Errors: those of the compiler; E0147 an engine with options of
/// a compilation.
Result<int> explain(const ExplainOptions &options);

} // namespace ingot::cli
