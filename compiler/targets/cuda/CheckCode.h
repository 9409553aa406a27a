//===- CheckCode.h - Code for GPUs beside the slow machine ------------------===//
//
// Each launch on the emulator, over memory of the host (compiler/targets/Lockstep.h). A kernel has variants for steps of
// other sizes, each of which is right for a step within its guards: all of them run.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "compiler/targets/Lockstep.h"
#include "runtime/schema/engine_generated.h"

#include <functional>

namespace ingot::compiler {

/// The code of an architecture as the emulator runs it.
struct CodeOfArchitecture {
  std::string target;       ///< "cuda:sm_90a", whatever it was compiled for
  llvm::StringRef image;    ///< for the emulator
  fb::CodeObjectT variants; ///< of the kernels, in their order
  llvm::ArrayRef<kernel::FuncOp> kernels;
  cuda::SharedAttention shared;
  std::function<std::string(kernel::FuncOp)> textOf;
};

/// Runs the code beside one run of the machine. Errors: those of Lockstep.h, E0723 (there is no emulator), E0717.
Result<CodeAgreement> checkOnEmulator(mlir::ModuleOp plan, const CodeOfArchitecture &code,
                                      int threads, double slack = kCodeSlack);

} // namespace ingot::compiler
