//===- ApplyPatterns.cpp - The pass lm-apply-patterns ---------------------===//
//
// The greedy driver of MLIR, without what it does beside the patterns: nothing is folded (a
// folder may ask a new op for an attribute that the pattern forgot) and no region is
// simplified. What a pattern leaves is verified, and then run against the interpreter, as after
// any pass.
//===----------------------------------------------------------------------===//
#include "compiler/extend/PatternFile.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYPATTERNSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// In each of the driver's ten rounds. Far more than a model has ops; patterns that undo each other
/// would go on for ever.
constexpr int64_t kMostRewrites = 10'000;

/// Counts, and catches the op that is erased although its value is used: with assertions off MLIR
/// says nothing, and the users would point to freed memory.
struct Watch : RewriterBase::Listener {
  void notifyPatternEnd(const Pattern &, LogicalResult result) override {
    rewrites += succeeded(result);
  }
  void notifyOperationErased(Operation *op) override {
    if (op->use_empty())
      return;
    if (erased.empty())
      erased = op->getName().getStringRef().str();
    op->dropAllUses();
  }
  int64_t rewrites = 0;
  std::string erased;
};

struct ApplyPatterns : ingot::impl::ApplyPatternsPassBase<ApplyPatterns> {
  using ApplyPatternsPassBase::ApplyPatternsPassBase;
  ApplyPatterns(const std::string &path, FrozenRewritePatternSet read)
      : ApplyPatternsPassBase(ApplyPatternsPassOptions{path}), rules(std::move(read)) {}

  LogicalResult initialize(MLIRContext *context) override {
    if (rules)
      return success();
    auto read = extend::readPatterns(*context, patterns.getValue());
    if (!read)
      return emitError(UnknownLoc::get(context)) << read.error().what << ": " << read.error().why;
    rules = std::move(*read);
    return success();
  }

  void runOnOperation() override {
    lm::ModelOp model = getOperation();
    Watch watch;
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.setMaxNumRewrites(kMostRewrites).setListener(&watch);
    bool done = succeeded(applyPatternsGreedily(model, *rules, config));
    if (!watch.erased.empty()) {
      model.emitError("a pattern of ")
          << patterns.getValue() << " erases " << watch.erased << " whose value is used";
      return signalPassFailure();
    }
    if (!done) {
      model.emitError("the patterns of ")
          << patterns.getValue() << " come to no end: " << watch.rewrites
          << " rewrites, and there is more that matches";
      return signalPassFailure();
    }
    if (watch.rewrites) {
      remark::passed(model.getLoc(), remark::RemarkOpts::name("patterns").category("fusion"))
          << std::to_string(watch.rewrites) + " rewrites by " + patterns.getValue();
    } else {
      remarkMissed(model, "patterns", "nothing matches the patterns of " + patterns.getValue());
      model.emitWarning("nothing matches the patterns of ") << patterns.getValue();
    }
  }

  std::optional<FrozenRewritePatternSet> rules;
};

} // namespace

llvm::StringRef extend::applyPatternsName() { return ApplyPatterns::getArgumentName(); }

std::unique_ptr<Pass> extend::applyPatterns(const std::string &path,
                                            FrozenRewritePatternSet patterns) {
  return std::make_unique<ApplyPatterns>(path, std::move(patterns));
}
