//===- DifferentialCheck.h - Checks code against the plan interpreter -----===//
//
//   plan interpreter  @qkv_0 ─▶ @rope_0 ─▶ @attention_0 ─▶ …      one layer of each kind, generated weights
//                       │ its input rows       │
//   compiled          @qkv_0               @attention_0  …         each launch by itself, on a copy of those rows
//
// The results are compared launch by launch, within the bound of the launch's op: errors do not accumulate,
// and an error report names the faulty kernel. A device defines how its code is run (cpu/CheckCode.h,
// cuda/CheckCode.h); this file defines what is run, on which inputs, and with which bounds.
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

/// The differences between compiled launches and the plan interpreter, relative to the largest number of a
/// row, by op.
struct CodeAgreement {
  int64_t launches = 0;
  std::map<std::string, double> largest;
  double largestOfAll() const;
  double largestAbsolute = 0; ///< over all ops; not checked against a bound
};

/// The factor by which a compilation relaxes the bound of an op: bounds are calibrated on present models, and
/// a correct model of another shape must still compile. Code that computes something else exceeds even the
/// relaxed bound.
constexpr double kCodeSlack = 8;

/// The allowed difference of a compiled op from the plan interpreter, relative to the largest number of the
/// row; 0: none.
struct CodeBound {
  const char *op;
  double allowed;
};

/// If heads are normalised before they enter a cache narrower than f32, the order of summation in a mean
/// decides how some are rounded, which changes the result of attention by this much.
constexpr double kRoundedKeys = 2e-3;

/// Returns the bound of a kernel's op: that of `ofDevice`, else the one that all devices have, more where the op sums
/// more numbers, and for custom ops what their author states.
double boundOf(kernel::FuncOp fn, llvm::ArrayRef<CodeBound> ofDevice);

/// Code for one level or architecture, runnable on this machine.
class CodeUnderCheck {
public:
  struct Operand {
    std::byte *memory; ///< host memory
    int64_t bytes;
  };

  virtual ~CodeUnderCheck() = default;
  /// "cpu:avx2".
  virtual std::string name() const = 0;
  /// The number of ways in which a step of this batch may launch the kernel; each way is run. 0: the kernel
  /// is missing.
  virtual size_t waysOf(kernel::FuncOp fn, const BatchView &batch) = 0;
  /// "qkv_0_t8" if there are several ways; else empty.
  virtual std::string nameOf(kernel::FuncOp fn, size_t way, const BatchView &batch) = 0;
  /// Runs the whole launch. Returns why it could not, or "".
  virtual std::string run(kernel::FuncOp fn, size_t way, llvm::ArrayRef<Operand> operands,
                          const BatchView &batch) = 0;
  /// The allowed difference, with `slack` times the op's bound, in addition to the rounding of its rows'
  /// encoding.
  virtual double allowed(kernel::FuncOp fn, size_t way, const BatchView &batch, double slack) = 0;
  /// Tokens of the longest prompt on which the code is run: enough for a second iteration of its loops over
  /// positions.
  virtual int64_t longestPrompt() const { return 0; }
  /// For inspecting a faulty kernel: its text, and the extension of a file for it (".s").
  virtual std::string textOf(kernel::FuncOp fn) = 0;
  virtual std::string extension() const = 0;
};

/// Compares the code of each of `codes` with one run of the plan interpreter, and returns one result for each
/// of them. Covers all modes and specialisations of the plan. Errors: E0886 if a launch exceeds its bound; those of the
/// interpreter (E0889 for an unknown op).
Result<std::vector<CodeAgreement>>
checkKernels(mlir::ModuleOp plan, llvm::ArrayRef<CodeUnderCheck *> codes, double slack);

} // namespace ingot::compiler
