//===- Compilation.h - One compilation, from options to an engine -----------===//
//
// What a compilation knows, and the steps that it takes: Compile.cpp has their order, ModelPhases.cpp those over lm,
// ProgramPhases.cpp those of a target.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Progress.h"
#include "compiler/driver/CompilerIdentity.h"
#include "compiler/driver/EngineText.h"
#include "compiler/driver/KvCaches.h"
#include "compiler/driver/Listing.h"
#include "compiler/driver/PassRuns.h"
#include "compiler/driver/Recipe.h"
#include "compiler/targets/CodeTarget.h"
#include "passes/Passes.h"

#include <thread>
#include <utility>

namespace ingot::compiler {

class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), progress(options.quiet || options.json ||
                                   (options.emit != Emit::Engine && options.emit != Emit::Rows)),
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
  /// Does the work of a phase unless --from brought its result, and prints what that is if it was asked for.
  struct Step {
    Phase phase;
    Emit printed;
    Result<void> (Compilation::*work)();
  };
  /// True: what was asked for is printed, and nothing is left to do.
  Result<bool> runPhases(llvm::ArrayRef<Step> steps);

  /// All that the user brings is looked at before the checkpoint is.
  Result<void> lookAtOptions();
  Result<void> open();
  Result<void> importModel();
  /// Says what of the recipe has nothing to do, and has matrices whose scales f16 cannot hold stay bf16.
  Result<void> chooseFormats();
  /// Holds the caches that were asked for, and all else that has limits, against the model or program.
  Result<void> chooseCaches();
  Result<void> fuse();

  Result<void> lower();
  Result<void> plan();
  Result<void> check();
  /// Phases of one target. True: what was asked for is printed.
  Result<bool> buildProgram(const CodeTarget &chosen, CodeJob &job);
  Result<bool> addProgram(CodeJob &job);
  /// Compiled kernels beside the slow machine, where this machine can run them.
  Result<void> checkCode(CodeJob &job);
  Result<void> write();

  bool weightsMadeUp() const { return options.weights != WeightOrigin::Checkpoint; }
  void addLowering(mlir::OpPassManager &pm);
  void addPlanning(mlir::OpPassManager &pm);

  const CompileOptions &options;
  mlir::DefaultTimingManager timer; ///< --mlir-timing: prints when it goes
  mlir::TimingScope timing;         ///< of all; null where nobody asks
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
      options,
      threads,
      progress,
      cache,
      compilerIdentity(),
      [this](const std::string &line) { diagnostics.warn(line); },
      [this](std::string what) { return diagnostics.compilerError(std::move(what)); },
      timing};
  /// The targets that were asked for, at work.
  std::vector<std::pair<const CodeTarget *, std::unique_ptr<CodeJob>>> jobs;
  std::shared_ptr<import::Checkpoint> checkpoint;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const CodeTarget *target = nullptr; ///< the one that a program is made for
  mlir::OwningOpRef<mlir::ModuleOp> fused, model,
      lowered; ///< of that program: null where --from left it out
  std::vector<PassEvidence> evidence;
  bool planUnchecked = false; ///< it has ops that the slow machine does not know
  EngineText text;
  fb::EngineT table;
  Listing listing;
  std::vector<SegmentSource> segments;
};

} // namespace ingot::compiler
