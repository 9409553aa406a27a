//===- DerivedWeights.h - Weights that patterns derive from others ---------===//
//
// In a layer, a weight is an argument, and lm.layers lists the weights that each layer passes: a derived
// weight adds an argument to the kind and a weight to each of its layers. In the entry, lm.get_weight names
// one.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"
#include "dialects/lm/ops/Weights.h"

#include "mlir/IR/PatternMatch.h"

namespace ingot::patterns {

/// Whether the weight has a name in its function: an argument of a layer kind, or a result of lm.get_weight.
/// No stack.
bool isNamed(mlir::Value weight);
/// Whether both have names, in one layer or in the entry.
bool areNamedTogether(mlir::Value a, mlir::Value b);

/// The weights that a named value represents: one for each layer of the kind, or the single one of the entry.
llvm::SmallVector<lm::WeightOp> weightsOf(mlir::Value weight);

/// The name of a weight's role ("attn_q"), or its symbol in the entry.
std::string roleOf(mlir::Value weight);

/// Makes the derived weight for one layer, or for the entry, from the weights that `from` represents there.
using MakeWeight = llvm::function_ref<lm::WeightOp(llvm::ArrayRef<lm::WeightOp> from)>;

/// A value for a weight derived from others, which must be named together. Returns the existing value if
/// there already is one of that role (PDLL may call twice for one expression in the source), else adds a new
/// one.
mlir::Value derive(mlir::PatternRewriter &rewriter, llvm::ArrayRef<mlir::Value> from,
                   llvm::StringRef role, lm::WeightType type, MakeWeight make);

struct NewWeight {
  lm::WeightOp op;
  bool isNew; ///< false: a weight of that symbol existed
};
/// Adds a weight named `symbol` after `like`, with its attributes, or returns the existing one.
NewWeight addWeight(lm::WeightOp like, llvm::StringRef symbol, lm::WeightType type);

} // namespace ingot::patterns
