//===- Compilation.h - State and phases of one compilation ------------------===//
//
// This class holds the state of a compilation and its steps. Compile.cpp defines the order of the steps,
// ModelPhases.cpp contains the steps over lm, and ProgramPhases.cpp contains the steps for one target.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/PassRuns.h"
#include "compiler/driver/emit/Listing.h"
#include "compiler/driver/engine/EngineText.h"
#include "compiler/driver/formats/KvCaches.h"
#include "compiler/driver/formats/Recipe.h"
#include "compiler/driver/report/Progress.h"
#include "compiler/targets/CodeTarget.h"
#include "passes/Passes.h"

#include <thread>
#include <utility>

namespace ingot::compiler {

class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), progress(options.quiet || options.json || options.emit != Emit::Engine),
        threads(options.threads ? options.threads
                                : std::max(1u, std::thread::hardware_concurrency())) {
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
    if (options.timing) {
      timer.setEnabled(true);
      timer.setDisplayMode(mlir::DefaultTimingManager::DisplayMode::Tree);
      timing = timer.getRootScope();
    }
  }

  Result<void> run();

private:
  /// A phase. Its work is skipped if --from supplies its result, and the result is printed if requested.
  struct Step {
    Phase phase;
    Emit printed;
    Result<void> (Compilation::*work)();
  };
  /// Runs the phases. Returns true if the requested output is printed and nothing is left to do.
  Result<bool> runPhases(llvm::ArrayRef<Step> steps);

  /// Checks everything that the user supplies before the checkpoint is opened.
  Result<void> lookAtOptions();
  Result<void> open();
  Result<void> importModel();
  /// Reports the parts of the recipe that have no effect, and keeps matrices in bf16 if f16 cannot represent the
  /// scales that integer codes would need.
  Result<void> chooseFormats();
  /// Checks the requested KV caches, and all features that depend on the sizes of the model, against the model or
  /// program.
  Result<void> chooseCaches();
  Result<void> fuse();

  Result<void> lower();
  Result<void> plan();
  Result<void> check();
  /// Runs the phases of one target. Returns true if the requested output is printed.
  Result<bool> buildProgram(const CodeTarget &chosen, CodeJob &job);
  Result<bool> addProgram(CodeJob &job);
  /// Compares compiled kernels with the plan interpreter, if this machine can run them.
  Result<void> checkCode(CodeJob &job);
  Result<void> write();

  bool hasDummyWeights() const { return options.weights != WeightOrigin::Checkpoint; }
  void addLowering(mlir::OpPassManager &pm);
  void addPlanning(mlir::OpPassManager &pm);

  const CompileOptions &options;
  mlir::DefaultTimingManager timer; ///< --mlir-timing: prints when destroyed
  mlir::TimingScope timing;         ///< root scope; null without --mlir-timing
  Progress progress;
  int threads;
  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  Diagnostics diagnostics{options, context};
  Extensions extensions{options, context};
  Intermediates intermediates;
  PassRuns passes{options, extensions, diagnostics, intermediates, timing};
  PipelineOptions pipeline;
  Recipe recipe;
  KvCaches caches;
  std::optional<CodeCache> cache;
  CodeContext codeContext{
      options, threads, cache,
      [this](std::string what) { return diagnostics.compilerError(std::move(what)); }, timing};
  /// The requested targets and their jobs.
  std::vector<std::pair<const CodeTarget *, std::unique_ptr<CodeJob>>> jobs;
  std::shared_ptr<import::Checkpoint> checkpoint;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const CodeTarget *target = nullptr; ///< the target of the current program
  mlir::OwningOpRef<mlir::ModuleOp> fused, model,
      lowered; ///< IR of the current program after each phase; null if --from skipped the phase
  std::vector<PassEvidence> evidence;
  /// Whether a plan was not checked because the plan interpreter does not support all its ops.
  bool planUnchecked = false;
  EngineText text;
  fb::EngineT table;
  Listing listing;
  std::vector<SegmentSource> segments;
};

} // namespace ingot::compiler
