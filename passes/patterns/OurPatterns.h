//===- OurPatterns.h - Fusions that are files -----------------------------===//
//
// Where a pattern can say a fusion, it is one of share/ingot/passes/patterns, as users write them (docs/patterns.md).
// The build translates the file, and the compiler reads what the build made of it from the same folder:
//
//   passes/patterns/Residual.pdll ──mlir-pdll, at build time──▶ share/ingot/passes/patterns/Residual.pdl.mlir
//
// A pass goes over a model or over the launches of a program once: each op that was there is offered to the patterns, in
// order, those of more benefit first.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace ingot {
class Target;
namespace lm {
class ModelOp;
}
} // namespace ingot

namespace ingot::patterns {

/// A file of share/ingot, which lies beside the folder of this library.
std::string installedFile(llvm::StringRef name);

/// Of the files as the build made them: libraries of other patterns have other build ids.
llvm::StringRef ourPatternsHash();

/// The first of those files that is not there; "": all are.
std::string missingFile();

/// Offers each op once, but for those that are erased meanwhile. `listener`, if any, hears what the rewriter does.
void offerOnce(llvm::ArrayRef<mlir::Operation *> ops, const mlir::FrozenRewritePatternSet &rules,
               mlir::RewriterBase::Listener *listener = nullptr);

class OurPatterns {
public:
  /// Reads passes/patterns/NAME.pdl.mlir, once in a context; an error is said there.
  mlir::LogicalResult read(mlir::MLIRContext *context, llvm::StringRef name);
  void applyTo(lm::ModelOp model) const;
  /// To the launches of its programs, with the target's kernels for what they become.
  void applyTo(mlir::ModuleOp module, const Target &target) const;

private:
  mlir::FrozenRewritePatternSet rules;
};

} // namespace ingot::patterns
