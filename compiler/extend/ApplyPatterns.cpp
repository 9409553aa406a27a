//===- ApplyPatterns.cpp - lm-apply-patterns, kernel-apply-patterns -------===//
//
// The result of the patterns is verified and then checked with the interpreter, as after any pass.
//===----------------------------------------------------------------------===//
#include "compiler/extend/PatternFile.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/PlanDialect.h"
#include "passes/Target.h"
#include "passes/fusion/Regions.h"
#include "passes/lowering/Compositions.h"
#include "passes/patterns/Driver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYPATTERNSPASS
#define GEN_PASS_DEF_APPLYKERNELPATTERNSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Lists the layer kinds in which a pattern rewrote something, or, without `rewritten`, the layer kinds in which none
/// did: "@attention (16 layers), @conv (8 layers)".
std::string kindsOf(lm::ModelOp model, const patterns::Driver &driver, bool rewritten) {
  llvm::MapVector<StringRef, int> layers;
  model.walk([&](lm::LayersOp op) {
    for (auto kind : op.getKinds().getAsRange<FlatSymbolRefAttr>())
      if (driver.hasRewrittenIn(kind.getValue()) == rewritten)
        ++layers[kind.getValue()];
  });
  std::string text;
  for (auto [kind, count] : layers)
    text += (text.empty() ? "@" : ", @") + kind.str() + " (" + std::to_string(count) +
            (count == 1 ? " layer)" : " layers)");
  return text;
}

/// Reports how often the patterns matched, and where they did not match.
void report(Operation *top, const patterns::Driver &driver, const std::string &path,
            ArrayRef<std::string> names) {
  if (!driver.rewrites()) {
    const std::string none =
        driver.firstMissed().empty()
            ? "nothing matches the patterns of " + path
            : "the patterns of " + path +
                  " match, but no match could be applied: " + driver.firstMissed() +
                  " (see --remarks missed)";
    remarkMissed(top, "patterns", none);
    top->emitWarning(none);
    return;
  }
  remarkPassed(top, "patterns", std::to_string(driver.rewrites()) + " rewrites by " + path);
  for (const std::string &name : names)
    if (!driver.hasRewrittenBy(name))
      remarkMissed(top, "patterns", "nothing matches the pattern " + name + " of " + path);
  auto model = dyn_cast<lm::ModelOp>(top);
  if (!model)
    return;
  const std::string with = kindsOf(model, driver, true), without = kindsOf(model, driver, false);
  if (with.empty() || without.empty())
    return; // patterns matched only in the entry point, or in all layers
  remarkMissed(top, "patterns", "nothing matches the patterns of " + path + " in " + without);
  top->emitWarning("the patterns of ") << path << " match in " << with << ", not in " << without;
}

/// The pattern file of a pass. Each of the two passes has one.
struct File {
  LogicalResult read(MLIRContext *context, const std::string &path) {
    if (patterns.module)
      return success();
    auto read = extend::readPatterns(*context, path);
    if (!read)
      return emitError(UnknownLoc::get(context)) << read.error().what << ": " << read.error().why;
    patterns = std::move(*read);
    return success();
  }
  ModuleOp module() const { return patterns.module->get(); }

  extend::Patterns patterns;
};

struct ApplyPatterns : ingot::impl::ApplyPatternsPassBase<ApplyPatterns> {
  using ApplyPatternsPassBase::ApplyPatternsPassBase;
  ApplyPatterns(const std::string &path, extend::Patterns read,
                const ingot::patterns::CompiledFor &whom) {
    file.patterns = std::move(read);
    patterns = path;
    devices = llvm::map_to_vector(whom.targets, std::mem_fn(&Target::kind));
    precision = whom.exact ? Precision::Exact : Precision::Fast;
    fp8Rows = whom.fp8Rows;
  }

  LogicalResult initialize(MLIRContext *context) override {
    return file.read(context, patterns.getValue());
  }
  void runOnOperation() override {
    lm::ModelOp model = getOperation();
    ingot::patterns::Driver driver(file.module(), whom());
    driver.applyTo(model, rewrites);
    if (failed(driver.check(model, patterns)))
      return signalPassFailure();
    report(model, driver, patterns, file.patterns.names);
    if (driver.rewrites())
      ingot::patterns::dropUnreadWeights(model);
  }
  ingot::patterns::CompiledFor whom() const {
    ingot::patterns::CompiledFor whom{{}, precision == Precision::Exact, fp8Rows};
    for (DeviceKind device : devices)
      whom.targets.push_back(&targetOf(device));
    return whom;
  }

  using ApplyPatternsPassBase::patterns, ApplyPatternsPassBase::rewrites;
  File file;
};

struct ApplyKernelPatterns : ingot::impl::ApplyKernelPatternsPassBase<ApplyKernelPatterns> {
  using ApplyKernelPatternsPassBase::ApplyKernelPatternsPassBase;
  ApplyKernelPatterns(const std::string &path, extend::Patterns read, DeviceKind target) {
    file.patterns = std::move(read);
    patterns = path;
    device = ArrayRef(target);
  }

  LogicalResult initialize(MLIRContext *context) override {
    return file.read(context, patterns.getValue());
  }
  void runOnOperation() override {
    if (device.size() > 1) {
      getOperation().emitError("expects at most one device, since launches are for one");
      return signalPassFailure();
    }
    std::optional<Compositions> compositions;
    if (!device.empty())
      compositions.emplace(getOperation(), targetOf(device.front()));
    ingot::patterns::Driver driver(file.module(), {}, compositions ? &*compositions : nullptr);
    for (auto kernel : getOperation().getOps<FunctionOpInterface>())
      driver.applyTo(kernel);
    driver.offer(Compositions::launchesOf(getOperation()));
    if (compositions)
      compositions->finish();
    if (failed(driver.check(getOperation(), patterns)))
      return signalPassFailure();
    report(getOperation(), driver, patterns, file.patterns.names);
  }

  using ApplyKernelPatternsPassBase::patterns;
  File file;
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

std::string extend::firstWrongRewrite(Pass *given, ModuleOp before,
                                      llvm::function_ref<bool(ModuleOp)> right) {
  auto *pass = static_cast<ApplyPatterns *>(given);
  std::optional<patterns::Driver> driver; // the driver of the last attempt
  auto rightAfter = [&](int64_t rewrites) {
    OwningOpRef<ModuleOp> copy(before.clone());
    driver.emplace(pass->file.module(), pass->whom());
    for (lm::ModelOp model : copy->getOps<lm::ModelOp>())
      driver->applyTo(model, rewrites);
    return !driver->failed() && right(*copy);
  };
  if (rightAfter(pass->rewrites))
    return "";
  // Bisection finds a rewrite with a correct program before it and a wrong one after it.
  int64_t fine = 0, all = driver->rewrites(), wrong = all;
  while (wrong - fine > 1) {
    int64_t middle = fine + (wrong - fine) / 2;
    (rightAfter(middle) ? fine : wrong) = middle;
  }
  rightAfter(wrong);
  return driver->lastRewrite() + " (rewrite " + std::to_string(wrong) + " of " +
         std::to_string(all) + ")";
}
