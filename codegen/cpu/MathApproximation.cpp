//===- MathApproximation.cpp - Polynomials for exp, tanh, erf, sin, cos ---===//
//
// The coefficients of exp and tanh are minimax fits (Remez) of the formulas in this file. The coefficients of erf are
// N. Juffa's (two ranges, one of them 1 - exp of a polynomial). sin and cos are Taylor sums in f64: 24 bits are needed,
// and the first omitted term is below 2^-36.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/MathApproximation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace mlir;

namespace {

/// Arithmetic on values of one shape: a scalar, or a vector lane by lane.
class Lanes {
public:
  Lanes(ImplicitLocOpBuilder &b, Type shape) : b(b), shape(dyn_cast<VectorType>(shape)) {}

  Type of(Type element) { return shape ? Type(shape.clone(element)) : element; }
  Value constant(TypedAttr value) {
    if (!shape)
      return arith::ConstantOp::create(b, value);
    auto type = cast<ShapedType>(of(value.getType()));
    return arith::ConstantOp::create(
        b, cast<TypedAttr>(Attribute(DenseElementsAttr::get(type, value))));
  }
  Value f32(float v) { return constant(b.getF32FloatAttr(v)); }
  Value f64(double v) { return constant(b.getF64FloatAttr(v)); }
  Value i32(int32_t v) { return constant(b.getI32IntegerAttr(v)); }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }
  Value test(arith::CmpFPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, p, x, y); }
  Value bits(Value x) { return arith::BitcastOp::create(b, of(b.getI32Type()), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, of(b.getF32Type()), x); }
  Value andBits(Value x, int32_t mask) { return arith::AndIOp::create(b, x, i32(mask)); }
  Value abs(Value x) { return fromBits(andBits(bits(x), 0x7fffffff)); }
  /// |magnitude| with the sign of `sign`.
  Value withSign(Value magnitude, Value sign) {
    return fromBits(arith::OrIOp::create(b, bits(magnitude), andBits(bits(sign), INT32_MIN)));
  }
  /// Horner with fma, highest coefficient first.
  Value polynomial(Value x, std::initializer_list<float> coefficients) {
    Value sum;
    for (float c : coefficients)
      sum = sum ? fma(sum, x, f32(c)) : f32(c);
    return sum;
  }
  Value polynomial64(Value x, std::initializer_list<double> coefficients) {
    Value sum;
    for (double c : coefficients)
      sum = sum ? fma(sum, x, f64(c)) : f64(c);
    return sum;
  }

  ImplicitLocOpBuilder &b;

private:
  VectorType shape;
};

constexpr float kMagic = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer

/// x = n ln2 + r, e^x = 2^n (1 + r + r^2 q(r)). The integer n is added to the
/// exponent's bits, which is correct if the result is a normal number. Selects
/// handle the results outside that range.
Value exp(Lanes &v, Value x) {
  Value shifted = v.fma(x, v.f32(1.442695041f), v.f32(kMagic));
  Value n = v.sub(shifted, v.f32(kMagic));
  Value r = v.fma(n, v.f32(-0x1.62e400p-1f), x); // ln2 in two parts; the first has 15 bits
  r = v.fma(n, v.f32(-0x1.7f7d1cp-20f), r);
  Value q = v.polynomial(
      r, {1.381456619e-3f, 8.368743584e-3f, 4.166838899e-2f, 1.666652113e-1f, 4.999999404e-1f});
  Value p = v.add(v.fma(q, v.mul(r, r), r), v.f32(1.0f));
  Value exponent = arith::ShLIOp::create(v.b, v.bits(shifted), v.i32(23));
  Value scaled = v.fromBits(arith::AddIOp::create(v.b, v.bits(p), exponent));
  Value infinity = v.f32(std::numeric_limits<float>::infinity());
  Value high = v.test(arith::CmpFPredicate::UGT, x, v.f32(88.7228317f)); // NaN as well
  scaled = v.select(high, v.add(x, infinity), scaled);
  Value low = v.test(arith::CmpFPredicate::OLT, x, v.f32(-87.3365402f));
  return v.select(low, v.f32(0.0f), scaled);
}

/// Small |x|: x + x^3 p(x^2). Else 1 - 2 / (e^2|x| + 1).
Value tanh(Lanes &v, Value x) {
  Value square = v.mul(x, x), magnitude = v.abs(x);
  Value p = v.polynomial(square, {-5.717504304e-3f, 2.065105177e-2f, -5.374366418e-2f,
                                  1.333149374e-1f, -3.333328366e-1f});
  Value small = v.fma(v.mul(p, square), x, x);
  Value e = exp(v, v.add(magnitude, magnitude));
  Value large = v.sub(v.f32(1.0f), v.div(v.f32(2.0f), v.add(e, v.f32(1.0f))));
  Value isSmall = v.test(arith::CmpFPredicate::OLT, magnitude, v.f32(0.625f));
  return v.select(isSmall, small, v.withSign(large, x));
}

