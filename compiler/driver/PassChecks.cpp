//===- PassChecks.cpp -----------------------------------------------------===//
#include "compiler/driver/PassChecks.h"
#include "compiler/extend/PatternFile.h"
#include "dialects/lm/LmDialect.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

void PassChecks::runAfterPass(Pass *pass, Operation *op) {
  if (!isa<lm::ModelOp>(op) || pass->getArgument().empty() || failure)
    return;
  std::string name = pass->getArgument().str();
  auto change = checker.check(module);
  if (!change) {
    failure = change.error();
    if (users.contains(name))
      failure = changed(pass, failure->what + ": " + failure->why);
    return;
  }
  evidence.push_back({name, std::to_string(change->layers) + " layers, seeded", change->maxAbsolute, change->maxRelative});
  if (change->maxRelative <= kLargestRelativeError)
    return;
  failure = changed(pass, "largest error " + std::to_string(change->maxAbsolute) + " (relative " +
                              std::to_string(change->maxRelative) + ")");
}

Error PassChecks::changed(Pass *pass, const std::string &why) const {
  std::string name = pass->getArgument().str();
  if (name == extend::applyPatternsName())
    return {ExitCode::File, "E0428", "a pattern changes what the model computes: " + asText(pass), why,
            "see what it did with --dump-after " + name + ", and correct the file"};
  if (users.contains(name))
    return {ExitCode::File, "E0432", "the pass " + asText(pass) + " of --insert changes what the model computes", why,
            "see what it did with --dump-after " + name + "; correct the pass, or drop --insert"};
  return {ExitCode::Internal, "E0491", "pass " + name + " changed what the model computes", why,
          "compile with --disable " + name + ", and please report it"};
}

std::string compiler::asText(Pass *pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  pass->printAsTextualPipeline(stream);
  return text;
}
