//===- KernelFile.h - Kernels of regions, from text files ---------------------===//
//
//   gate.pdll           makes regions lm.fused "gate", which are what the launch means
//   gate.kernel.mlir    its code on CPUs: a function of one row (docs/kernel-from-outside.md)
//   gate.kernel.cu      its code on GPUs
//
// All are given to --patterns. The texts become attributes of the regions, lm.kernel.cpu and lm.kernel.cuda, and lowering
// makes kernel.custom of those that have one for its target.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace ingot::extend {

/// Whether a file of --patterns is a kernel's, by its name.
bool isKernelFile(llvm::StringRef path);

/// The argument of the pass, "lm-attach-kernel".
llvm::StringRef attachKernelName();
/// Gives the regions that the file is called after their code. Fails where there are none.
std::unique_ptr<mlir::Pass> attachKernel(const std::string &path);
/// For textual pipelines: lm-attach-kernel{file=gate.kernel.cu}.
void registerAttachKernel();

} // namespace ingot::extend
