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
#include "llvm/ADT/StringSet.h"

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
  /// `users` are the names of passes that --insert brings. Appends to `evidence`; the first failure (an error larger than rewriting can excuse, or a program
  /// that cannot be run) is kept in `failure`. All must outlive the pass manager.
  PassChecks(mlir::ModuleOp module, const llvm::StringSet<> &users, std::vector<PassEvidence> &evidence,
             std::optional<Error> &failure)
      : checker(module), module(module), users(users), evidence(evidence), failure(failure) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  /// A pass changed what is computed, or left nothing that can be run.
  Error changed(mlir::Pass *pass, const std::string &why) const;

  reference::PassChecker checker;
  mlir::ModuleOp module;
  const llvm::StringSet<> &users;
  std::vector<PassEvidence> &evidence;
  std::optional<Error> &failure;
};

} // namespace ingot::compiler
