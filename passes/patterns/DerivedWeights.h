//===- DerivedWeights.h - Weights that patterns derive from others ---------===//
//
// Weights are arguments of a layer kind, and lm.layers lists the weights that each layer passes for them. A derived
// weight therefore adds an argument to the kind, and a weight to the list of each of its layers. In the entry point,
// lm.get_weight names a weight.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"
#include "dialects/lm/ops/Weights.h"

#include "mlir/IR/PatternMatch.h"

namespace ingot::patterns {

/// Whether the value is an argument of a layer kind or a result of lm.get_weight, and not a stack of matrices.
bool isNamed(mlir::Value weight);
/// Whether both are named, in one layer kind or in the entry point.
bool areNamedTogether(mlir::Value a, mlir::Value b);

/// The weights that a named value represents: one for each layer of the kind, or the single one of the entry.
llvm::SmallVector<lm::WeightOp> weightsOf(mlir::Value weight);

/// The name of a weight's role ("attn_q"), or its symbol in the entry.
std::string roleOf(mlir::Value weight);

/// Makes the derived weight for one layer, or for the entry, from the weights that `from` represents there.
using MakeWeight = llvm::function_ref<lm::WeightOp(llvm::ArrayRef<lm::WeightOp> from)>;

/// Returns a value for the weight that `make` derives from `from`, whose weights must be named together. In a layer
/// kind this is the argument of that role and type if there is one already (PDLL may call twice for one expression in
/// the source), else a new argument. In the entry point it is always a new lm.get_weight.
mlir::Value derive(mlir::PatternRewriter &rewriter, llvm::ArrayRef<mlir::Value> from,
                   llvm::StringRef role, lm::WeightType type, MakeWeight make);

struct NewWeight {
  lm::WeightOp op;
  bool isNew; ///< false: a weight of that symbol existed
};
/// Adds a weight named `symbol` after `like`, with its attributes, or returns the existing one.
NewWeight addWeight(lm::WeightOp like, llvm::StringRef symbol, lm::WeightType type);

} // namespace ingot::patterns
