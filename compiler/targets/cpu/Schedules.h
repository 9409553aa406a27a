//===- Schedules.h - Which schedule each kernel of a level gets -----------===//
//
// Rows of `--tuning FILE`, else the cost model for the machine that a level is compiled for
// (codegen/cpu/schedule/Machine.h), so that the same input gives the same engine on every host.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/schedule/TuningRows.h"
#include "compiler/console/Options.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/schema/engine_generated.h"

#include <vector>

namespace ingot::compiler {

/// Rows that matmuls look into, if there are any.
using Rows = std::optional<cpu::TuningTable>;

/// Errors: E0440 … E0443 of the file, E0444 it cannot be read.
Result<Rows> rowsFor(const CompileOptions &options);

/// The kernels of a program as one level compiles them: copies whose matmuls say their schedule.
class ScheduledKernels {
public:
  ScheduledKernels(llvm::ArrayRef<kernel::FuncOp> kernels, const cpu::Isa &isa, const Rows &rows);

  llvm::ArrayRef<kernel::FuncOp> kernels() const { return functions; }
  /// What the engine keeps of each: how it was cut and why, and what a launch costs.
  std::vector<std::unique_ptr<fb::KernelCostT>> costs() const;
  /// How many matmuls have a row, and how many there are.
  size_t rowsUsed() const;
  size_t matmuls() const;

private:
  const cpu::Isa &isa;
  std::vector<mlir::OwningOpRef<kernel::FuncOp>> owned;
  llvm::SmallVector<kernel::FuncOp> functions;
  std::vector<std::string> sources; ///< of each kernel's schedule; empty where it has none
};

} // namespace ingot::compiler
