//===- OurPatterns.h - Fusions defined by pattern files -------------------===//
//
// Where a fusion can be expressed as a pattern, it is a file in share/ingot/passes/patterns, written as users
// write them (docs/patterns.md). The build translates the file, and the compiler reads the result from the
// same folder:
//
//   passes/patterns/Residual.pdll ──mlir-pdll, at build time──▶ share/ingot/passes/patterns/Residual.pdl.mlir
//
// A pass visits a model or the launches of a program once: each op present at the start is offered to the
// patterns in order, those with more benefit first.
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

/// The path of a file in share/ingot, which lies next to the folder of this library.
std::string installedFile(llvm::StringRef name);

/// Hash of the files that the build made: libraries with other patterns have other build ids.
llvm::StringRef ourPatternsHash();

/// The first of those files that is missing; "" if none is.
std::string missingFile();

/// Offers each op once, except those erased meanwhile. `listener`, if any, receives the rewriter's
/// notifications.
void offerOnce(llvm::ArrayRef<mlir::Operation *> ops, const mlir::FrozenRewritePatternSet &rules,
               mlir::RewriterBase::Listener *listener = nullptr);

class OurPatterns {
public:
  /// Reads passes/patterns/NAME.pdl.mlir, once per context; errors are emitted there.
  mlir::LogicalResult read(mlir::MLIRContext *context, llvm::StringRef name);
  void applyTo(lm::ModelOp model) const;
  /// Applies the patterns to the launches of the module's programs, with the target's kernels for the
  /// results.
  void applyTo(mlir::ModuleOp module, const Target &target) const;

private:
  mlir::FrozenRewritePatternSet rules;
};

} // namespace ingot::patterns
