//===- PassChecks.h - Every rewrite is checked ----------------------------===//
//
// A pass instrumentation: before and after each pass over an lm.model it runs the
// reference interpreter on a small slice with seeded inputs, and notes the largest error.
// A pass that changed nothing is not run twice.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Compare.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <optional>

#include <string>
#include <vector>

namespace ingot::compiler {

/// Rewrites reorder nothing that rounds; what they may change is the last bits of a sum.
constexpr double kLargestRelativeError = 1e-4;

struct PassEvidence {
  std::string pass;   ///< its argument, "lm-fuse-gate-up"
  std::string inputs; ///< what it was run on
  double maxAbs, maxRel;
};

/// The pass with its options, as `--pass-pipeline` takes it.
std::string asText(mlir::Pass *pass);

class PassChecks : public mlir::PassInstrumentation {
public:
  /// Appends to `evidence`; the first failure (an error larger than rewriting can excuse, or a program
  /// that cannot be run) is kept in `failure`. Both must outlive the pass manager.
  PassChecks(mlir::ModuleOp module, std::vector<PassEvidence> &evidence, std::optional<Error> &failure)
      : checker(module), module(module), evidence(evidence), failure(failure) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  reference::PassChecker checker;
  mlir::ModuleOp module;
  std::vector<PassEvidence> &evidence;
  std::optional<Error> &failure;
};

} // namespace ingot::compiler
