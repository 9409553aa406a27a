//===- Intermediates.h - --dump-intermediates: the IR pass by pass ----------===//
//
//   DIR/000-lm.mlir, DIR/001-lm-quantize-weights.mlir, …, DIR/017-cpu-kernel-choose-layouts.mlir
//
// A pass that changes nothing has no file. Files of an earlier compilation are removed.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace ingot::compiler {

class Intermediates {
public:
  /// Removes the files of an earlier compilation from the folder, or creates the folder. If `folder` is empty, nothing
  /// is written. Errors: E0487.
  Result<void> open(const std::string &folder);
  /// Writes a module that no pass produced, such as the imported model. For a program, `device` becomes part
  /// of the file names of its passes.
  void begin(mlir::ModuleOp module, const std::string &name, const std::string &device = "");
  /// Returns an instrumentation for a pass manager; null if nothing is written. This object must outlive it.
  std::unique_ptr<mlir::PassInstrumentation> watch();
  /// Returns E0487 for the first file that could not be written.
  Result<void> close() const { return failure; }

private:
  class Watch;
  void add(mlir::ModuleOp module, const std::string &name);

  std::string folder, device, last; ///< last: the text last written
  int number = 0;
  Result<void> failure;
};

} // namespace ingot::compiler
