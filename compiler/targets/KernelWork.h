//===- KernelWork.h - Work of a launch, and attribution of crashes -----------===//
//
// This file counts bytes and operations for fb::KernelCost. These depend only on the kernel. Each kind of device adds
// the tiling of its code and the predicted time (Schedules.h, GpuCosts.h).
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

/// Returns a cost with per_row, and with the bytes and operations of a unit and of a position. Its arithmetic is F32,
/// and it has no predicted time. A multiplication and an addition count as two operations.
std::unique_ptr<fb::KernelCostT> kernelWork(kernel::FuncOp fn);

/// Returns a callback by which a generator reports the kernel that its thread starts to work on (empty:
/// none), so that a crash report names it (compiler/crash/CrashContext.h): "the code generation of @qkv_0
/// for cpu:avx2". Threads may call it concurrently.
std::function<void(llvm::StringRef)> suspectCode(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                 const std::string &target);

} // namespace ingot::compiler
