//===- KernelWork.h - What a launch of a kernel asks for ------------------===//
//
// Bytes and operations, as fb::KernelCost counts them. They follow from the kernel alone; how its code was cut, and how
// long that takes, is each kind of device's to add (Schedules.h, GpuCosts.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "runtime/schema/engine_generated.h"

#include <memory>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// per_row, and bytes and operations of a unit and of a position; arithmetic is F32, nothing is foretold. A multiplication
/// and an addition are two.
std::unique_ptr<fb::KernelCostT> kernelWork(kernel::FuncOp fn);

} // namespace ingot::compiler
