//===- Roofline.h - Where the time of a step goes --------------------------===//
#pragma once

#include "tools/ingot/EngineOptions.h"

namespace ingot::cli {

/// `ingot inspect E --roofline`: runs the engine (128 decode steps, and prompts of 512 ids)
/// and prints for each kernel its launches, the weights it reads in a step, its measured
/// time and the rate that makes. Errors: those of Session::open and submit.
Result<int> roofline(const std::string &path, const CommonOptions &common, const LimitOptions &limits);

} // namespace ingot::cli
