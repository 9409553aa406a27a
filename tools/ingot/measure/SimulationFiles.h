//===- SimulationFiles.h - What `ingot simulate` reads ---------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schedule/StepCost.h"
#include "runtime/schedule/simulate/Workload.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

/// {"points": [[tokens, seconds], ...] rising, "per_row", "per_position", "per_read": seconds}, the
/// last three may be left out. E0142, exit 3; `where` names the file.
Result<runtime::StepCostTable> parseCost(std::string_view json, const std::string &where);

/// A line per request: {"arrival_s", "prompt_tokens", "output_tokens"}, and where wanted
/// "priority", "user", "prefix_id", "prefix_tokens", and "session", "think_s" (turns of a
/// conversation, which begin with all that was said before). Or the lines of `ingot serve --log
/// json`, of which those count that were answered. Sorted by arrival here. E0142, exit 3.
Result<std::vector<runtime::SimulatedRequest>> parseTrace(std::string_view lines,
                                                          const std::string &where);

} // namespace ingot::cli
