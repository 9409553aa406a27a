//===- GpuCosts.h - What launches of GPU kernels cost ---------------------===//
//
// Bytes and operations follow from kernels and plan; time is foretold by the one line of
// runtime/engine/GpuMachine.h, for the GPU that its table has of the architecture. It knows nothing of variants but their
// rate: a step's time is measured soon enough, and until then chunks and admission want the right order of magnitude.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "runtime/schema/engine_generated.h"

#include <memory>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// One for each kernel of `program`, of which `kernels` are the first; those that find ids follow. `code` has its target and
/// its variants.
std::vector<std::unique_ptr<fb::KernelCostT>> gpuCosts(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                       const fb::ProgramT &program,
                                                       const fb::CodeObjectT &code);

} // namespace ingot::compiler
