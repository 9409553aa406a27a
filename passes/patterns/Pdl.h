//===- Pdl.h - Patterns as PDL IR ------------------------------------------===//
#pragma once

#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot::patterns {

/// "rules.pdll:3:5"; mlir-pdll preserves the locations of its source.
std::string placeOf(mlir::Location location);

/// The pattern's name, or its place if it has none.
std::string nameOf(mlir::pdl::PatternOp pattern);

/// Rewrites PDLL's references to results (`results 0 of %conv`), which MLIR takes for all results of the op,
/// into references to single results, for ops with a fixed number of results.
void nameResults(mlir::ModuleOp patterns);

/// The number of results of an op of that name; nullopt if it is not known or varies.
std::optional<uint64_t> resultsOf(mlir::pdl::OperationOp op);

/// The op that a call of EitherOrder names, if its operands can be exchanged: it is commutative, and the
/// pattern lists two. Else null.
mlir::pdl::OperationOp exchangeable(mlir::pdl::ApplyNativeConstraintOp either);

/// Replaces each call of EitherOrder, which must be valid, by a copy of its pattern without a name in which the
/// op's operands are exchanged. The copy has a benefit lower by 1, at least 0.
void addExchanged(mlir::ModuleOp patterns);

} // namespace ingot::patterns
