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
    return;
  }
  evidence.push_back({name, std::to_string(change->layers) + " layers, seeded", change->maxAbsolute, change->maxRelative});
  if (change->maxRelative <= kLargestRelativeError)
    return;
  std::string error = "largest error " + std::to_string(change->maxAbsolute) + " (relative " + std::to_string(change->maxRelative) + ")";
  if (name == extend::applyPatternsName())
    failure = Error{ExitCode::File, "E0428", "a pattern changes what the model computes: " + asText(pass), error,
                    "see what it did with --dump-after " + name + ", and correct the file"};
  else
    failure = Error{ExitCode::Internal, "E0491", "pass " + name + " changed what the model computes", error,
                    "compile with --disable " + name + ", and please report it"};
}

std::string compiler::asText(Pass *pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  pass->printAsTextualPipeline(stream);
  return text;
}
