//===- PhaseText.h - The IR that --from takes up ----------------------------===//
//
// What `--to PHASE` printed, changed or not. The checkpoint is given as well: the IR names its tensors and holds no
// numbers. Where in a compilation it was printed decides what may be in it:
//
//   lm, fused       one lm.model
//   kernel          kernels and one plan.program, for one kind of device, not yet planned
//   plan            the same, planned
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/KvCaches.h"
#include "compiler/import/Checkpoint.h"
#include "compiler/targets/CodeTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ingot::compiler {

/// Reads the file of --from. E0483 it cannot be read, or is no IR; E0484 it is that of another phase; E0485 it names
/// what the checkpoint does not have.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readPhase(mlir::MLIRContext &context,
                                                    const CompileOptions &options,
                                                    const import::Checkpoint &checkpoint,
                                                    const Diagnostics &diagnostics);

/// Whether kernels and a plan are the target's, with the caches that the options say: E0486.
Result<void> checkMadeFor(mlir::ModuleOp module, const CodeTarget &target, const KvCaches &caches,
                          const CompileOptions &options);

} // namespace ingot::compiler
