//===- SuspectCode.h - Which kernel's code was being made --------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <string>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// What a generator tells of the kernel that a thread works on from now on (empty: none), so that a crash is told with its
/// name (console/CrashWords.h): "the code generation of @qkv_0 for cpu:avx2". Threads may call it at once.
std::function<void(llvm::StringRef)> suspectCode(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                 const std::string &target);

} // namespace ingot::compiler
