//===- Natives.h - Native functions that patterns can call ----------------===//
//
// PDL has no arithmetic, no regions and no weights. The functions here fill that gap; Natives.pdll in this
// folder declares them for PDLL and documents each. MLIR does not check calls (an unknown name or a wrong
// number of arguments is undefined behaviour), so the reader of a pattern file first checks signatureOf
// against this list.
//
//   Constraints.cpp      constraints, and arithmetic on attributes
//   RegionNatives.cpp    Fuse, Missed, and constraints that query targets
//   WeightNatives.cpp    weights made of rows of other weights
//   ScaleNatives.cpp     weights multiplied by vectors
//   LaunchNatives.cpp    launches that are merged into others
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace ingot {
class Compositions;
class Target;
namespace lm {
class ModelOp;
}
} // namespace ingot

namespace ingot::patterns {

/// The target settings of the compilation, as far as patterns query them.
struct CompiledFor {
  llvm::SmallVector<const Target *> targets; ///< empty: no target is queried
  bool exact = false;
  bool fp8Rows = false; ///< as in PipelineOptions
};

/// The state that native functions share while patterns are applied to a program (Driver.h).
class Run {
public:
  CompiledFor whom;
  /// Null if no device is chosen, or there are no launches yet.
  Compositions *compositions = nullptr;

  std::string pattern;      ///< name of the pattern that is being applied
  bool leftAsItWas = false; ///< its rewrite changed nothing (Missed, or a Fuse that is impossible)
  std::string failure;      ///< the first impossible request of a rewrite, which ends the run
  std::string firstMissed;  ///< the first missed remark, "NAME: why"

  void fail(const std::string &why) {
    if (failure.empty())
      failure = why;
  }
  /// Emits a missed remark for `op`, unless the run has already emitted the same one for it.
  void missed(mlir::Operation *op, llvm::StringRef name, const std::string &why);

private:
  /// The remarks for each op. If an erased op's address is reused, a remark about the new op may be lost.
  llvm::DenseMap<mlir::Operation *, llvm::StringSet<>> emitted;
};

struct Native {
  /// "Product(attribute, attribute) -> attribute".
  llvm::StringLiteral signature;
  bool isConstraint;
  void (*addTo)(mlir::PDLPatternModule &patterns, llvm::StringRef name, Run &run);

  llvm::StringRef name() const {
    return signature.take_until([](char c) { return c == '('; });
  }
};

/// Binds the run to a function that takes it as its first argument.
template <typename Result, typename... Arguments>
auto bind(Result (*function)(Run &, mlir::PatternRewriter &, Arguments...), Run &run) {
  return [function, &run](mlir::PatternRewriter &rewriter, Arguments... arguments) {
    return function(run, rewriter, arguments...);
  };
}
template <typename Result, typename... Arguments>
auto bind(Result (*function)(mlir::PatternRewriter &, Arguments...), Run &) {
  return function;
}

/// A constraint (evaluated by a match), or a function that a rewrite calls.
template <auto function> constexpr Native constraint(llvm::StringLiteral signature) {
  return {signature, true, [](mlir::PDLPatternModule &patterns, llvm::StringRef name, Run &run) {
            patterns.registerConstraintFunction(name, bind(function, run));
          }};
}
template <auto function> constexpr Native rewrite(llvm::StringLiteral signature) {
  return {signature, false, [](mlir::PDLPatternModule &patterns, llvm::StringRef name, Run &run) {
            patterns.registerRewriteFunction(name, bind(function, run));
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

/// Registers all native functions. They refer to `run`, which must outlive the patterns.
void registerNatives(mlir::PDLPatternModule &patterns, Run &run);

/// Removes unused arguments of layer kinds, and weights that no layer passes and no op names. Patterns leave such
/// weights when they derive others from their rows; they would still be packed.
void dropUnreadWeights(lm::ModelOp model);

} // namespace ingot::patterns
