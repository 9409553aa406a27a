//===- Diagnostics.h - What MLIR says during a compilation -----------------===//
#pragma once

#include "compiler/console/Options.h"
#include "runtime/error/Error.h"

#include "mlir/Support/LLVM.h"

namespace ingot::compiler {

/// Warnings of MLIR are shown as they come; errors are kept until ours has three lines of its own. Must
/// outlive the work of the context.
class Diagnostics {
public:
  Diagnostics(const CompileOptions &options, mlir::MLIRContext &context);

  /// A line for people that a compilation has done nothing wrong with.
  void warn(const std::string &line) const;
  /// One that they asked for.
  void tell(const std::string &line) const;
  /// The first line of the errors, if there are any.
  std::string first() const { return errors.substr(0, errors.find('\n')); }
  bool say(llvm::StringRef words) const { return llvm::StringRef(errors).contains(words); }
  /// E0490: what we have done wrong, and what MLIR said of it.
  Error compilerError(std::string what) const;

private:
  const CompileOptions &options;
  std::string errors;
};

} // namespace ingot::compiler
