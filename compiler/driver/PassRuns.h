//===- PassRuns.h - Pipelines, each pass checked -----------------------------===//
#pragma once

#include "compiler/driver/Extensions.h"
#include "compiler/driver/Intermediates.h"
#include "compiler/driver/PassChecks.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"

namespace ingot::compiler {

/// E0437: there is no such pass for --dump-after; E0406: none for --disable.
Result<void> checkPassNames(const CompileOptions &options);

/// Runs the pipelines of one compilation, and says whose pass it was that failed: E0427 of a file of patterns, E0433 of
/// --insert, else E0490.
class PassRuns {
public:
  using Build = llvm::function_ref<void(mlir::OpPassManager &)>;

  PassRuns(const CompileOptions &options, const Extensions &extensions,
           const Diagnostics &diagnostics, Intermediates &intermediates, mlir::TimingScope &timing)
      : options(options), extensions(extensions), diagnostics(diagnostics),
        intermediates(intermediates), timing(timing) {}

  /// Runs passes over lm, each against the interpreter (PassChecks.h).
  Result<void> overModel(mlir::ModuleOp module, Build build, std::vector<PassEvidence> &evidence);
  /// Runs lowering; the plan as it was lowered is kept for its checks (PlanChecks.h).
  Result<void> toPlan(mlir::ModuleOp module, Build build,
                      mlir::OwningOpRef<mlir::ModuleOp> &lowered);
  /// Runs planning.
  Result<void> overPlan(mlir::ModuleOp module, Build build);
  /// Runs what ran before to look at what it does: it says nothing again.
  void again(mlir::ModuleOp module, Build build, std::unique_ptr<mlir::PassInstrumentation> watch);

private:
  /// `invalid`: which rewrite of patterns left an invalid program. `behind`: a point before the pipeline, whose passes and
  /// patterns may have left what ours cannot work on.
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
