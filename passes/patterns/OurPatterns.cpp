//===- OurPatterns.cpp - See OurPatterns.h --------------------------------===//
#include "passes/patterns/OurPatterns.h"
#include "dialects/lm/ops/Model.h"
#include "passes/lowering/Compositions.h"
#include "passes/patterns/Natives.h"
#include "passes/patterns/OurPatternsHash.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace mlir;
using namespace ingot;
namespace path = llvm::sys::path;

StringRef patterns::ourPatternsHash() { return INGOT_OUR_PATTERNS_HASH; }

std::string patterns::installedFile(StringRef name) {
  Dl_info info;
  StringRef library = dladdr(reinterpret_cast<void *>(&installedFile), &info) ? info.dli_fname : "";
  llvm::SmallString<256> real;
  if (llvm::sys::fs::real_path(library, real))
    real = library;
  llvm::SmallString<256> place(path::parent_path(path::parent_path(real)));
  path::append(place, "share/ingot", name);
  return std::string(place);
}

static std::string fileOf(StringRef name) {
  return patterns::installedFile(("passes/patterns/" + name + ".pdl.mlir").str());
}

std::string patterns::missingFile() {
  for (StringRef name : {"AppendEpilogues", "GateUp", "NormPrologues", "Norms", "Residual"})
    if (std::string file = fileOf(name); !llvm::sys::fs::exists(file))
      return file;
  return "";
}

LogicalResult patterns::OurPatterns::read(MLIRContext *context, StringRef name) {
  const std::string file = fileOf(name);
  auto module = parseSourceFile<ModuleOp>(file, ParserConfig(context));
  if (!module)
    return emitError(UnknownLoc::get(context))
           << "the compiler's own patterns cannot be read: " << file;
  PDLPatternModule parsed(std::move(module));
  registerNatives(parsed);
  rules = FrozenRewritePatternSet(RewritePatternSet(std::move(parsed)));
  return success();
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
