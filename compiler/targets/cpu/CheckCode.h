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

namespace ingot::compiler {

/// How far compiled launches were from the machine's, against the largest number of a row; by the op of their kernels.
struct CodeAgreement {
  int64_t launches = 0;
  std::map<std::string, double> largest;
  double largestOfAll() const;
  double largestAbsolute = 0; ///< of all ops, not held against anything
};

/// Runs the code of one level, which this CPU must have, for the kernels of `plan`, whose schedules are chosen in
/// `scheduled`. Errors: E0886 where a launch leaves something else, E0447, and those of the machine (E0889 for an op that
/// it does not know).
Result<CodeAgreement> checkCode(mlir::ModuleOp plan, llvm::ArrayRef<kernel::FuncOp> scheduled,
                                llvm::StringRef image, const cpu::Isa &isa);

} // namespace ingot::compiler
