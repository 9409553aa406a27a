//===- ApplyPatterns.cpp - The pass lm-apply-patterns ---------------------===//
//
// The greedy driver of MLIR, without what it does beside the patterns: nothing is folded (a
// folder may ask a new op for an attribute that the pattern forgot) and no region is
// simplified. What a pattern leaves is verified, and then run against the interpreter, as after
// any pass.
//===----------------------------------------------------------------------===//
#include "compiler/extend/PatternFile.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYPATTERNSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// The driver goes over a model again until nothing changes, this often at most …
constexpr int kMostRounds = 10;
/// … and rewrites this often in one of them. Far more than a model has ops; patterns that undo each other would go on for
/// ever.
constexpr int64_t kMostRewrites = 10'000;

/// Counts, notes the last rewrite, and catches the op that is erased although its value is used: with assertions off MLIR
/// says nothing, and the users would point to freed memory.
struct Watch : RewriterBase::Listener {
  void notifyPatternBegin(const Pattern &, Operation *op) override { begun = wordsFor(op); }
  void notifyPatternEnd(const Pattern &, LogicalResult result) override {
    if (failed(result))
      return;
    ++rewrites;
    last = "the pattern " + extend::lastPattern().str() + " rewrote " + begun;
  }
  void notifyOperationErased(Operation *op) override {
    if (op->use_empty())
      return;
    if (erased.empty())
      erased = op->getName().getStringRef().str();
    op->dropAllUses();
  }
  /// "lm.add 'ffn_residual' of @layer": what importers call it, and the function that it is in.
  static std::string wordsFor(Operation *op) {
    std::string words = op->getName().getStringRef().str();
    if (auto named = op->getLoc()
                         ->findInstanceOf<
                             NameLoc>()) // one that a rewrite made has those of what it replaced
      words += " '" + named.getName().str() + "'";
    if (auto function = op->getParentOfType<SymbolOpInterface>())
      words += " of @" + function.getName().str();
    return words;
  }

  int64_t rewrites = 0;
  std::string begun, last, erased;
};

/// Applies them to a model until none matches, or `limit` rewrites are done (negative: no limit). True if it came to
/// that end.
bool applyTo(lm::ModelOp model, const FrozenRewritePatternSet &rules, int64_t limit, Watch &watch) {
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(1).setListener(&watch);
  for (int round = 0; round < kMostRounds; ++round) {
    int64_t left = limit < 0 ? kMostRewrites : std::min(kMostRewrites, limit - watch.rewrites);
    if (left == 0)
      return true;
    bool changed = false;
    (void)applyPatternsGreedily(model, rules, config.setMaxNumRewrites(left),
                                &changed); // fails where it changed
    if (!changed || !watch.erased.empty())
      return true;
  }
  return limit >= 0 && watch.rewrites >= limit;
}

struct ApplyPatterns : ingot::impl::ApplyPatternsPassBase<ApplyPatterns> {
  using ApplyPatternsPassBase::ApplyPatternsPassBase;
  ApplyPatterns(const std::string &path, FrozenRewritePatternSet read) : rules(std::move(read)) {
    patterns = path;
  }

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
    bool done = applyTo(model, *rules, rewrites, watch);
    if (!watch.erased.empty()) {
      model.emitError("a pattern of ")
          << patterns.getValue() << " erases " << watch.erased << " whose value is used";
      return signalPassFailure();
    }
    if (!done) {
      model.emitError("the patterns of ")
          << patterns.getValue() << " come to no end: " << watch.rewrites
          << " rewrites, and there is more that matches; the last: " << watch.last;
      return signalPassFailure();
    }
    if (watch.rewrites) {
      remarkPassed(model, "patterns",
                   std::to_string(watch.rewrites) + " rewrites by " + patterns.getValue());
    } else {
      remarkMissed(model, "patterns", "nothing matches the patterns of " + patterns.getValue());
      model.emitWarning("nothing matches the patterns of ") << patterns.getValue();
    }
  }

  using ApplyPatternsPassBase::patterns, ApplyPatternsPassBase::rewrites;
  std::optional<FrozenRewritePatternSet> rules;
};

} // namespace

llvm::StringRef extend::applyPatternsName() { return ApplyPatterns::getArgumentName(); }

std::unique_ptr<Pass> extend::applyPatterns(const std::string &path,
                                            FrozenRewritePatternSet patterns) {
  return std::make_unique<ApplyPatterns>(path, std::move(patterns));
}

std::string extend::patternsFile(Pass *pass) {
  return static_cast<ApplyPatterns *>(pass)->patterns;
}

std::string extend::firstWrongRewrite(Pass *pass, ModuleOp before,
                                      llvm::function_ref<bool(ModuleOp)> right) {
  auto &patterns = *static_cast<ApplyPatterns *>(pass);
  std::optional<Watch> watch; // of the last try
  auto rightAfter = [&](int64_t rewrites) {
    OwningOpRef<ModuleOp> copy(before.clone());
    watch.emplace();
    for (lm::ModelOp model : copy->getOps<lm::ModelOp>())
      applyTo(model, *patterns.rules, rewrites, *watch);
    return watch->erased.empty() && right(*copy);
  };
  if (rightAfter(patterns.rewrites))
    return "";
  // Halving finds a rewrite with a right program before it and a wrong one behind.
  int64_t fine = 0, all = watch->rewrites, wrong = all;
  while (wrong - fine > 1) {
    int64_t middle = fine + (wrong - fine) / 2;
    (rightAfter(middle) ? fine : wrong) = middle;
  }
  rightAfter(wrong);
  return watch->last + " (rewrite " + std::to_string(wrong) + " of " + std::to_string(all) + ")";
}
