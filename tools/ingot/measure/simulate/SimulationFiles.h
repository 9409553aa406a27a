//===- SimulationFiles.h - Input files of `ingot simulate` -----------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schedule/StepCost.h"
#include "runtime/schedule/simulate/Workload.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

/// Parses {"points": [[tokens, seconds], ...], "per_row", "per_position", "per_read": seconds}. The
/// points must rise; the last three keys are optional. `where` names the file. Errors: E0178, exit 3.
Result<runtime::StepCostTable> parseCost(std::string_view json, const std::string &where);

/// Parses one request per line: {"arrival_s", "prompt_tokens", "output_tokens"} and optionally
/// "priority", "user", "prefix_id", "prefix_tokens", and "session", "think_s" (the turns of a
/// conversation, each of which begins with the whole conversation so far). Also accepts the lines
/// of `ingot serve --log json`, of which only answered requests count. Returns the requests sorted
/// by arrival. Errors: E0178, exit 3.
Result<std::vector<runtime::SimulatedRequest>> parseTrace(std::string_view lines,
                                                          const std::string &where);

} // namespace ingot::cli
