//===- VerifyOnWeights.h - ingot compile --verify -------------------------===//
#pragma once

#include "compiler/driver/checks/PlanChecks.h"

namespace ingot::compiler {

/// Compares the fused program with the imported one on the checkpoint's own weights and appends the evidence.
/// The passes are judged with the weights as stored (E0491). Rounding the weights to the formats of `fast`
/// and --quantize is the user's choice: its cost is measured and returned relative to the largest logit;
/// nothing if no weight is rounded. If the passes are judged wrong, `again` runs them once more on the
/// imported model; the error names the first pass after which the values differ, with two files. Errors:
/// E0432 if that pass is one of `users`.
Result<std::optional<double>> verifyOnWeights(mlir::ModuleOp imported, mlir::ModuleOp fused,
                                              const import::Checkpoint &checkpoint,
                                              const llvm::StringSet<> &users, RunAgain again,
                                              std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
