//===- OneLaunch.h - What one launch can compute --------------------------===//
#pragma once

#include "passes/fusion/Regions.h"

#include <optional>
#include <string>

namespace ingot {

/// Why lowering has no launch for these ops of one block; none: it has one. Ops of regions among them count as theirs.
/// Named patterns of the compiler's own keep to it by their shape; it is for regions that users ask for.
std::optional<std::string> whyNotOneLaunch(const OpGroup &group);

} // namespace ingot
