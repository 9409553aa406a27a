//===- Diff.h - Differences between two engines ---------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::cli {

/// Prints the differences, as text or JSON. Returns 0 if the engines have the same contents and 1 if not.
/// Errors: all errors of opening an engine.
Result<int> diff(const std::string &first, const std::string &second, bool asJson);

} // namespace ingot::cli
