//===- GpuCosts.h - The cost of launches of GPU kernels -------------------===//
//
// Bytes and operations follow from kernels and plan; time is predicted by the roofline formula of
// runtime/engine/GpuMachine.h, for the GPU that its table lists for the architecture. The formula knows only
// the rate of a variant: the time of steps is soon measured, and until then chunking and admission need only
// the right order of magnitude.
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

/// One cost for each kernel of `program`, which begin with `kernels`; kernels that find ids follow. `code`
/// supplies the target and the variants.
std::vector<std::unique_ptr<fb::KernelCostT>> gpuCosts(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                       const fb::ProgramT &program,
                                                       const fb::CodeObjectT &code);

} // namespace ingot::compiler
