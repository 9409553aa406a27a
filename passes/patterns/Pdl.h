//===- Pdl.h - Patterns as PDL IR ------------------------------------------===//
#pragma once

#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot::patterns {

/// "rules.pdll:3:5"; mlir-pdll preserves the locations of its source.
std::string placeOf(mlir::Location location);

/// The pattern's name, or its place if it has none.
std::string nameOf(mlir::pdl::PatternOp pattern);

/// For ops with a fixed number of results, rewrites PDLL's references to results (`results 0 of %conv`) into references
/// to single results. MLIR treats the former as all results of the op.
void nameResults(mlir::ModuleOp patterns);

/// The number of results of an op with the name of `op`; nullopt if the name is unknown or the number varies.
std::optional<uint64_t> resultsOf(mlir::pdl::OperationOp op);

/// The op that a call of EitherOrder names, if its operands can be exchanged: the op is commutative, and the pattern
/// lists two operands. Null otherwise.
mlir::pdl::OperationOp exchangeable(mlir::pdl::ApplyNativeConstraintOp either);

/// Removes each call of EitherOrder, which must be valid, and adds an unnamed copy of its pattern in which the op's
/// operands are exchanged. The benefit of the copy is lower by 1, but at least 0.
void addExchanged(mlir::ModuleOp patterns);

} // namespace ingot::patterns
