//===- RooflineSvg.h - The roofline as one picture ------------------------===//
#pragma once

#include "tools/ingot/measure/MachineLimits.h"

#include <string>
#include <vector>

namespace ingot::cli {

/// A kernel in one phase.
struct RooflinePoint {
  std::string kernel;
  bool prompt;       ///< else decode
  double operations; ///< of a step
  double bytes, seconds;
};

/// Operations per byte against operations per second, both logarithmic; the roofs of `limits`, a
/// point and its label for each kernel and phase that multiplies. Self-contained, in light and
/// dark.
std::string rooflineSvg(const std::vector<RooflinePoint> &points, const MachineLimits &limits,
                        const std::string &title);

} // namespace ingot::cli
