//===- PassChecks.cpp -----------------------------------------------------===//
#include "compiler/driver/PassChecks.h"
#include "dialects/lm/LmDialect.h"

#include "mlir/Pass/Pass.h"

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
  if (!(change->maxRelative <= kLargestRelativeError))
    failure = Error{ExitCode::Internal, "E0491", "pass " + name + " changed what the model computes",
                    "largest error " + std::to_string(change->maxAbsolute) + " (relative " + std::to_string(change->maxRelative) + ")",
                    "compile with --disable " + name + ", and please report it"};
}
