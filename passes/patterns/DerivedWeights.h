//===- DerivedWeights.h - Weights that patterns make of others -------------===//
//
// In a layer a weight is an argument, and lm.layers says which each layer passes: the kind gets an argument more, and
// each of its layers a weight more. In the entry lm.get_weight names one.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"
#include "dialects/lm/ops/Weights.h"

#include "mlir/IR/PatternMatch.h"

namespace ingot::patterns {

/// Whether its function knows the weight by name: an argument of a layer kind, or what lm.get_weight gives. No stack.
bool isNamed(mlir::Value weight);
/// Both are, in one layer or in the entry.
bool areNamedTogether(mlir::Value a, mlir::Value b);

/// The weights that a named value stands for: of each layer of the kind one, in the entry one.
llvm::SmallVector<lm::WeightOp> weightsOf(mlir::Value weight);

/// What the role of a weight calls it ("attn_q"), in the entry its symbol.
std::string roleOf(mlir::Value weight);

/// Makes of the weights that `from` stand for in one layer, or in the entry, the one that is wanted there.
using MakeWeight = llvm::function_ref<lm::WeightOp(llvm::ArrayRef<lm::WeightOp> from)>;

/// A value that stands for a weight made of others, which are named together: of that role, where it is there already
/// (PDLL may call twice for what is written once), or a new one.
mlir::Value derive(mlir::PatternRewriter &rewriter, llvm::ArrayRef<mlir::Value> from,
                   llvm::StringRef role, lm::WeightType type, MakeWeight make);

/// A weight of that symbol behind `like`, with its attributes; one that is there already is it.
struct NewWeight {
  lm::WeightOp op;
  bool isNew;
};
NewWeight addWeight(lm::WeightOp like, llvm::StringRef symbol, lm::WeightType type);

} // namespace ingot::patterns
