//===- OurPatterns.h - Fusions defined by pattern files -------------------===//
//
// Where a fusion can be expressed as a pattern, it is a file in passes/patterns, written as users write them
// (docs/patterns.md). The build embeds the file in the library:
//
//   passes/patterns/Residual.pdll ──mlir-pdll -x=cpp──▶ passes/patterns/Residual.h.inc
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

/// Offers each op once, except those erased meanwhile. `listener`, if any, receives the rewriter's
/// notifications.
void offerOnce(llvm::ArrayRef<mlir::Operation *> ops, const mlir::FrozenRewritePatternSet &rules,
               mlir::RewriterBase::Listener *listener = nullptr);

class OurPatterns {
public:
  /// The function of a generated file that adds its patterns.
  using Generated = void (*)(mlir::RewritePatternSet &);

  void read(mlir::MLIRContext *context, Generated file);
  void applyTo(lm::ModelOp model) const;
  /// Applies the patterns to the launches of the module's programs, with the target's kernels for the
  /// results.
  void applyTo(mlir::ModuleOp module, const Target &target) const;

private:
  mlir::FrozenRewritePatternSet rules;
};

} // namespace ingot::patterns
