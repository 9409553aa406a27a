//===- RegionShape.h - Whether a target has a launch for a region -----------===//
#pragma once

#include "passes/Target.h"
#include "passes/fusion/Regions.h"

namespace ingot {

/// Why the target has no launch that computes these ops, in its own words or those of lowering; "": it has one. The ops
/// are fused and lowered aside, in a copy of their function, and nothing of them changes. `fp8Rows` as PipelineOptions
/// has it. The group is convex.
std::string refusalOf(const OpGroup &group, const Target &target, bool exact, bool fp8Rows);

} // namespace ingot
