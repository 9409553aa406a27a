//===- RooflineSvg.h - The roofline as one picture ------------------------===//
#pragma once

#include "tools/ingot/measure/roofline/MachineLimits.h"

#include <string>
#include <vector>

namespace ingot::cli {

/// A kernel in one phase.
struct RooflinePoint {
  std::string kernel;
  bool prompt;       ///< false: decode
  double operations; ///< per step
  double bytes, seconds;
};

/// Draws operations per second over operations per byte, both logarithmic, with the roofs of
/// `limits` and a labelled point for each kernel and phase that multiplies. The SVG is
/// self-contained and supports light and dark themes.
std::string rooflineSvg(const std::vector<RooflinePoint> &points, const MachineLimits &limits,
                        const std::string &title);

} // namespace ingot::cli
