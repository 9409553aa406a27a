//===- VerifyOnWeights.h - ingot compile --verify -------------------------===//
#pragma once

#include "compiler/driver/checks/PlanChecks.h"

namespace ingot::compiler {

/// Compares the fused program with the imported one on the checkpoint's own weights and appends the evidence.
/// With the weights as stored, a difference is an error of a pass. Rounding the weights to the formats of `fast` and
/// --quantize is the user's choice, so the difference that rounding causes is only measured. It is returned relative to
/// the largest logit, or nothing if no weight is rounded. After an error, `again` runs the passes once more on the
/// imported model, to find the first pass after which the values differ. The error names that pass and the files of the
/// programs before and after it. Errors: the code that codeOfChange returns for that pass (MiscompileReducer.h).
Result<std::optional<double>> verifyOnWeights(mlir::ModuleOp imported, mlir::ModuleOp fused,
                                              const import::Checkpoint &checkpoint,
                                              const llvm::StringSet<> &users, RunAgain again,
                                              std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
