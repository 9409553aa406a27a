//===- Driver.cpp - See Driver.h ------------------------------------------===//
#include "passes/patterns/Driver.h"

#include "dialects/lm/ops/Linear.h"
#include "passes/patterns/Pdl.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace ingot;
using patterns::Driver;

/// The maximum number of rounds in which the driver goes over a program until nothing changes.
static constexpr int kMostRounds = 10;
/// The maximum number of rewrites in one round. This is far more than a model has ops; patterns that
/// undo each other would otherwise never end.
static constexpr int64_t kMostRewrites = 10'000;

// MLIR drops the names of patterns but keeps a configuration for each, so the configuration holds the name.
namespace ingot::patterns {
struct PatternName : PDLPatternConfigBase<PatternName> {
  PatternName(std::string name, Run &run) : name(std::move(name)), run(run) {}
  void notifyRewriteBegin(PatternRewriter &) override { run.pattern = name; }
  std::string name;
  Run &run;
};
} // namespace ingot::patterns

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

Driver::Driver(ModuleOp patterns, CompiledFor whom, Compositions *compositions) {
  run.whom = std::move(whom);
  run.compositions = compositions;
  OwningOpRef<ModuleOp> file(patterns.clone());
  nameResults(*file);
  RewritePatternSet all(file->getContext());
  // A configuration applies to all patterns of a module, so each gets a module of its own.
  for (pdl::PatternOp pattern : llvm::make_early_inc_range(file->getOps<pdl::PatternOp>())) {
    OwningOpRef<ModuleOp> alone(ModuleOp::create(file->getLoc()));
    pattern->moveBefore(alone->getBody(), alone->getBody()->end());
    std::string name = nameOf(pattern);
    addExchanged(*alone);
    all.add(PDLPatternModule(std::move(alone), PatternName(std::move(name), run)));
  }
  registerNatives(all.getPDLPatterns(), run);
  rules = FrozenRewritePatternSet(std::move(all));
}

static GreedyRewriteConfig configFor(RewriterBase::Listener *listener, int64_t mostRewrites) {
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(1).setMaxNumRewrites(mostRewrites).setListener(listener);
  return config;
}

void Driver::applyTo(Operation *top, int64_t limit) {
  for (int round = 0; round < kMostRounds; ++round) {
    const int64_t left = limit < 0 ? kMostRewrites : std::min(kMostRewrites, limit - count);
    if (left == 0 || failed())
      return;
    const int64_t before = count;
    // MLIR also counts rewrites that changed nothing (Missed), so its result does not show whether the program changed.
    (void)applyPatternsGreedily(top, rules, configFor(this, left));
    if (count == before)
      return;
  }
  endless |= limit < 0 || count < limit;
}

void Driver::offer(ArrayRef<Operation *> launches) {
  GreedyRewriteConfig config = configFor(this, kMostRewrites);
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  // MLIR begins with the last op.
  endless |= llvm::failed(
      applyOpPatternsGreedily(llvm::to_vector(llvm::reverse(launches)), rules, config));
}

LogicalResult Driver::check(Operation *owner, StringRef file) const {
  if (!erased.empty())
    return owner->emitError("a pattern of ")
           << file << " erases " << erased << " whose value is used";
  if (!run.failure.empty())
    return owner->emitError("a pattern of ")
           << file << " requests an impossible rewrite: " << run.failure;
  if (endless)
    return owner->emitError("the patterns of ")
           << file << " do not terminate: there are further matches after " << count
           << " rewrites; the last: " << last;
  return success();
}

//===----------------------------------------------------------------------===//
// Notifications about changes of the program
//===----------------------------------------------------------------------===//

/// Describes an op for messages: its kind, the name that the importer gave it, and the function that contains it. An
/// example is "lm.add 'ffn_residual' of @layer".
static std::string wordsFor(Operation *op) {
  std::string words = op->getName().getStringRef().str();
  // An op that a rewrite made has the names of the ops that it replaced.
  if (auto named = op->getLoc()->findInstanceOf<NameLoc>())
    words += " '" + named.getName().str() + "'";
  if (auto function = op->getParentOfType<SymbolOpInterface>())
    words += " of @" + function.getName().str();
  return words;
}

void Driver::notifyPatternBegin(const Pattern &, Operation *op) {
  begun = wordsFor(op);
  auto symbol = op->getParentOfType<SymbolOpInterface>();
  function = symbol ? symbol.getName().str() : "";
}

void Driver::notifyPatternEnd(const Pattern &, LogicalResult result) {
  if (llvm::failed(result) || std::exchange(run.leftAsItWas, false))
    return;
  ++count;
  byPattern.insert(run.pattern);
  byFunction.insert(function);
  last = "the pattern " + run.pattern + " rewrote " + begun;
}

/// PDL does not set the operand segments of a new lm.linear. Derives from the types of its operands which of the
/// optional operands it has.
void Driver::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  auto linear = dyn_cast<lm::LinearOp>(op);
  if (!linear || linear.getProperties().operandSegmentSizes[0])
    return;
  std::array<int32_t, 4> sizes = {1, 1, 0, 0};
  for (Value operand : op->getOperands().drop_front(std::min(2u, op->getNumOperands())))
    ++sizes[isa<lm::WeightType>(operand.getType()) ? 2 : 3];
  if (sizes[2] < 2 && sizes[3] < 2 && op->getNumOperands() == unsigned(2 + sizes[2] + sizes[3]))
    llvm::copy(sizes, linear.getProperties().operandSegmentSizes.begin());
}

/// Without assertions MLIR does not report an op that is erased although its value is used, and the users
/// would point to freed memory.
void Driver::notifyOperationErased(Operation *op) {
  if (op->use_empty())
    return;
  if (erased.empty())
    erased = op->getName().getStringRef().str();
  op->dropAllUses();
}
