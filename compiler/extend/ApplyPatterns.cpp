//===- ApplyPatterns.cpp - lm-apply-patterns, kernel-apply-patterns -------===//
//
// The passes use MLIR's greedy driver, but only for the patterns: nothing is folded (a folder may read an
// attribute that the pattern did not set on a new op) and no region is simplified. The result of the patterns
// is verified and then checked with the interpreter, as after any pass.
//===----------------------------------------------------------------------===//
#include "compiler/extend/PatternFile.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/PlanDialect.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/Compositions.h"
#include "passes/patterns/Natives.h"
#include "passes/patterns/OurPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYPATTERNSPASS
#define GEN_PASS_DEF_APPLYKERNELPATTERNSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// The maximum number of rounds in which the driver goes over a model until nothing changes …
constexpr int kMostRounds = 10;
/// … and the maximum number of rewrites in one round. This is far more than a model has ops; patterns that
/// undo each other would otherwise never end.
constexpr int64_t kMostRewrites = 10'000;

/// Counts rewrites, records the last one, and detects an op that is erased although its value is used.
/// Without assertions MLIR does not report that, and the users would point to freed memory.
struct Watch : RewriterBase::Listener {
  void notifyPatternBegin(const Pattern &, Operation *op) override {
    begun = wordsFor(op);
    auto function = op->getParentOfType<SymbolOpInterface>();
    place = function ? function.getName().str() : "";
  }
  void notifyPatternEnd(const Pattern &, LogicalResult result) override {
    if (failed(result) || patterns::Run::leftAsItWas())
      return;
    ++rewrites;
    byPattern.insert(extend::lastPattern());
    byPlace.insert(place);
    last = "the pattern " + extend::lastPattern().str() + " rewrote " + begun;
  }
  /// Derives from the operands' types which optional operands an op made by a pattern has.
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    auto linear = dyn_cast<lm::LinearOp>(op);
    if (!linear || linear.getProperties().operandSegmentSizes[0])
      return;
    std::array<int32_t, 4> sizes = {1, 1, 0, 0};
    for (Value operand : op->getOperands().drop_front(std::min(2u, op->getNumOperands())))
      ++sizes[isa<lm::WeightType>(operand.getType()) ? 2 : 3];
    if (sizes[2] < 2 && sizes[3] < 2 && op->getNumOperands() == unsigned(2 + sizes[2] + sizes[3]))
      llvm::copy(sizes, linear.getProperties().operandSegmentSizes.begin());
  }
  void notifyOperationErased(Operation *op) override {
    if (op->use_empty())
      return;
    if (erased.empty())
      erased = op->getName().getStringRef().str();
    op->dropAllUses();
  }
  /// Returns a description of an op, with the importer's name for it and its function: "lm.add 'ffn_residual'
  /// of @layer".
  static std::string wordsFor(Operation *op) {
    std::string words = op->getName().getStringRef().str();
    if (auto named =
            op->getLoc()
                ->findInstanceOf<
                    NameLoc>()) // an op that a rewrite made has the names of the ops that it
                                // replaced
      words += " '" + named.getName().str() + "'";
    if (auto function = op->getParentOfType<SymbolOpInterface>())
      words += " of @" + function.getName().str();
    return words;
  }

  int64_t rewrites = 0;
  llvm::StringSet<> byPattern, byPlace; ///< patterns that rewrote; functions in which they did
  std::string begun, place, last, erased, impossible, missed;
};

/// Applies the patterns to a model or kernel until none matches or `limit` rewrites are done (negative: no
/// limit). Returns true if it reached one of these ends.
bool applyTo(Operation *top, const FrozenRewritePatternSet &rules, int64_t limit, Watch &watch,
             const patterns::CompiledFor &whom) {
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(1).setListener(&watch);
  patterns::Run run(whom);
  for (int round = 0; round < kMostRounds; ++round) {
    int64_t left = limit < 0 ? kMostRewrites : std::min(kMostRewrites, limit - watch.rewrites);
    if (left == 0)
      return true;
    const int64_t before = watch.rewrites;
    (void)applyPatternsGreedily(
        top, rules,
        config.setMaxNumRewrites(left)); // returns failure if it changed anything
    watch.impossible = patterns::Run::failure();
    if (watch.missed.empty())
      watch.missed = patterns::Run::firstMissed();
    if (watch.rewrites == before || !watch.erased.empty() || !watch.impossible.empty())
      return true;
  }
  return limit >= 0 && watch.rewrites >= limit;
}

