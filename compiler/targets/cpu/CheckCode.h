//===- CheckCode.h - Compiled code beside the slow machine ----------------===//
//
//   slow machine   @qkv_0 ─▶ @rope_0 ─▶ @attention_0 ─▶ …      one layer of each kind, seeded weights
//                    │ rows it found        │
//   compiled       @qkv_0               @attention_0  …         each launch alone, on a copy of those rows
//
// What both leave is held against each other, launch by launch, within the bound of the launch's op: errors do not add
// up, and a finding names the kernel that has it.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace ingot::compiler {

/// How far compiled launches were from the machine's, against the largest number of a row; by the op of their kernels.
struct CodeAgreement {
  int64_t launches = 0;
  std::map<std::string, double> largest;
  double largestOfAll() const;
  double largestAbsolute = 0; ///< of all ops, not held against anything
};

/// The code of a level for the kernels of a plan, whose schedules are chosen in `kernels`.
struct CodeOfLevel {
  const cpu::Isa &isa;
  llvm::ArrayRef<kernel::FuncOp> kernels;
  llvm::StringRef image;
};

/// What a compilation grants a launch beyond the bound of its op: bounds are calibrated on models of today, and a model of
/// another shape shall compile where nothing is wrong. Whoever computes something else is off by more.
constexpr double kCodeSlack = 8;

/// Runs code of levels that this CPU has, all of it beside one run of the machine, and says what each did. Errors: E0886
/// where a launch is off by more than `slack` times its bound, E0447, and those of the machine (E0889 for an op that it
/// does not know).
Result<std::vector<CodeAgreement>>
checkCode(mlir::ModuleOp plan, llvm::ArrayRef<CodeOfLevel> levels, double slack = kCodeSlack);

} // namespace ingot::compiler
