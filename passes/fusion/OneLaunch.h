//===- OneLaunch.h - What one launch can compute --------------------------===//
#pragma once

#include "passes/fusion/Regions.h"

#include <optional>
#include <string>

namespace ingot {

/// Why lowering has no single launch for these ops of one block; nullopt if it has one. Ops inside regions of
/// the group count as members of the group. The compiler's own named patterns satisfy this by construction;
/// the check is for regions that users ask for.
std::optional<std::string> whyNotOneLaunch(const OpGroup &group);

} // namespace ingot