/// Returns the layer kinds in which something was rewritten, or those in which nothing was: "@attention (16
/// layers), @conv (8 layers)".
std::string kindsOf(lm::ModelOp model, const Watch &watch, bool rewritten) {
  llvm::MapVector<StringRef, int> layers;
  model.walk([&](lm::LayersOp op) {
    for (auto kind : op.getKinds().getAsRange<FlatSymbolRefAttr>())
      if (watch.byPlace.contains(kind.getValue()) == rewritten)
        ++layers[kind.getValue()];
  });
  std::string text;
  for (auto [kind, count] : layers)
    text += (text.empty() ? "@" : ", @") + kind.str() + " (" + std::to_string(count) +
            (count == 1 ? " layer)" : " layers)");
  return text;
}

/// Reports how often the patterns matched, and where they did not match.
void report(Operation *top, const Watch &watch, const std::string &path,
            ArrayRef<std::string> names) {
  if (!watch.rewrites) {
    const std::string none = watch.missed.empty()
                                 ? "nothing matches the patterns of " + path
                                 : "the patterns of " + path +
                                       " match, but no match could be applied: " + watch.missed +
                                       " (see --remarks missed)";
    remarkMissed(top, "patterns", none);
    top->emitWarning(none);
    return;
  }
  remarkPassed(top, "patterns", std::to_string(watch.rewrites) + " rewrites by " + path);
  for (const std::string &name : names)
    if (!watch.byPattern.contains(name))
      remarkMissed(top, "patterns", "nothing matches the pattern " + name + " of " + path);
  auto model = dyn_cast<lm::ModelOp>(top);
  if (!model)
    return;
  const std::string with = kindsOf(model, watch, true), without = kindsOf(model, watch, false);
  if (with.empty() || without.empty())
    return; // only the entry point, or all layers
  remarkMissed(top, "patterns", "nothing matches the patterns of " + path + " in " + without);
  top->emitWarning("the patterns of ") << path << " match in " << with << ", not in " << without;
}

/// The common part of both passes.
struct Applied {
  LogicalResult read(MLIRContext *context, const std::string &path) {
    if (patterns)
      return success();
    auto read = extend::readPatterns(*context, path);
    if (!read)
      return emitError(UnknownLoc::get(context)) << read.error().what << ": " << read.error().why;
    patterns = std::move(*read);
    return success();
  }

  /// Applies the patterns to each of `tops`, and once to each of `launches`. Reports about all of them go to
  /// `owner`.
  LogicalResult applyTo(ArrayRef<Operation *> tops, ArrayRef<Operation *> launches,
                        Operation *owner, const std::string &path, int64_t rewrites,
                        const ingot::patterns::CompiledFor &whom) const {
    Watch watch;
    bool done = true;
    for (Operation *top : tops)
      done = done && ::applyTo(top, patterns->rules, rewrites, watch, whom);
    ingot::patterns::offerOnce(launches, patterns->rules, &watch);
    if (watch.impossible.empty())
      watch.impossible = ingot::patterns::Run::failure();
    if (!watch.erased.empty())
      return owner->emitError("a pattern of ")
             << path << " erases " << watch.erased << " whose value is used";
    if (!watch.impossible.empty())
      return owner->emitError("a pattern of ")
             << path << " requests an impossible rewrite: " << watch.impossible;
    if (!done)
      return owner->emitError("the patterns of ")
             << path << " do not terminate: there are further matches after " << watch.rewrites
             << " rewrites; the last: " << watch.last;
    report(owner, watch, path, patterns->names);
    if (auto model = dyn_cast<lm::ModelOp>(owner); model && watch.rewrites)
      ingot::patterns::dropUnreadWeights(model);
    return success();
  }

  std::optional<extend::Patterns> patterns;
};

struct ApplyPatterns : ingot::impl::ApplyPatternsPassBase<ApplyPatterns> {
  using ApplyPatternsPassBase::ApplyPatternsPassBase;
  ApplyPatterns(const std::string &path, extend::Patterns read,
                const ingot::patterns::CompiledFor &whom) {
    applied.patterns = std::move(read);
    patterns = path;
    devices = llvm::map_to_vector(whom.targets, std::mem_fn(&Target::kind));
    precision = whom.exact ? Precision::Exact : Precision::Fast;
    fp8Rows = whom.fp8Rows;
  }

