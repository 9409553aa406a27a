//===- KernelFile.h - User kernels from text files ----------------------------===//
//
//   gate.pdll           makes regions lm.fused "gate", which define the meaning of the launch
//   gate.kernel.mlir    the CPU code: a function of one row (docs/kernel-from-outside.md)
//   gate.kernel.cu      the GPU code
//
// All of them are given to --patterns. The texts become the attributes lm.kernel.cpu and lm.kernel.cuda of
// the regions. Lowering turns a region with an attribute for its target into kernel.custom.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace ingot::extend {

/// Returns whether a file of --patterns is a kernel, according to its name.
bool isKernelFile(llvm::StringRef path);

/// Returns the argument of the pass, "lm-attach-kernel".
llvm::StringRef attachKernelName();
/// Returns a pass that attaches the file's code to the regions of the same name. The pass fails if there are
/// none.
std::unique_ptr<mlir::Pass> attachKernel(const std::string &path);
/// Registers the pass for textual pipelines: lm-attach-kernel{file=gate.kernel.cu}.
void registerAttachKernel();

} // namespace ingot::extend
