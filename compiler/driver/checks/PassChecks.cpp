//===- PassChecks.cpp -----------------------------------------------------===//
#include "compiler/driver/checks/PassChecks.h"
#include "compiler/crash/CrashContext.h"
#include "compiler/driver/checks/MiscompileReducer.h"
#include "compiler/extend/PatternFile.h"
#include "dialects/lm/ops/Model.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static std::string shortly(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2g", value);
  return text;
}

PassEvidence compiler::judged(std::string what, const reference::Comparison &change,
                              const std::string &weights) {
  return {std::move(what),
          std::to_string(change.layers) + " layers, " + weights + "; allowed " +
              shortly(kLargestRelativeError),
          change.maxAbsolute, change.maxRelative};
}

PassEvidence compiler::measured(std::string what, const reference::Comparison &cost,
                                const std::string &weights,
                                const reference::Comparison *unrounded) {
  std::string inputs = std::to_string(cost.layers) + " layers, " + weights +
                       " rounded to their formats; measured, not judged";
  if (unrounded)
    inputs += " (unrounded " + shortly(unrounded->maxRelative) + ", allowed " +
              shortly(kLargestRelativeError) + ")";
  return {std::move(what), std::move(inputs), cost.maxAbsolute, cost.maxRelative};
}

void PassChecks::runAfterPass(Pass *pass, Operation *op) {
  mlir::TimingScope scope = timing.nest("checks by the reference interpreter");
  if (!isa<lm::ModelOp>(op) || pass->getArgument().empty() || failure)
    return;
  std::string name = pass->getArgument().str();
  suspect("the reference interpreter, after pass " + name, "it was running the output of the pass",
          users.contains(name) ? Whose::Theirs : Whose::Ours);
  auto change = checker.check(module);
  if (!change) {
    failure = change.error();
    if (users.contains(name) || name == extend::applyPatternsName())
      failure = changed(pass, failure->what + ": " + failure->why);
    return;
  }
  evidence.push_back(change->rounding
                         ? measured(name, *change->rounding, "seeded weights", &*change)
                         : judged(name, *change, "seeded weights"));
  if (change->maxRelative <= kLargestRelativeError)
    return;
  failure = changed(pass, "largest error " + std::to_string(change->maxAbsolute) + " (relative " +
                              std::to_string(change->maxRelative) + ", allowed " +
                              shortly(kLargestRelativeError) + "); first " + change->first);
}

bool PassChecks::computesTheSame(ModuleOp program) {
  auto change = checker.compare(program);
  return change && change->maxRelative <= kLargestRelativeError;
}

void PassChecks::runAfterPassFailed(Pass *pass, Operation *op) {
  if (!isa<lm::ModelOp>(op) || pass->getArgument() != extend::applyPatternsName())
    return;
  ScopedDiagnosticHandler silent(op->getContext(), [](Diagnostic &) { return success(); });
  invalid = extend::firstWrongRewrite(pass, checker.after(),
                                      [](ModuleOp program) { return succeeded(verify(program)); });
}

Error PassChecks::changed(Pass *pass, const std::string &why) {
  std::string name = pass->getArgument().str();
  const bool patterns = name == extend::applyPatternsName();
  const std::string code = codeOfChange(name, users);
  std::string left = reduceMiscompile(code, checker.before(), asText(pass), replayCommand);
  if (left.empty())
    left = "inspect its output with --dump-after " + name;
  if (patterns) {
    std::string which = extend::firstWrongRewrite(
        pass, checker.before(), [&](ModuleOp program) { return computesTheSame(program); });
    return {ExitCode::File, code,
            "a pattern changes what the model computes: " + extend::patternsFile(pass),
            (which.empty() ? "" : which + ": ") + why, "correct the file; " + left};
  }
  if (users.contains(name))
    return {ExitCode::File, code,
            "the pass " + asText(pass) + " of --insert changes what the model computes", why,
            "correct the pass, or omit it; " + left};
  return {ExitCode::Internal, code, "pass " + name + " changed what the model computes", why,
          "compile with --disable " + name + ", and please report it; " + left};
}

std::string compiler::asText(Pass *pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  pass->printAsTextualPipeline(stream);
  return text;
}

void PassNames::runBeforePass(Pass *pass, Operation *op) {
  std::string where = "it ran on " + op->getName().getStringRef().str();
  if (users.contains(pass->getArgument()))
    suspect("the pass " + asText(pass) + " of --insert", where + plugins);
  else if (!pass->getArgument().empty())
    suspect("the pass " + asText(pass), where + plugins, Whose::Ours);
}

void PassNames::runAfterPass(Pass *, Operation *) { suspect(""); }

void PassNames::runAfterPassFailed(Pass *pass, Operation *) {
  suspect("");
  if (name.empty() && !pass->getArgument().empty())
    name = pass->getArgument().str(),
    text = name == extend::applyPatternsName() || name == extend::applyKernelPatternsName()
               ? extend::patternsFile(pass)
               : asText(pass);
}
