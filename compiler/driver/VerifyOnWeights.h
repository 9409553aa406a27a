//===- VerifyOnWeights.h - ingot compile --verify -------------------------===//
#pragma once

#include "compiler/driver/PassChecks.h"

namespace ingot::compiler {

/// Compares the fused program with the imported one on the checkpoint's own numbers and appends what it found. Judged
/// is what the passes make of them as stored (E0491). What rounding them to the formats of `fast` and --quantize costs is the
/// user's choice: it is measured, and returned relative to the largest logit; nothing if no weight is rounded.
Result<std::optional<double>> verifyOnWeights(mlir::ModuleOp imported, mlir::ModuleOp fused,
                                              const import::Checkpoint &checkpoint,
                                              std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
