//===- Compositions.h - A launch becomes part of those beside it -----------===//
//
// A launch costs more than what it does, as long as tokens are few. In steps of few
//
//   IntoReaders.cpp   those who read rows compute them:      norm ─▶ q, k, v     becomes  [norm ─▶] q, k, v
//   IntoMaker.cpp     who makes rows does what reads them:   q, k, v ─▶ append   becomes  q, k, v [─▶ append]
//
// Kernels of other launches are copied, so that nothing else changes, and the target is asked first: it says whether it
// has such a kernel, and up to how many tokens it is worth its while. Which launches, the files NormPrologues.pdll and
// AppendEpilogues.pdll say, and those of users (passes/patterns/LaunchNatives.cpp).
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

  /// Why it cannot be; "": it can, in steps of at most `shape.mostUnits`.
  std::string whyNotIntoReaders(plan::LaunchOp launch);
  std::string whyNotIntoMaker(plan::LaunchOp launch);

  /// In steps of at most `most` tokens or logits rows, or fewer if the target says so. A remark called `name` says what was
  /// done, or why nothing was. True: the program changed.
  bool intoReaders(plan::LaunchOp launch, llvm::StringRef name, int64_t most);
  bool intoMaker(plan::LaunchOp launch, llvm::StringRef name, int64_t most);

  /// Once all is done: kernels that lost their launches go.
  void finish();

private:
  /// What becomes of a launch that writes rows for projections.
  struct Prologue;
  std::string find(plan::LaunchOp launch, Prologue &found);
  std::string findReaders(plan::LaunchOp launch, Prologue &found);
  /// What becomes of a launch that reads what a projection makes.
  struct Epilogue;
  std::string find(plan::LaunchOp launch, Epilogue &found);
  std::string findProjections(plan::LaunchOp launch, Epilogue &found);

  /// Steps of so few do not come to the launch: it stands in the `else` of such a condition.
  static bool isForMore(plan::LaunchOp launch, plan::Condition few);

  std::unique_ptr<KernelEdits> owned;
  KernelEdits &edits;
  const Target &target;
};

} // namespace ingot
