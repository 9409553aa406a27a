//===- PassRuns.h - Pass pipelines with checks -------------------------------===//
#pragma once

#include "compiler/driver/checks/PassChecks.h"
#include "compiler/driver/emit/Intermediates.h"
#include "compiler/driver/inputs/Extensions.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"

namespace ingot::compiler {

/// Checks the names of passes in the options. Errors: E0437: an unknown pass in --dump-after; E0406: an unknown pass
/// in --disable.
Result<void> checkPassNames(const CompileOptions &options);

/// Runs the pipelines of one compilation and attributes a failure to its pass: E0427 for a pattern file,
/// E0433 for --insert, else E0490.
class PassRuns {
public:
  using Build = llvm::function_ref<void(mlir::OpPassManager &)>;

  PassRuns(const CompileOptions &options, const Extensions &extensions,
           const Diagnostics &diagnostics, Intermediates &intermediates, mlir::TimingScope &timing)
      : options(options), extensions(extensions), diagnostics(diagnostics),
        intermediates(intermediates), timing(timing) {}

  /// Runs passes over lm and checks each with the interpreter (PassChecks.h).
  Result<void> overModel(mlir::ModuleOp module, Build build, std::vector<PassEvidence> &evidence);
  /// Runs lowering and keeps the freshly lowered plan for its checks (PlanChecks.h).
  Result<void> toPlan(mlir::ModuleOp module, Build build,
                      mlir::OwningOpRef<mlir::ModuleOp> &lowered);
  /// Runs planning.
  Result<void> overPlan(mlir::ModuleOp module, Build build);
  /// Runs passes once more to observe them, without repeating their diagnostics.
  void again(mlir::ModuleOp module, Build build, std::unique_ptr<mlir::PassInstrumentation> watch);

private:
  /// `invalid` describes the pattern rewrite that left an invalid program. `behind` is the extension point before
  /// the pipeline. The user's passes and patterns at that point may have left a program that our passes cannot
  /// handle.
  Result<void> run(mlir::ModuleOp module, Build build, mlir::TimingScope &scope,
                   std::unique_ptr<mlir::PassInstrumentation> watch,
                   const std::string &invalid = "", llvm::StringRef behind = "");
  Error failed(const std::string &name, const std::string &text, const std::string &invalid);

  const CompileOptions &options;
  const Extensions &extensions;
  const Diagnostics &diagnostics;
  Intermediates &intermediates;
  mlir::TimingScope &timing;
};

} // namespace ingot::compiler
