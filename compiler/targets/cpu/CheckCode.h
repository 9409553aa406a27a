//===- CheckCode.h - Checks CPU code against the plan interpreter -----------===//
//
// The check runs each launch with all of its work items on this CPU (compiler/targets/DifferentialCheck.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "compiler/targets/DifferentialCheck.h"

namespace ingot::compiler {

/// The code of a level for the kernels of a plan. `kernels` carry the chosen schedules.
struct CodeOfLevel {
  const codegen::cpu::Isa &isa;
  llvm::ArrayRef<kernel::FuncOp> kernels;
  llvm::StringRef image;
};

/// Runs the code of levels that this CPU supports against one run of the plan interpreter, and returns the
/// result of each. Errors: all errors of DifferentialCheck.h; E0447.
Result<std::vector<CodeAgreement>>
checkCode(mlir::ModuleOp plan, llvm::ArrayRef<CodeOfLevel> levels, double slack = kCodeSlack);

} // namespace ingot::compiler
