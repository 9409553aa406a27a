//===- PassRuns.cpp - See PassRuns.h --------------------------------------===//
#include "compiler/driver/PassRuns.h"
#include "compiler/crash/CrashContext.h"
#include "compiler/driver/Compile.h"
#include "compiler/driver/checks/PlanChecks.h"
#include "compiler/extend/KernelFile.h"
#include "compiler/extend/PatternFile.h"
#include "passes/Passes.h"
#include "runtime/error/Suggest.h"

#include "mlir/IR/Action.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Rewrite/PatternApplicator.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<void> compiler::checkPassNames(const CompileOptions &options) {
  auto known = [](const std::vector<std::string> &passes, const char *where) -> Result<void> {
    for (const std::string &pass : passes)
      if (pass != "all" && !PassInfo::lookup(pass))
        return Error{ExitCode::Usage, "E0437", "there is no pass '" + pass + "' to dump " + where,
                     didYouMean(pass, pipelinePasses()),
                     "list the passes and their order: ingot passes"};
    return {};
  };
  if (auto ok = known(options.dumpAfter, "after"); !ok)
    return ok;
  if (auto ok = known(options.dumpBefore, "before"); !ok)
    return ok;
  const std::vector<std::string> optional(optionalPasses().begin(), optionalPasses().end());
  for (const std::string &pass : options.disabled)
    if (!llvm::is_contained(optionalPasses(), pass))
      return Error{ExitCode::Usage, "E0406", "cannot disable '" + pass + "'",
                   PassInfo::lookup(pass) ? "the pass is required"
                                          : didYouMean(pass, optional, "there is no such pass"),
                   "list the optional passes: ingot passes"};
  return {};
}

/// Enables the IR printing of --dump-after and its MLIR equivalents.
static void printAsAsked(const CompileOptions &options, PassManager &pm) {
  if (options.dumpAfter.empty() && options.dumpBefore.empty())
    return;
  const bool all = llvm::is_contained(options.dumpAfter, "all");
  pm.enableIRPrinting(
      [&options](Pass *pass, Operation *) {
        return llvm::is_contained(options.dumpBefore, pass->getArgument());
      },
      [&options, all](Pass *pass, Operation *) {
        return all ? !pass->getArgument().empty()
                   : llvm::is_contained(options.dumpAfter, pass->getArgument());
      },
      /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/all);
}

/// Returns the module with the pipeline that is about to run, in the form of `ingot-opt
/// --run-reproducer`.
static std::string reproducerOf(ModuleOp module, PassManager &pm) {
  std::string text, pipeline;
  llvm::raw_string_ostream out(text), passes(pipeline);
  pm.printAsTextualPipeline(passes);
  module->print(out, OpPrintingFlags().printGenericOpForm());
  out << "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: \"";
  llvm::printEscapedString(pipeline, out);
  out << "\",\n      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n";
  return text;
}

Error PassRuns::failed(const std::string &name, const std::string &text,
                       const std::string &invalid) {
  if (name == extend::applyPatternsName() || name == extend::applyKernelPatternsName())
    return {ExitCode::File, "E0427", "a pattern produces an invalid program: " + text,
            (invalid.empty() ? "" : invalid + ": ") + diagnostics.first(), "correct the file"};
  if (name == extend::attachKernelName())
    return {ExitCode::File, "E0450", "no launch uses a kernel file: " + text, diagnostics.first(),
            "put the patterns that create its region before it (--patterns)"};
  if (diagnostics.say("has neither a kernel for") ||
      diagnostics.say("user-supplied kernels do not support"))
    return {
        ExitCode::File, "E0479", "a plugin's op cannot be compiled for this target",
        diagnostics.first(),
        "give it a kernelBody for the target, or a decomposition (docs/kernel-from-outside.md)"};
  // If no pass name was recorded, a pass failed before it ran. Our own passes never do that.
  if ((name.empty() && !options.insertions.empty()) || extensions.passes().contains(name)) {
    return {ExitCode::File, "E0433",
            name.empty() ? "a pass of --insert cannot start"
                         : "the pass " + text + " of --insert failed",
            diagnostics.first(),
            diagnostics.say("trying to schedule")
                ? "name the op that it runs on: " + extensions.nestedInsertion()
                : "correct the pass, or drop --insert"};
  }
  return diagnostics.compilerError("the pass " + text + " failed");
}

