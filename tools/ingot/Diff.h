//===- Diff.h - What differs between two engines --------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::cli {

/// Prints it, as text or JSON. 0: they are the same in all that they hold, 1: they are not. Errors: those of opening them.
Result<int> diff(const std::string &first, const std::string &second, bool asJson);

} // namespace ingot::cli
