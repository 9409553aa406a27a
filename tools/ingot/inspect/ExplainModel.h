//===- ExplainModel.h - The launches of a model and their fusion decisions ===//
#pragma once

#include "tools/ingot/engines/EngineCache.h"

#include <cstdint>
#include <string>

namespace ingot::cli {

struct ExplainOptions {
  std::string
      model; ///< a checkpoint (its shape is compiled), or an engine (which does not store why ops were not fused)
  CompileOptions compile;
  int64_t positions = 128, tokens = 1;
  int threads = 0; ///< 0: all
  bool json = false, quiet = false;
};

/// Prints the launches of each layer kind in a step (the ops of each, its bytes, and the time that the cost
/// model predicts), what was fused, and what was not and why. Errors: all errors of the compiler; E0147: compile
/// options were given for an engine.
Result<int> explain(const ExplainOptions &options);

} // namespace ingot::cli
