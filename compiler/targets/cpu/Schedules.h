//===- Schedules.h - The schedule of each kernel of a level ---------------===//
//
// A schedule comes from the IR or else from a cost model. The cost model describes the machine for which a level is
// compiled (codegen/cpu/schedule/Machine.h), not the host, so the same input gives the same engine on every host.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/schema/engine_generated.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::compiler {

/// The kernels of a program as they are compiled for one level: copies in which matmuls have a schedule attribute.
class ScheduledKernels {
public:
  ScheduledKernels(llvm::ArrayRef<kernel::FuncOp> kernels, const codegen::cpu::Isa &isa);

  llvm::ArrayRef<kernel::FuncOp> kernels() const { return functions; }
  /// Returns the record of each kernel for the engine: its tiling, the reason for this tiling, and the cost of a
  /// launch.
  std::vector<std::unique_ptr<fb::KernelCostT>> costs() const;

private:
  const codegen::cpu::Isa &isa;
  std::vector<mlir::OwningOpRef<kernel::FuncOp>> owned;
  llvm::SmallVector<kernel::FuncOp> functions;
  std::vector<std::string> sources; ///< origin of each kernel's schedule; empty if it has none
};

} // namespace ingot::compiler