Value erf(Lanes &v, Value x) {
  Value t = v.abs(x), s = v.mul(x, x);
  Value r = v.fma(v.f32(-1.72853470e-5f), t, v.f32(3.83197126e-4f));
  Value u = v.fma(v.f32(-3.88396438e-3f), t, v.f32(2.42546219e-2f));
  r = v.fma(r, s, u);
  r = v.fma(r, t, v.f32(-1.06777877e-1f));
  r = v.fma(r, t, v.f32(-6.34846687e-1f));
  r = v.fma(r, t, v.f32(-1.28717512e-1f));
  r = v.fma(r, t, v.sub(v.f32(0.0f), t));
  Value large = v.withSign(v.sub(v.f32(1.0f), exp(v, r)), x);
  Value p = v.polynomial(s, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
                             -3.76125336e-1f, 1.28379166e-1f});
  Value small = v.fma(p, x, x);
  return v.select(v.test(arith::CmpFPredicate::OGT, t, v.f32(0.927734375f)), large, small);
}

/// x = n pi/2 + r in f64: n as an i32, and sin r and cos r as f32.
struct Quarter {
  Value n, cosine, sine;
};
Quarter reduceQuarter(Lanes &v, Value x) {
  constexpr double kMagic64 = 6755399441055744.0; // 1.5 * 2^52
  Value a = arith::ExtFOp::create(v.b, v.of(v.b.getF64Type()), x);
  Value shifted = v.fma(a, v.f64(0.63661977236758134308), v.f64(kMagic64));
  Value n = v.sub(shifted, v.f64(kMagic64));
  Value r = v.fma(n, v.f64(-1.57079632679489655800), a); // pi/2 as two doubles
  r = v.fma(n, v.f64(-6.12323399573676603587e-17), r);
  Value s = v.mul(r, r);
  Value sine = v.polynomial64(s, {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6});
  sine = v.fma(v.mul(sine, s), r, r);
  Value cosine = v.polynomial64(
      s, {1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0});
  Type wide = v.of(v.b.getI64Type()), narrow = v.of(v.b.getI32Type()), f32 = v.of(v.b.getF32Type());
  Value low = arith::TruncIOp::create(v.b, narrow, arith::BitcastOp::create(v.b, wide, shifted));
  return {low, arith::TruncFOp::create(v.b, f32, cosine), arith::TruncFOp::create(v.b, f32, sine)};
}

/// Returns sin in quadrant n + phase: odd quadrants use the cosine; quadrants 2 and 3 negate the result.
Value ofQuarter(Lanes &v, const Quarter &q, int32_t phase) {
  Value n = arith::AddIOp::create(v.b, q.n, v.i32(phase));
  Value odd = arith::CmpIOp::create(v.b, arith::CmpIPredicate::ne, v.andBits(n, 1), v.i32(0));
  Value sign = arith::ShLIOp::create(v.b, v.andBits(n, 2), v.i32(30));
  Value magnitude = v.select(odd, q.cosine, q.sine);
  return v.fromBits(arith::XOrIOp::create(v.b, v.bits(magnitude), sign));
}
Value sin(Lanes &v, Value x) { return ofQuarter(v, reduceQuarter(v, x), 0); }
Value cos(Lanes &v, Value x) { return ofQuarter(v, reduceQuarter(v, x), 1); }

template <typename Op, Value (*emit)(Lanes &, Value)> struct Approximate : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Lanes lanes(b, op.getType());
    rewriter.replaceOp(op, emit(lanes, op.getOperand()));
    return success();
  }
};

} // namespace

void ingot::codegen::cpu::populateIngotMathPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximate<math::ExpOp, exp>, Approximate<math::TanhOp, tanh>,
               Approximate<math::ErfOp, erf>, Approximate<math::SinOp, sin>,
               Approximate<math::CosOp, cos>>(patterns.getContext());
}

Value ingot::codegen::cpu::emitExp(ImplicitLocOpBuilder &b, Value x) {
  Lanes lanes(b, x.getType());
  return exp(lanes, x);
}

Value ingot::codegen::cpu::emitExp2OfNonPositive(ImplicitLocOpBuilder &b, Value x) {
  Lanes v(b, x.getType());
  Value shifted = v.add(x, v.f32(kMagic)), r = v.sub(x, v.sub(shifted, v.f32(kMagic)));
  Value g = v.polynomial(r, {1.535318152e-4f, 1.339897281e-3f, 9.618438780e-3f, 5.550332367e-2f,
                             2.402264774e-1f, 6.931471825e-1f});
  Value p = v.fma(r, g, v.f32(1.0f));
  Value exponent = arith::ShLIOp::create(b, v.bits(shifted), v.i32(23));
  Value scaled = v.fromBits(arith::AddIOp::create(b, v.bits(p), exponent));
  return v.select(v.test(arith::CmpFPredicate::OLT, x, v.f32(-126.0f)), v.f32(0.0f), scaled);
}

std::pair<Value, Value> ingot::codegen::cpu::emitCosSin(ImplicitLocOpBuilder &b, Value x) {
  Lanes lanes(b, x.getType());
  Quarter quarter = reduceQuarter(lanes, x);
  return {ofQuarter(lanes, quarter, 1), ofQuarter(lanes, quarter, 0)};
}
