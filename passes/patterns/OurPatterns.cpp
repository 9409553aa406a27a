//===- OurPatterns.cpp - See OurPatterns.h --------------------------------===//
#include "passes/patterns/OurPatterns.h"
#include "dialects/lm/ops/Model.h"
#include "passes/lowering/Compositions.h"
#include "passes/patterns/Natives.h"

#include "mlir/Rewrite/PatternApplicator.h"

using namespace mlir;
using namespace ingot;

void patterns::OurPatterns::read(MLIRContext *context, Generated file) {
  RewritePatternSet all(context);
  file(all);
  registerNatives(all.getPDLPatterns());
  rules = FrozenRewritePatternSet(std::move(all));
}

namespace {
/// Records erased ops, and forwards all notifications.
struct Erased : RewriterBase::ForwardingListener {
  using ForwardingListener::ForwardingListener;
  void notifyOperationErased(Operation *op) override {
    ops.insert(op);
    ForwardingListener::notifyOperationErased(op);
  }
  llvm::SmallPtrSet<Operation *, 16> ops;
};
} // namespace

void patterns::offerOnce(ArrayRef<Operation *> ops, const FrozenRewritePatternSet &rules,
                         RewriterBase::Listener *listener) {
  if (ops.empty())
    return;
  Erased erased(listener);
  PatternRewriter rewriter(ops.front()->getContext());
  rewriter.setListener(&erased);
  PatternApplicator applicator(rules);
  applicator.applyDefaultCostModel();
  for (Operation *op : ops) {
    if (erased.ops.contains(op))
      continue;
    rewriter.setInsertionPoint(op);
    // A pattern driver must report where each pattern begins and ends.
    auto begins = [&](const Pattern &pattern) {
      erased.notifyPatternBegin(pattern, op);
      return true;
    };
    auto fails = [&](const Pattern &pattern) { erased.notifyPatternEnd(pattern, failure()); };
    auto ends = [&](const Pattern &pattern) {
      erased.notifyPatternEnd(pattern, success());
      return success();
    };
    (void)applicator.matchAndRewrite(op, rewriter, begins, fails, ends);
  }
}

void patterns::OurPatterns::applyTo(lm::ModelOp model) const {
  SmallVector<Operation *> ops;
  model.walk([&](Operation *op) { ops.push_back(op); });
  Run run;
  offerOnce(ops, rules);
}

void patterns::OurPatterns::applyTo(ModuleOp module, const Target &target) const {
  Compositions compositions(module, target);
  Run run({}, &compositions);
  offerOnce(Compositions::launchesOf(module), rules);
  compositions.finish();
}
