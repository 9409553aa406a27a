//===- Schedules.h - Which schedule each kernel of a level gets -----------===//
//
// For each level: rows of `--tuning FILE`, else those shipped for the CPU of `--tune-for`, else the
// cost model. Without --tune-for rows are those of the machine that the level's model
// describes (codegen/cpu/schedule/Machine.h), so that the same input gives the same engine on every host.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/schedule/TuningRows.h"
#include "compiler/console/Options.h"
#include "runtime/schema/engine_generated.h"

#include <vector>

namespace ingot::compiler {

/// Rows that matmuls of one level look into.
using RowsOfLevel = std::optional<cpu::TuningTable>;

/// Errors: E0440 … E0443 of the file, E0444 it cannot be read, E0445 there are no rows of that name.
Result<RowsOfLevel> rowsFor(const CompileOptions &options, const cpu::Isa &isa);

/// The kernels of a program as one level compiles them: copies whose matmuls say their schedule.
class ScheduledKernels {
public:
  ScheduledKernels(llvm::ArrayRef<kernel::FuncOp> kernels, const cpu::Isa &isa,
                   const RowsOfLevel &rows);

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
