//===- EmitText.h - A stage of the compilation as text ----------------------===//
#pragma once

#include "compiler/console/Options.h"
#include "dialects/kernel/KernelDialect.h"
#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// The module as text. Values of lm are called by what they are (%attn_q); those of kernels have numbers.
std::string irText(mlir::ModuleOp module);

/// Prints the module to where the options say if it is the stage that they ask for; true: it was, and nothing is left
/// to do. E0475 where there is no kernel of the name asked for.
Result<bool> emitIfAsked(const CompileOptions &options, Emit stage, mlir::ModuleOp module);

/// Leaves the kernel of that name, if there is a name. E0475.
Result<void> chooseKernel(llvm::SmallVectorImpl<kernel::FuncOp> &kernels, const std::string &name);

} // namespace ingot::compiler
