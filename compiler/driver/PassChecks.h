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
  std::string inputs; ///< what it was run on, and what was allowed
  double maxAbs, maxRel;
};

/// A comparison that decides: "2 layers, seeded weights; allowed 0.0001".
PassEvidence judged(std::string what, const reference::Comparison &change,
                    const std::string &weights);

/// What rounding to formats costs, which is the user's choice: "2 layers, seeded weights rounded to their formats;
/// measured, not judged". `unrounded`, if given, is the comparison that decided.
PassEvidence measured(std::string what, const reference::Comparison &cost,
                      const std::string &weights, const reference::Comparison *unrounded = nullptr);

/// The pass with its options, as `--pass-pipeline` takes it.
std::string asText(mlir::Pass *pass);

class PassChecks : public mlir::PassInstrumentation {
public:
  /// `users` are the names of passes that --insert brings. Appends to `evidence`; the first failure (an error larger than
  /// rewriting can excuse, or a program that cannot be run) is kept in `failure`, and which rewrite of a file of patterns
  /// left an invalid program in `invalid`. What checks take is a part of `timing`. All must outlive the pass manager.
  /// `replayCommand` is ingot-opt with the plugins.
  PassChecks(mlir::ModuleOp module, const llvm::StringSet<> &users,
             std::vector<PassEvidence> &evidence, std::optional<Error> &failure,
             std::string &invalid, mlir::TimingScope &timing, std::string replayCommand)
      : checker(module), module(module), users(users), evidence(evidence), failure(failure),
        invalid(invalid), timing(timing), replayCommand(std::move(replayCommand)) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  /// A pass changed what is computed, or left nothing that can be run.
  Error changed(mlir::Pass *pass, const std::string &why);
  /// The program computes what that before the pass did.
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

/// Notes which pass failed (the innermost is the first to say so), and which one runs, should it crash.
class PassNames : public mlir::PassInstrumentation {
public:
  /// `plugins` is what to say of where they are from. All but it must outlive the pass manager.
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
