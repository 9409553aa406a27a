//===- DifferentialCheck.h - Checks code against the plan interpreter -----===//
//
//   plan interpreter  @qkv_0 ─▶ @rope_0 ─▶ @attention_0 ─▶ …      one layer of each kind, generated weights
//                       │ its input rows       │
//   compiled          @qkv_0               @attention_0  …         each launch by itself, on a copy of those rows
//
// The results are compared launch by launch, within the bound of the launch's op. Errors therefore do not accumulate,
// and an error report names the faulty kernel. Each device defines how its code is run (cpu/CheckCode.h,
// cuda/CheckCode.h); this file defines the launches, their inputs and their bounds.
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

/// The factor by which a compilation relaxes the bound of an op. Bounds are calibrated on existing models, but a
/// correct model of another shape must still compile. Code that computes something else exceeds even the relaxed bound.
constexpr double kCodeSlack = 8;

/// The allowed difference of a compiled op from the plan interpreter, relative to the largest number of the
/// row; 0: none.
struct CodeBound {
  const char *op;
  double allowed;
};

/// An additional bound for attention with heads that are normalised before they enter a cache narrower than f32. In
/// this case the order of summation in the mean decides how some values are rounded, which changes the result of
/// attention.
constexpr double kRoundedKeys = 2e-3;

/// Returns the bound of a kernel's op: the bound in `ofDevice`, else the bound that all devices have. It is larger if
/// the op sums more values. The bound of a custom op is stated by its author.
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
  /// Returns the number of ways in which a step of this batch may launch the kernel. Each way is run. If the kernel is
  /// missing, the number is 0.
  virtual size_t waysOf(kernel::FuncOp fn, const BatchView &batch) = 0;
  /// Returns the name of a way, such as "qkv_0_t8". It may be empty if there is only one way.
  virtual std::string nameOf(kernel::FuncOp fn, size_t way, const BatchView &batch) = 0;
  /// Runs the whole launch. Returns the reason if that failed, else "".
  virtual std::string run(kernel::FuncOp fn, size_t way, llvm::ArrayRef<Operand> operands,
                          const BatchView &batch) = 0;
  /// Returns the allowed difference: `slack` times the op's bound, plus the errors that the device's own formats cause.
  /// The rounding of the rows' encoding is allowed in addition.
  virtual double allowed(kernel::FuncOp fn, size_t way, const BatchView &batch, double slack) = 0;
  /// Tokens of the longest prompt on which the code is run: enough for a second iteration of its loops over
  /// positions.
  virtual int64_t longestPrompt() const { return 0; }
  /// Returns the text of a kernel, so that a faulty one can be inspected, and the extension of a file for this text
  /// (".s").
  virtual std::string textOf(kernel::FuncOp fn) = 0;
  virtual std::string extension() const = 0;
};

/// Compares the code of each of `codes` with one run of the plan interpreter, and returns one result for each
/// of them. Covers all modes and specialisations of the plan. Errors: E0886 if a launch exceeds its bound; all errors
/// of the interpreter (E0889 for an unknown op).
Result<std::vector<CodeAgreement>>
checkKernels(mlir::ModuleOp plan, llvm::ArrayRef<CodeUnderCheck *> codes, double slack);

} // namespace ingot::compiler
