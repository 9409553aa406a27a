//===- CpuCodegen.h - From kernels to a shared object ---------------------===//
//
//   kernel.func ──emit──▶ scf/arith/math/vector/llvm ──lower──▶ LLVM IR ──▶ .o ─┐
//   kernel.func ──emit──▶ …                                              ──▶ .o ─┴─lld──▶ .so
//
// The object is position-independent, has no undefined symbols, no relocations and no
// writable data, and exports each kernel by its name: runtime/engine/CodeImage.h maps it.
// Kernels are compiled apart from each other, each in contexts of its own, so that
// threads share nothing; the same kernels give the same bytes with any number of them.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"

#include "mlir/Support/Timing.h"

#include <functional>
#include <string>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::cpu {

struct CodegenOptions {
  unsigned threads = 1;                ///< that compile kernels
  mlir::TimingScope *timing = nullptr; ///< its stages become parts of this
  /// Told by a thread which kernel it compiles from now on; empty: none.
  std::function<void(llvm::StringRef)> underWay = {};
};

/// How a CPU runs the kernel, or why not.
kernel::KernelShape kernelShape(kernel::FuncOp kernel);

/// One ELF shared object that exports every kernel under its name. Errors are reported at
/// the kernels.
mlir::FailureOr<std::vector<char>> compileKernels(llvm::ArrayRef<kernel::FuncOp> kernels,
                                                  const Isa &isa,
                                                  const CodegenOptions &options = {});

/// All that decides the bytes of compileKernels, for one build of the compiler: the kernels whole,
/// as the generators read them, and the level with what LLVM is told of it.
std::string objectSource(llvm::ArrayRef<kernel::FuncOp> kernels, const Isa &isa);

/// What a kernel becomes, as text: the generated MLIR, LLVM IR after optimisation, assembly.
enum class CodeText { Mlir, Llvm, Assembly };
mlir::FailureOr<std::string> printKernel(kernel::FuncOp kernel, const Isa &isa, CodeText text);

/// Bytes of a thread's scratch memory that a kernel needs (0 for most), at any level.
int64_t scratchBytes(kernel::FuncOp kernel);

} // namespace ingot::cpu
