//===- Schedules.h - The schedule of each kernel of a level ---------------===//
//
// Taken from the IR, or else from the cost model of the machine that a level is compiled for
// (codegen/cpu/schedule/Machine.h), so the same input gives the same engine on every host.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/schema/engine_generated.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::compiler {

/// The kernels of a program as one level compiles them: copies whose matmuls carry their schedule.
class ScheduledKernels {
public:
  ScheduledKernels(llvm::ArrayRef<kernel::FuncOp> kernels, const codegen::cpu::Isa &isa);

  llvm::ArrayRef<kernel::FuncOp> kernels() const { return functions; }
  /// The record of each kernel in the engine: its tiling and the reason, and the cost of a launch.
  std::vector<std::unique_ptr<fb::KernelCostT>> costs() const;

private:
  const codegen::cpu::Isa &isa;
  std::vector<mlir::OwningOpRef<kernel::FuncOp>> owned;
  llvm::SmallVector<kernel::FuncOp> functions;
  std::vector<std::string> sources; ///< of each kernel's schedule; empty if it has none
};

} // namespace ingot::compiler
