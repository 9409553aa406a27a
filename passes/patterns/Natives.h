//===- Natives.h - Native functions that patterns can call ----------------===//
//
// PDL has no arithmetic, no regions and no weights. The functions here fill that gap; Natives.pdll in this
// folder declares them for PDLL and documents each. MLIR does not check calls (an unknown name or a wrong
// number of arguments is undefined behaviour), so the reader of a pattern file first checks signatureOf
// against this list.
//
//   Constraints.cpp      constraints, and arithmetic on attributes
//   RegionNatives.cpp    Fuse, Missed, and whether targets have a launch
//   WeightNatives.cpp    weights made of rows of other weights
//   ScaleNatives.cpp     weights multiplied by vectors
//   LaunchNatives.cpp    launches that are merged into others
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace ingot {
class Compositions;
class Target;
namespace lm {
class ModelOp;
}
} // namespace ingot

namespace ingot::patterns {

struct Native {
  /// "Product(attribute, attribute) -> attribute".
  llvm::StringLiteral signature;
  bool isConstraint;
  void (*addTo)(mlir::PDLPatternModule &patterns, llvm::StringRef name);

  llvm::StringRef name() const {
    return signature.take_until([](char c) { return c == '('; });
  }
};

/// A constraint (evaluated by a match), or a function that a rewrite calls.
template <auto function> constexpr Native constraint(llvm::StringLiteral signature) {
  return {signature, true, [](mlir::PDLPatternModule &patterns, llvm::StringRef name) {
            patterns.registerConstraintFunction(name, *function);
          }};
}
template <auto function> constexpr Native rewrite(llvm::StringLiteral signature) {
  return {signature, false, [](mlir::PDLPatternModule &patterns, llvm::StringRef name) {
            patterns.registerRewriteFunction(name, *function);
          }};
}

llvm::ArrayRef<Native> constraints();
llvm::ArrayRef<Native> regionNatives();
llvm::ArrayRef<Native> weightNatives();
llvm::ArrayRef<Native> scaleNatives();
llvm::ArrayRef<Native> launchNatives();
/// All native functions.
llvm::SmallVector<Native> natives();

/// The signature that a pdl.apply_native_constraint or _rewrite calls, in the format of `Native::signature`.
std::string signatureOf(mlir::Operation *call);

void registerNatives(mlir::PDLPatternModule &patterns);

/// Removes unused arguments of layer kinds, and weights that no layer passes and no op names: their rows were
/// moved to others. Unused weights would otherwise still be packed.
void dropUnreadWeights(lm::ModelOp model);

/// The target settings of the compilation, as far as patterns query them.
struct CompiledFor {
  llvm::SmallVector<const Target *> targets; ///< empty: no target is asked
  bool exact = false;
  bool fp8Rows = false; ///< as in PipelineOptions
};

/// A run of patterns over a program, in this thread. A remark about an op is emitted once per run.
class Run {
public:
  explicit Run(CompiledFor whom = {}, Compositions *compositions = nullptr);
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  /// Of the innermost run.
  static const CompiledFor &whom();
  /// Null if the program has no launches yet, or no device is chosen.
  static Compositions *compositions();

  /// Reports that the current rewrite left the program unchanged (Missed, a Fuse that is impossible).
  static void leaveAsItWas();
  /// Whether the last rewrite did so. Resets the flag.
  static bool leftAsItWas();

  /// Reports that the current rewrite asks for something impossible: the first failure ends the run.
  static void fail(const std::string &why);
  /// The first failure; "" if there was none. Resets it.
  static std::string failure();

  /// The first missed remark since the outermost run began, "NAME: why"; "" if there was none.
  static const std::string &firstMissed();

private:
  Run *outer;
  CompiledFor own;
  Compositions *composed;
};

/// Emits a missed remark for `op`, unless this run has already emitted the same one for it.
void emitMissed(mlir::Operation *op, llvm::StringRef name, const std::string &why);

} // namespace ingot::patterns
