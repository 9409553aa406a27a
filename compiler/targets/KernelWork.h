//===- KernelWork.h - What a launch of a kernel asks for, and who makes it ---===//
//
// Bytes and operations, as fb::KernelCost counts them. They follow from the kernel alone; how its code was cut, and how
// long that takes, is each kind of device's to add (Schedules.h, GpuCosts.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "runtime/schema/engine_generated.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <memory>
#include <string>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// per_row, and bytes and operations of a unit and of a position; arithmetic is F32, nothing is foretold. A multiplication
/// and an addition are two.
std::unique_ptr<fb::KernelCostT> kernelWork(kernel::FuncOp fn);

/// What a generator tells of the kernel that a thread works on from now on (empty: none), so that a crash is told with its
/// name (console/CrashWords.h): "the code generation of @qkv_0 for cpu:avx2". Threads may call it at once.
std::function<void(llvm::StringRef)> suspectCode(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                 const std::string &target);

} // namespace ingot::compiler
