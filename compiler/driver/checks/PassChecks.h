//===- PassChecks.h - Checks of passes over lm ----------------------------===//
//
// This pass instrumentation runs the reference interpreter before and after each pass over an lm.model, on a
// small slice of the model with generated inputs, and records the largest error. After a pass that changed nothing,
// the interpreter does not run again.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Compare.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::compiler {

using reference::kLargestRelativeError;

struct PassEvidence {
  std::string pass;   ///< its argument, "lm-fuse-gate-up"
  std::string inputs; ///< the inputs and the allowed error
  double maxAbs, maxRel;
};

/// Returns the evidence of a comparison that has an allowed error: "2 layers, seeded weights; allowed 0.0001".
PassEvidence judged(std::string what, const reference::Comparison &change,
                    const std::string &weights);

/// Returns the evidence for the cost of rounding weights to formats: "2 layers, seeded weights rounded to their
/// formats; measured, not judged". There is no allowed error, because the user chooses the formats. `unrounded`, if
/// given, is the comparison that has an allowed error.
PassEvidence measured(std::string what, const reference::Comparison &cost,
                      const std::string &weights, const reference::Comparison *unrounded = nullptr);

/// Returns the pass with its options, in the form of `--pass-pipeline`.
std::string asText(mlir::Pass *pass);

class PassChecks : public mlir::PassInstrumentation {
public:
  /// `users` has the names of the passes of --insert. The checks append to `evidence`. They store the first failure
  /// in `failure` (an error larger than a rewrite can cause, or a program that cannot be run), and the rewrite of a
  /// pattern file that left an invalid program in `invalid`. The time of checks is part of `timing`. All arguments
  /// must outlive the pass manager. `replayCommand` is ingot-opt with the plugins.
  PassChecks(mlir::ModuleOp module, const llvm::StringSet<> &users,
             std::vector<PassEvidence> &evidence, std::optional<Error> &failure,
             std::string &invalid, mlir::TimingScope &timing, std::string replayCommand)
      : checker(module), module(module), users(users), evidence(evidence), failure(failure),
        invalid(invalid), timing(timing), replayCommand(std::move(replayCommand)) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  /// Returns the error for a pass that changed the computation or left a program that cannot be run.
  Error changed(mlir::Pass *pass, const std::string &why);
  /// Returns whether the program computes the same as the one before the pass.
  bool computesTheSame(mlir::ModuleOp program);

  reference::PassChecker checker;
  mlir::ModuleOp module;
  const llvm::StringSet<> &users;
  std::vector<PassEvidence> &evidence;
  std::optional<Error> &failure;
  std::string &invalid;
  mlir::TimingScope &timing;
  const std::string replayCommand;
};

/// Records the pass that failed, and for a crash report the pass that runs now. If a failure passes through nested
/// passes, the innermost is recorded, because it reports first.
class PassNames : public mlir::PassInstrumentation {
public:
  /// `plugins` is the text that names the plugins. All other arguments must outlive the pass manager.
  PassNames(const llvm::StringSet<> &users, std::string plugins, std::string &name,
            std::string &text)
      : users(users), plugins(std::move(plugins)), name(name), text(text) {}
  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  const llvm::StringSet<> &users;
  const std::string plugins;
  std::string &name, &text;
};

} // namespace ingot::compiler
