//===- CheckCode.h - Code for CPUs beside the slow machine ------------------===//
//
// Each launch with all of its work items, on this CPU (compiler/targets/Lockstep.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "compiler/targets/Lockstep.h"

namespace ingot::compiler {

/// The code of a level for the kernels of a plan, whose schedules are chosen in `kernels`.
struct CodeOfLevel {
  const cpu::Isa &isa;
  llvm::ArrayRef<kernel::FuncOp> kernels;
  llvm::StringRef image;
};

/// Runs code of levels that this CPU has, all of it beside one run of the machine, and says what each did. Errors:
/// those of Lockstep.h, E0447.
Result<std::vector<CodeAgreement>>
checkCode(mlir::ModuleOp plan, llvm::ArrayRef<CodeOfLevel> levels, double slack = kCodeSlack);

} // namespace ingot::compiler
