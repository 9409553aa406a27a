//===- GpuCosts.h - The cost of launches of GPU kernels -------------------===//
//
// Bytes and operations follow from kernels and plan. Time is predicted with the roofline formula of
// runtime/engine/GpuMachine.h, for the GPU that its table lists for the architecture. The formula takes into account
// only the arithmetic rate of a variant. This is enough, because the runtime soon measures the time of steps. Until
// then, chunking and admission need only the right order of magnitude.
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

/// Returns a cost for each kernel in `kernels`, in order. `code` supplies the target and the variants.
std::vector<std::unique_ptr<fb::KernelCostT>> gpuCosts(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                       const fb::ProgramT &program,
                                                       const fb::CodeObjectT &code);

} // namespace ingot::compiler
