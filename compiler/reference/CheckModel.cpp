//===- CheckModel.cpp - The reference interpreter in ingot-opt ---------------===//
#include "compiler/reference/CheckModel.h"
#include "compiler/reference/Compare.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

namespace {

struct ModelCheck : PassWrapper<ModelCheck, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ModelCheck)
  ModelCheck() = default;
  ModelCheck(const ModelCheck &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "lm-check"; }
  StringRef getDescription() const override {
    return "run the model in the reference interpreter; report an error if its result differs from "
           "that of another";
  }
  Option<std::string> against{*this, "against", llvm::cl::desc("a file with the other model")};

  void runOnOperation() override {
    Location loc = getOperation().getLoc();
    auto other = parseSourceFile<ModuleOp>(against, &getContext());
    if (!other)
      return signalPassFailure();
    SeededWeights weights;
    auto change = comparePrograms(*other, getOperation(), weights);
    if (!change) {
      mlir::emitError(loc, change.error().what + ": " + change.error().why);
      return signalPassFailure();
    }
    if (change->maxRelative <= kLargestRelativeError) {
      mlir::emitRemark(loc, "computes the same: largest relative error ")
          << std::to_string(change->maxRelative);
      return;
    }
    mlir::emitError(loc, "the result differs: largest error ")
        << std::to_string(change->maxAbsolute) << " (relative "
        << std::to_string(change->maxRelative) << "); first " << change->first;
    signalPassFailure();
  }
};

} // namespace

void reference::registerModelCheckPass() { PassRegistration<ModelCheck>(); }
