//===- Compositions.h - Merges a launch into its neighbours ----------------===//
//
// With few tokens, a launch costs more than the work that it does. In steps of few tokens, launches are merged:
//
//   FuseIntoConsumers.cpp  the consumers of rows compute them: norm ─▶ q, k, v     becomes  [norm ─▶] q, k, v
//   FuseIntoProducer.cpp   the producer does the next step:    q, k, v ─▶ append   becomes  q, k, v [─▶ append]
//
// Kernels are copied before they are changed, so other launches that share them stay the same. The target is queried
// first: it decides whether it has such a kernel, and up to how many tokens the composition pays off. The launches are
// chosen by NormPrologues.pdll, AppendEpilogues.pdll and users' pattern files (passes/patterns/LaunchNatives.cpp).
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace ingot::plan {
class LaunchOp;
struct Condition;
} // namespace ingot::plan

namespace ingot {

class KernelEdits;
class Target;

class Compositions {
public:
  Compositions(mlir::ModuleOp module, const Target &target);
  ~Compositions();

  /// The launches of all programs, in order.
  static llvm::SmallVector<mlir::Operation *> launchesOf(mlir::ModuleOp module);

  /// Why the composition is impossible; "" if it is possible in steps of few tokens.
  std::string whyNotIntoConsumers(plan::LaunchOp launch);
  std::string whyNotIntoProducer(plan::LaunchOp launch);

  /// Composes the launch in steps of at most `most` tokens or logits rows, or fewer if the target says so.
  /// Emits a remark called `name` that describes the change or gives the reason why there is none. Returns true if the
  /// program changed.
  bool fuseIntoConsumers(plan::LaunchOp launch, llvm::StringRef name, int64_t most);
  bool fuseIntoProducer(plan::LaunchOp launch, llvm::StringRef name, int64_t most);

  /// Removes kernels that lost their launches. Called once at the end.
  void finish();

private:
  /// The analysis of a launch that writes rows for projections.
  struct Prologue;
  std::string find(plan::LaunchOp launch, Prologue &found);
  std::string findConsumers(plan::LaunchOp launch, Prologue &found);
  /// The analysis of a launch that reads the output of a projection.
  struct Epilogue;
  std::string find(plan::LaunchOp launch, Epilogue &found);
  std::string findProjections(plan::LaunchOp launch, Epilogue &found);

  /// True if steps within `few` never reach the launch, because it is in the `else` of such a condition.
  static bool isForMore(plan::LaunchOp launch, plan::Condition few);

  std::unique_ptr<KernelEdits> owned;
  KernelEdits &edits;
  const Target &target;
};

} // namespace ingot
