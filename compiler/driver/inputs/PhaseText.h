//===- PhaseText.h - Reading the IR of --from -------------------------------===//
//
// The file is the output of `--to PHASE`, possibly edited. The checkpoint is given as well, because the IR
// names its tensors but holds no values. The phase decides what the file may contain:
//
//   lm, fused       one lm.model
//   kernel          kernels and one plan.program, for one kind of device, not yet planned
//   plan            the same, planned
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/formats/KvCaches.h"
#include "compiler/driver/report/Diagnostics.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/targets/CodeTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ingot::compiler {

/// Reads the file of --from. Errors: E0483: it cannot be read or is not IR; E0484: it belongs to another
/// phase; E0485: it names something that the checkpoint does not have.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readPhase(mlir::MLIRContext &context,
                                                    const CompileOptions &options,
                                                    const import::Checkpoint &checkpoint,
                                                    const Diagnostics &diagnostics);

/// Checks that kernels and a plan are for the target and have the caches of the options. Errors: E0486.
Result<void> checkMadeFor(mlir::ModuleOp module, const CodeTarget &target, const KvCaches &caches,
                          const CompileOptions &options);

} // namespace ingot::compiler
