//===- EmitText.h - A stage of the compilation as text ----------------------===//
#pragma once

#include "compiler/options/Options.h"
#include "dialects/kernel/KernelDialect.h"
#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// Returns the module as text. Values in lm have descriptive names (%attn_q); values in kernels have numbers.
std::string irText(mlir::ModuleOp module);

/// Prints the module to the output of the options if `stage` is the requested one. Returns true if it printed the
/// module, so that nothing is left to do. Errors: E0475: there is no kernel with the requested name.
Result<bool> emitIfAsked(const CompileOptions &options, Emit stage, mlir::ModuleOp module);

/// Keeps only the kernel of that name, unless the name is empty. Errors: E0475.
Result<void> chooseKernel(llvm::SmallVectorImpl<kernel::FuncOp> &kernels, const std::string &name);

} // namespace ingot::compiler
