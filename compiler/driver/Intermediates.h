//===- Intermediates.h - --dump-intermediates: the IR pass by pass ----------===//
//
//   DIR/000-lm.mlir, DIR/001-lm-quantize-weights.mlir, …, DIR/017-cpu-kernel-choose-layouts.mlir
//
// A pass that changes nothing has no file. What an earlier compilation left there goes.
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
  /// Empties the folder of such files, or makes it. Without a name nothing is written. E0487.
  Result<void> open(const std::string &folder);
  /// What is behind no pass: the imported model. Of a program: `device` comes into its passes' names.
  void begin(mlir::ModuleOp module, const std::string &name, const std::string &device = "");
  /// For each pass manager; null: nothing is written. Must be outlived.
  std::unique_ptr<mlir::PassInstrumentation> watch();
  /// E0487: the first file that could not be written.
  Result<void> close() const { return failure; }

private:
  class Watch;
  void add(mlir::ModuleOp module, const std::string &name);

  std::string folder, device, last; ///< last: the text written
  int number = 0;
  Result<void> failure;
};

} // namespace ingot::compiler
