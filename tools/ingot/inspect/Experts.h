//===- Experts.h - Distribution of a text over experts -----------------------===//
#pragma once

#include "tools/ingot/engines/EngineOptions.h"

namespace ingot::cli {

/// Runs the text (ids separated by commas if the engine has no tokenizer) and prints how many of its tokens
/// each layer sent to each of its experts. Errors: E0567: the layers have no experts.
Result<int> experts(const std::string &path, const std::string &text, const CommonOptions &common,
                    const LimitOptions &limits);

} // namespace ingot::cli
