//===- CpuCodegen.h - From kernels to a shared object ---------------------===//
//
//   kernel.func ──emit──▶ scf/arith/math/vector/llvm ──lower──▶ LLVM IR ──▶ .o ─┐
//   kernel.func ──emit──▶ …                                              ──▶ .o ─┴─lld──▶ .so
//
// The object is position-independent, has no undefined symbols, no relocations and no
// writable data, and exports each kernel by its name. runtime/engine/CodeImage.h maps it.
// Each kernel is compiled separately. Each thread has its own MLIR context, so threads share nothing.
// The same kernels give the same bytes with any number of threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/ObjectCache.h"
#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"

#include "mlir/Support/Timing.h"

#include <functional>
#include <string>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::codegen::cpu {

struct CodegenOptions {
  unsigned threads = 1;                ///< number of threads that compile kernels
  mlir::TimingScope *timing = nullptr; ///< parent of the timers of the stages
  /// A thread calls this with the name of the kernel that it starts to compile, or with an empty name when it
  /// is done.
  std::function<void(llvm::StringRef)> underWay = {};
  /// Holds one object per kernel; linking is never cached. May be null.
  ObjectCache *cache = nullptr;
};

/// Returns the limits under which a CPU runs the kernel, or the reason why it cannot.
kernel::KernelShape kernelShape(kernel::FuncOp kernel);

/// Compiles kernels into one ELF shared object that exports every kernel under its name. Kernels whose objects are in
/// the cache are not compiled, and new objects are stored in it. Errors are reported at the kernels.
mlir::FailureOr<std::vector<char>> compileKernels(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                  const Isa &isa,
                                                  const CodegenOptions &options = {});

/// Returns whether the code of any kernel at level amx differs from its code at avx512.
bool gainFromAmx(llvm::ArrayRef<kernel::FuncOp> kernels);

/// Stages of a kernel that can be printed: the generated MLIR, LLVM IR after optimisation, assembly.
enum class CodeText { Mlir, Llvm, Assembly };
mlir::FailureOr<std::string> printKernel(kernel::FuncOp kernel, const Isa &isa, CodeText text);

/// Returns the size in bytes of scratch memory per thread that a kernel needs (0 for most), enough for every ISA level.
int64_t scratchBytes(kernel::FuncOp kernel);

} // namespace ingot::codegen::cpu
