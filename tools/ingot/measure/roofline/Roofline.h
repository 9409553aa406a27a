//===- Roofline.h - Time of a step per kernel ------------------------------===//
#pragma once

#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/measure/roofline/MachineLimits.h"

namespace ingot::cli {

/// Measured kernels and the target of their code.
struct MeasuredKernels {
  std::string rows; ///< in the format of --json
  std::string target;
  MachineLimits limits;
  std::string busy; ///< busyNote()
};

/// Implements `ingot inspect E --roofline`. Runs the engine (128 decode steps and a prompt of 512 tokens) and prints,
/// for each kernel, the bytes and operations of a step, its predicted and measured time, and its fraction of the limit
/// that binds it (MachineLimits.h). `svg`, if not empty, is the file for a picture of these figures. If `measured` is
/// not null, the results go there and nothing is printed. Errors: all errors of Session::open and submit; E0121: the
/// picture cannot be written.
Result<int> roofline(const std::string &path, const CommonOptions &common,
                     const LimitOptions &given, const std::string &svg,
                     MeasuredKernels *measured = nullptr);

} // namespace ingot::cli
