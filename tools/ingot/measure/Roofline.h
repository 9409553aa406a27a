//===- Roofline.h - Where the time of a step goes --------------------------===//
#pragma once

#include "tools/ingot/EngineOptions.h"
#include "tools/ingot/measure/MachineLimits.h"

namespace ingot::cli {

/// What was measured, and of which code.
struct MeasuredKernels {
  std::string rows; ///< as --json prints them
  std::string target;
  MachineLimits limits;
  std::string busy; ///< busyNote()
};

/// `ingot inspect E --roofline`: runs the engine (128 decode steps, and a prompt of 512 ids)
/// and prints for each kernel the bytes and operations of a step, its predicted and its measured
/// time, and its share of the limit that binds it (MachineLimits.h). `svg`, if not empty, is the
/// file of the same as a picture. With `measured` nothing is printed: that gets it. Errors: those of Session::open and submit; E0121 the picture.
Result<int> roofline(const std::string &path, const CommonOptions &common,
                     const LimitOptions &given, const std::string &svg,
                     MeasuredKernels *measured = nullptr);

} // namespace ingot::cli
