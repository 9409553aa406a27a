//===- Diagnostics.h - MLIR diagnostics of a compilation -------------------===//
#pragma once

#include "compiler/options/Options.h"
#include "runtime/error/Error.h"

#include "mlir/Support/LLVM.h"

namespace ingot::compiler {

/// Shows MLIR's warnings as they arrive and keeps its errors for our own three-line error. It must live as long as the
/// context is used.
class Diagnostics {
public:
  Diagnostics(const CompileOptions &options, mlir::MLIRContext &context);

  /// Prints a warning for the user; the compilation continues.
  void warn(const std::string &line) const;
  /// Prints a line that the user requested.
  void note(const std::string &line) const;
  /// Returns the first line of the errors; empty if there are none.
  std::string first() const { return errors.substr(0, errors.find('\n')); }
  bool say(llvm::StringRef words) const { return llvm::StringRef(errors).contains(words); }
  /// Returns E0490: an internal error, with MLIR's message.
  Error compilerError(std::string what) const;

private:
  const CompileOptions &options;
  std::string errors;
};

} // namespace ingot::compiler
