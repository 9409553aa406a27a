//===- Lockstep.h - Compiled code beside the slow machine -----------------===//
//
//   slow machine   @qkv_0 ─▶ @rope_0 ─▶ @attention_0 ─▶ …      one layer of each kind, seeded weights
//                    │ rows it found        │
//   compiled       @qkv_0               @attention_0  …         each launch alone, on a copy of those rows
//
// What both leave is held against each other, launch by launch, within the bound of the launch's op: errors do not add
// up, and a finding names the kernel that has it. A device says how its code is run (cpu/CheckCode.h,
// cuda/CheckCode.h); what is run, on what, and how closely it is held, stands here.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "runtime/abi/Batch.h"
#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// How far compiled launches were from the machine's, against the largest number of a row; by the op of their kernels.
struct CodeAgreement {
  int64_t launches = 0;
  std::map<std::string, double> largest;
  double largestOfAll() const;
  double largestAbsolute = 0; ///< of all ops, not held against anything
};

/// What a compilation grants a launch beyond the bound of its op: bounds are calibrated on models of today, and a model of
/// another shape shall compile where nothing is wrong. Whoever computes something else is off by more.
constexpr double kCodeSlack = 8;

/// How far a compiled op may be from the machine's, against the largest number of the row; 0: to the bit.
struct CodeBound {
  const char *op;
  double allowed;
};

/// Code for one level or architecture, as this machine runs it.
class CodeUnderCheck {
public:
  struct Operand {
    std::byte *memory; ///< of the host
    int64_t bytes;
  };

  virtual ~CodeUnderCheck() = default;
  /// "cpu:avx2".
  virtual std::string name() const = 0;
  /// In how many ways a step of that batch may launch the kernel, each of which is run. 0: it is not there.
  virtual size_t waysOf(kernel::FuncOp fn, const BatchView &batch) = 0;
  /// "qkv_0_t8", where there are several; else empty.
  virtual std::string nameOf(kernel::FuncOp fn, size_t way, const BatchView &batch) = 0;
  /// Runs all of the launch. Says why it could not, or nothing.
  virtual std::string run(kernel::FuncOp fn, size_t way, llvm::ArrayRef<Operand> operands,
                          const BatchView &batch) = 0;
  /// What it may be off, with `slack` times what its op's bound allows, beside what its rows' form rounds.
  virtual double allowed(kernel::FuncOp fn, size_t way, const BatchView &batch, double slack) = 0;
  /// Tokens of the longest prompt that it is run on: so many that its loops over positions go round again.
  virtual int64_t longestPrompt() const { return 0; }
  /// For people who look at a kernel that is wrong: its text, and what a file of that is called.
  virtual std::string textOf(kernel::FuncOp fn) = 0;
  virtual std::string fileName() const = 0;
};

/// Runs all of this code beside one run of the machine, and says what each did. Modes and cases of the plan all come up.
/// Errors: E0886 where a launch is off by more than it may be; those of the machine (E0889 for an op that it does not
/// know).
Result<std::vector<CodeAgreement>>
runInLockstep(mlir::ModuleOp plan, llvm::ArrayRef<CodeUnderCheck *> codes, double slack);

} // namespace ingot::compiler
