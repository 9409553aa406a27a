//===- TargetQuery.h - Whether a target has a kernel for a region -----------===//
#pragma once

#include "passes/Target.h"
#include "passes/fusion/Regions.h"

namespace ingot {

/// Why the target has no kernel that computes these ops, as reported by the target or by the selection; "" if it
/// has one. The ops are fused and selected in a copy of their function, so the originals do not change.
/// `fp8Rows` is as in PipelineOptions. The group must be convex.
std::string refusalOf(const OpGroup &group, const Target &target, bool exact, bool fp8Rows);

} // namespace ingot
