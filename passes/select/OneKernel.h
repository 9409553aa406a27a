//===- OneKernel.h - Which ops one kernel can compute ----------------------===//
//
// The selection of kernels follows these rules, and so do the fusions that users request (passes/patterns).
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/fusion/Regions.h"

#include <optional>
#include <string>

namespace ingot {

/// Why one kernel.matmul cannot compute these ops, which include a projection; nullopt if it can. `results` is the
/// number of results. The kernel computes either projections of one input, with one result each, or one or two
/// projections followed by elementwise ops, with one result in all.
std::optional<std::string> whyNotOneMatmul(llvm::ArrayRef<mlir::Operation *> ops, unsigned results);
/// Why one kernel.rowwise cannot compute these ops; nullopt if it can. The kernel computes elementwise ops and norms of
/// whole rows of one width, after an optional selection of rows or dispatch of rows to experts.
std::optional<std::string> whyNotRowwise(llvm::ArrayRef<mlir::Operation *> ops);

/// Why no kernel computes these ops of one block; nullopt if one does. Ops inside regions of the group count as
/// members of the group.
std::optional<std::string> whyNotOneKernel(const OpGroup &group);

} // namespace ingot