/// Records the op on which a pattern is tried, for a crash report.
static void noteOp(llvm::function_ref<void()> work, const tracing::Action &action) {
  if (action.getTag() == ApplyPatternAction::tag && !action.getContextIRUnits().empty())
    if (auto *op = llvm::dyn_cast_if_present<Operation *>(action.getContextIRUnits().front())) {
      StringRef symbol;
      for (Operation *up = op; up && symbol.empty(); up = up->getParentOp())
        if (auto name = up->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
          symbol = name.getValue();
      suspectAt(op->getName().getStringRef(), symbol);
    }
  work();
}

namespace {
class NotesOps {
public:
  explicit NotesOps(MLIRContext *context) : context(context) {
    context->registerActionHandler(noteOp);
  }
  ~NotesOps() { context->registerActionHandler({}); }

private:
  MLIRContext *context;
};
} // namespace

Result<void> PassRuns::run(ModuleOp module, Build build, TimingScope &scope,
                           std::unique_ptr<PassInstrumentation> watch, const std::string &invalid,
                           StringRef behind) {
  PassManager pm(module.getContext());
  pm.enableVerifier(true);
  build(pm);
  printAsAsked(options, pm);
  std::string name, text;
  pm.addInstrumentation(
      std::make_unique<PassNames>(extensions.passes(), extensions.plugins(), name, text));
  if (watch)
    pm.addInstrumentation(std::move(watch));
  if (auto writer = intermediates.watch())
    pm.addInstrumentation(std::move(writer));
  pm.enableTiming(scope); // added last, so that instrumentation does not count as pass time
  const Reproducer reproducer([&] { return reproducerOf(module, pm); },
                              extensions.replayCommand() + " --run-reproducer PLACE");
  const NotesOps noted(module.getContext());
  if (succeeded(pm.run(module)))
    return {};
  auto isBehind = [&](const auto &given) { return given.point == behind; };
  if (!extensions.passes().contains(name) &&
      (llvm::any_of(options.patterns, isBehind) ||
       llvm::any_of(options.insertions, [&](const auto &given) { return given.first == behind; })))
    return Error{
        ExitCode::File, "E0433",
        "pass " + text + " failed on the output of --patterns or --insert at " + behind.str(),
        diagnostics.first(), "correct them; if it fails without them too, this is a bug in ingot"};
  return failed(name, text, invalid);
}

Result<void> PassRuns::overModel(ModuleOp module, Build build,
                                 std::vector<PassEvidence> &evidence) {
  std::optional<Error> broken;
  std::string invalid;
  TimingScope scope = timing.nest("passes over lm");
  auto ran = run(module, build, scope,
                 std::make_unique<PassChecks>(module, extensions.passes(), evidence, broken,
                                              invalid, scope, extensions.replayCommand()),
                 invalid);
  return broken ? *broken : ran; // the first broken check takes precedence
}

Result<void> PassRuns::toPlan(ModuleOp module, Build build, OwningOpRef<ModuleOp> &lowered) {
  TimingScope scope = timing.nest("lowering");
  return run(module, build, scope, std::make_unique<LoweredPlan>(lowered));
}

Result<void> PassRuns::overPlan(ModuleOp module, Build build) {
  TimingScope scope = timing.nest("planning");
  return run(module, build, scope, nullptr, "", "pre-plan");
}

void PassRuns::again(ModuleOp module, Build build, std::unique_ptr<PassInstrumentation> watch) {
  MLIRContext *context = module.getContext();
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  context->setRemarkEngine(nullptr);
  PassManager pm(context);
  build(pm);
  std::string name, text;
  pm.addInstrumentation(
      std::make_unique<PassNames>(extensions.passes(), extensions.plugins(), name, text));
  pm.addInstrumentation(std::move(watch));
  (void)pm.run(module); // after a failure, the passes before it were still observed
}
