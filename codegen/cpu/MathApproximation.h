//===- MathApproximation.h - exp, tanh, erf, sin, cos without libm --------===//
//
// An engine's code calls no library, and its results are the same at every ISA
// level. The transcendental functions of kernel regions therefore become
// polynomials of adds, multiplies and explicit fmas before any other lowering.
// Each is written once, for a scalar or any vector of f32, and gives the same
// bits in every lane at every width:
//
//   exp   <= 1 ulp; exp(0) = 1 exactly; results below 2^-126 become 0, those
//         above the largest float infinity; NaN stays NaN
//   tanh  <= 2 ulp; odd
//   erf   <= 2 ulp; odd
//   sin, cos   correct to 1 ulp for |x| up to 2^21 at least (reduction in f64)
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace ingot::codegen::cpu {

/// Patterns that replace math.exp, tanh, erf, sin and cos on f32 (scalars and
/// vectors). They emit none of these ops, so one walk is enough.
void populateIngotMathPatterns(mlir::RewritePatternSet &patterns);

/// Emits the same code for exp at the builder's insertion point.
mlir::Value emitExp(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// Emits 2^x for x <= 0 (-infinity included), <= 1 ulp; 2^0 = 1 exactly; results below 2^-126 become 0.
/// A softmax uses it: it is cheaper than exp, since it can leave the range on one side only and needs
/// no argument reduction by ln 2.
mlir::Value emitExp2OfNonPositive(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// Emits cosine and sine of f32 values, which share the argument reduction.
std::pair<mlir::Value, mlir::Value> emitCosSin(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

} // namespace ingot::codegen::cpu
