//===- CheckCode.h - Checks GPU code against the plan interpreter -----------===//
//
// The check runs each launch on the emulator, in host memory (compiler/targets/DifferentialCheck.h). A kernel has
// variants for different step sizes. All variants whose guards accept the step are run, because each must be valid.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "compiler/targets/DifferentialCheck.h"
#include "runtime/schema/engine_generated.h"

#include <functional>

namespace ingot::compiler {

/// The code of an architecture, compiled for the emulator.
struct CodeOfArchitecture {
  std::string target;       ///< the target in the engine: "cuda:sm_90a"
  llvm::StringRef image;    ///< for the emulator
  fb::CodeObjectT variants; ///< variants of each kernel, in the order of `kernels`
  llvm::ArrayRef<kernel::FuncOp> kernels;
  codegen::cuda::SharedAttention shared;
  std::function<std::string(kernel::FuncOp)> textOf;
};

/// Runs the code against one run of the plan interpreter. Errors: all errors of DifferentialCheck.h, E0723 (no
/// emulator), E0717.
Result<CodeAgreement> checkOnEmulator(mlir::ModuleOp plan, const CodeOfArchitecture &code,
                                      int threads, double slack = kCodeSlack);

} // namespace ingot::compiler
