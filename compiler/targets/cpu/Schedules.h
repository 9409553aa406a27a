//===- Schedules.h - The schedule of each kernel of a level ---------------===//
//
// Taken from rows of `--tuning FILE`, or else from the cost model of the machine that a level is compiled for
// (codegen/cpu/schedule/Machine.h), so the same input gives the same engine on every host.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/schedule/TuningRows.h"
#include "compiler/console/Options.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/schema/engine_generated.h"

#include <vector>

namespace ingot::compiler {

/// Tuning rows that matmuls consult, if there are any.
using Rows = std::optional<cpu::TuningTable>;

/// Errors: E0440 … E0443 for the file's contents, E0444 if it cannot be read.
Result<Rows> rowsFor(const CompileOptions &options);

/// The kernels of a program as one level compiles them: copies whose matmuls carry their schedule.
class ScheduledKernels {
public:
  ScheduledKernels(llvm::ArrayRef<kernel::FuncOp> kernels, const cpu::Isa &isa, const Rows &rows);

  llvm::ArrayRef<kernel::FuncOp> kernels() const { return functions; }
  /// The record of each kernel in the engine: its tiling and the reason, and the cost of a launch.
  std::vector<std::unique_ptr<fb::KernelCostT>> costs() const;
  /// The number of matmuls with a tuning row, and the number of all matmuls.
  size_t rowsUsed() const;
  size_t matmuls() const;

private:
  const cpu::Isa &isa;
  std::vector<mlir::OwningOpRef<kernel::FuncOp>> owned;
  llvm::SmallVector<kernel::FuncOp> functions;
  std::vector<std::string> sources; ///< of each kernel's schedule; empty if it has none
};

} // namespace ingot::compiler
