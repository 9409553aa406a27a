//===- MathApproximation.h - exp, tanh, erf, sin, cos without libm --------===//
//
// An engine's code calls nothing, and its numbers are the same at every ISA
// level. So the transcendental functions of kernel regions become polynomials
// of adds, multiplies and explicit fmas, before anything is lowered. Each is
// written once, for a scalar or any vector of f32, and gives the same bits in
// every lane of every width:
//
//   exp   <= 1 ulp; exp(0) = 1 exactly; results below 2^-126 are 0, above the
//         largest float infinity; NaN stays NaN
//   tanh  <= 2 ulp; odd
//   erf   <= 2 ulp; odd
//   sin, cos   correct to 1 ulp for |x| up to 2^21 at least (reduction in f64)
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace ingot::cpu {

/// Patterns that replace math.exp, tanh, erf, sin and cos on f32 (scalars and
/// vectors). They emit none of these ops, so one walk is enough.
void populateIngotMathPatterns(mlir::RewritePatternSet &patterns);

/// The same code, emitted where a generator stands.
mlir::Value emitExp(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// 2^x for x <= 0 (-infinity included), <= 1 ulp; 2^0 = 1 exactly; below 2^-126 it is 0.
/// What a softmax takes: cheaper than exp, as it has one end and needs no reduction.
mlir::Value emitExp2OfNonPositive(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// Cosine and sine of f32 values, sharing the reduction.
std::pair<mlir::Value, mlir::Value> emitCosSin(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

} // namespace ingot::cpu
