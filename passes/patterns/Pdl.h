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

} // namespace ingot::patterns