  LogicalResult initialize(MLIRContext *context) override {
    return applied.read(context, patterns.getValue());
  }
  void runOnOperation() override {
    if (failed(applied.applyTo({getOperation()}, {}, getOperation(), patterns, rewrites, whom())))
      signalPassFailure();
  }
  ingot::patterns::CompiledFor whom() const {
    ingot::patterns::CompiledFor whom{{}, precision == Precision::Exact, fp8Rows};
    for (DeviceKind device : devices)
      whom.targets.push_back(&targetOf(device));
    return whom;
  }

  using ApplyPatternsPassBase::patterns, ApplyPatternsPassBase::rewrites;
  Applied applied;
};

struct ApplyKernelPatterns : ingot::impl::ApplyKernelPatternsPassBase<ApplyKernelPatterns> {
  using ApplyKernelPatternsPassBase::ApplyKernelPatternsPassBase;
  ApplyKernelPatterns(const std::string &path, extend::Patterns read, DeviceKind target) {
    applied.patterns = std::move(read);
    patterns = path;
    device = ArrayRef(target);
  }

  LogicalResult initialize(MLIRContext *context) override {
    return applied.read(context, patterns.getValue());
  }
  void runOnOperation() override {
    if (device.size() > 1) {
      getOperation().emitError("expects at most one device, since launches are for one");
      return signalPassFailure();
    }
    std::optional<Compositions> compositions;
    if (!device.empty())
      compositions.emplace(getOperation(), targetOf(device.front()));
    ingot::patterns::Run run({}, compositions ? &*compositions : nullptr);
    SmallVector<Operation *> kernels;
    for (auto kernel : getOperation().getOps<FunctionOpInterface>())
      kernels.push_back(kernel);
    if (failed(applied.applyTo(kernels, Compositions::launchesOf(getOperation()), getOperation(),
                               patterns, -1, {})))
      signalPassFailure();
    if (compositions)
      compositions->finish();
  }

  using ApplyKernelPatternsPassBase::patterns;
  Applied applied;
};

} // namespace

llvm::StringRef extend::applyPatternsName() { return ApplyPatterns::getArgumentName(); }

std::unique_ptr<Pass> extend::applyPatterns(const std::string &path, Patterns patterns,
                                            const patterns::CompiledFor &whom) {
  return std::make_unique<ApplyPatterns>(path, std::move(patterns), whom);
}

llvm::StringRef extend::applyKernelPatternsName() { return ApplyKernelPatterns::getArgumentName(); }

std::unique_ptr<Pass> extend::applyKernelPatterns(const std::string &path, Patterns patterns,
                                                  DeviceKind device) {
  return std::make_unique<ApplyKernelPatterns>(path, std::move(patterns), device);
}

std::string extend::patternsFile(Pass *pass) {
  return pass->getArgument() == applyPatternsName()
             ? static_cast<ApplyPatterns *>(pass)->patterns
             : static_cast<ApplyKernelPatterns *>(pass)->patterns;
}

std::string extend::firstWrongRewrite(Pass *pass, ModuleOp before,
                                      llvm::function_ref<bool(ModuleOp)> right) {
  auto &patterns = *static_cast<ApplyPatterns *>(pass);
  std::optional<Watch> watch; // from the last try
  auto rightAfter = [&](int64_t rewrites) {
    OwningOpRef<ModuleOp> copy(before.clone());
    watch.emplace();
    for (lm::ModelOp model : copy->getOps<lm::ModelOp>())
      ::applyTo(model, patterns.applied.patterns->rules, rewrites, *watch, patterns.whom());
    return watch->erased.empty() && watch->impossible.empty() && right(*copy);
  };
  if (rightAfter(patterns.rewrites))
    return "";
  // Bisection finds a rewrite with a correct program before it and a wrong one after it.
  int64_t fine = 0, all = watch->rewrites, wrong = all;
  while (wrong - fine > 1) {
    int64_t middle = fine + (wrong - fine) / 2;
    (rightAfter(middle) ? fine : wrong) = middle;
  }
  rightAfter(wrong);
  return watch->last + " (rewrite " + std::to_string(wrong) + " of " + std::to_string(all) + ")";
}
