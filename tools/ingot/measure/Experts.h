//===- Experts.h - How a text spreads over experts ---------------------------===//
#pragma once

#include "tools/ingot/EngineOptions.h"

namespace ingot::cli {

/// Reads the text (ids with commas between them, where the engine has no tokenizer) and prints how many of its tokens
/// each layer sent to each of its experts. E0567: its layers have none.
Result<int> experts(const std::string &path, const std::string &text, const CommonOptions &common,
                    const LimitOptions &limits);

} // namespace ingot::cli
