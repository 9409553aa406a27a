//===- VerifyOnWeights.h - ingot compile --verify -------------------------===//
#pragma once

#include "compiler/driver/PlanChecks.h"

namespace ingot::compiler {

/// Compares the fused program with the imported one on the checkpoint's own numbers and appends what it found. Judged
/// is what the passes make of them as stored (E0491). What rounding them to the formats of `fast` and --quantize costs is the
/// user's choice: it is measured, and returned relative to the largest logit; nothing if no weight is rounded.
/// Where they are judged wrong the passes run again from what was imported, by `again`, and the first behind which the
/// numbers are others is named, with two files; E0432 if it is one of `users`.
Result<std::optional<double>> verifyOnWeights(mlir::ModuleOp imported, mlir::ModuleOp fused,
                                              const import::Checkpoint &checkpoint,
                                              const llvm::StringSet<> &users, RunAgain again,
                                              std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
