//===- ScalarOps.cpp - lm ops as scalar arithmetic ------------------------===//
//
// The formulas are those in the descriptions of the lm ops. Each operation rounds once, so every target computes the
// same bits.
//===----------------------------------------------------------------------===//
#include "passes/select/ScalarOps.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Norm.h"
#include "dialects/lm/ops/Rows.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;

namespace {
struct Scalar {
  ImplicitLocOpBuilder &b;
  Value constant(double v) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(v)));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value exp(Value x) { return math::ExpOp::create(b, x); }
  Value negate(Value x) { return arith::NegFOp::create(b, x); }
  Value plus(Value x, const APFloat &offset) {
    return offset.isZero() ? x : add(x, constant(offset.convertToFloat()));
  }
  Value positive(Value x) { return arith::MaximumFOp::create(b, x, constant(0)); }
};
} // namespace

static Value activation(Scalar s, lm::ActivationKind kind, Value x) {
  switch (kind) {
  case lm::ActivationKind::Silu: { // x / (1 + exp(-x))
    return s.div(x, s.add(s.exp(s.negate(x)), s.constant(1)));
  }
  case lm::ActivationKind::Sigmoid:
    return s.div(s.constant(1), s.add(s.exp(s.negate(x)), s.constant(1)));
  case lm::ActivationKind::GeluTanh: { // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    Value cube = s.mul(s.mul(x, x), x);
    Value inner =
        s.mul(s.constant(0.7978845608028654), s.add(x, s.mul(s.constant(0.044715), cube)));
    Value t = math::TanhOp::create(s.b, inner);
    return s.mul(s.mul(s.constant(0.5), x), s.add(s.constant(1), t));
  }
  case lm::ActivationKind::Gelu: { // 0.5 x (1 + erf(x / sqrt(2)))
    Value e = math::ErfOp::create(s.b, s.mul(x, s.constant(0.7071067811865476)));
    return s.mul(s.mul(s.constant(0.5), x), s.add(s.constant(1), e));
  }
  case lm::ActivationKind::QuickGelu: // x / (1 + exp(-1.702 x))
    return s.div(x, s.add(s.exp(s.negate(s.mul(s.constant(1.702), x))), s.constant(1)));
  case lm::ActivationKind::Relu:
    return s.positive(x);
  case lm::ActivationKind::Relu2: {
    Value y = s.positive(x);
    return s.mul(y, y);
  }
  case lm::ActivationKind::Mish: { // tanh(ln(1 + e)) = n / (n + 2) with e = exp(x), n = e^2 + 2e
    // Beyond 20 the quotient is 1 in f32, and the square would overflow.
    Value e = s.exp(arith::MinimumFOp::create(s.b, x, s.constant(20)));
    Value n = s.mul(e, s.add(e, s.constant(2)));
    return s.mul(x, s.div(n, s.add(n, s.constant(2))));
  }
  }
  llvm_unreachable("all activation kinds are covered");
}

void ingot::lowerToScalar(ImplicitLocOpBuilder &b, Operation *op, IRMapping &scalars) {
  Scalar s{b};
  auto at = [&](Value v) { return scalars.lookup(v); };
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](lm::AddOp add) { return s.add(at(add.getA()), at(add.getB())); })
          .Case([&](lm::MulOp mul) { return s.mul(at(mul.getA()), at(mul.getB())); })
          .Case([&](lm::ScaleOp scale) {
            return s.mul(at(scale.getX()), s.constant(scale.getFactor().convertToFloat()));
          })
          .Case([&](lm::ActivationOp act) { return activation(s, act.getKind(), at(act.getX())); })
          .Case([&](lm::SoftcapOp cap) { // cap * tanh(x / cap)
            Value c = s.constant(cap.getCap().convertToFloat());
            return s.mul(c, math::TanhOp::create(b, s.div(at(cap.getX()), c)));
          })
          .Case([&](lm::XieluOp xielu) { // linear x + positive p^2 + negative (exp(n) - 1 - n)
            Value x = at(xielu.getX()), p = s.positive(x),
                  n = arith::MinimumFOp::create(b, x, s.constant(0));
            Value rise = s.mul(at(xielu.getPositive()), s.mul(p, p)),
                  fall = s.mul(at(xielu.getNegative()), s.sub(s.sub(s.exp(n), s.constant(1)), n));
            Value line = s.mul(at(xielu.getLinear()), x);
            return s.add(line, s.add(rise, fall));
          })
          .Case([&](lm::SelectRowsOp select) { return at(select.getX()); })
          .Case([&](lm::DispatchOp dispatch) { return at(dispatch.getX()); })
          .Case([&](lm::ScaleRowsOp scale) {
            return s.mul(at(scale.getX()), at(scale.getFactors()));
          })
          .Case([&](lm::SwigluOaiOp op) { // (u + 1) g sigmoid(alpha g)
            Value limit = s.constant(op.getLimit().convertToFloat()),
                  lowest = s.constant(-op.getLimit().convertToFloat());
            Value g = arith::MinimumFOp::create(b, at(op.getGate()), limit);
            Value u = arith::MaximumFOp::create(
                b, arith::MinimumFOp::create(b, at(op.getUp()), limit), lowest);
            Value steep = s.mul(s.constant(op.getAlpha().convertToFloat()), g);
            return s.mul(s.add(u, s.constant(1)),
                         s.mul(g, activation(s, lm::ActivationKind::Sigmoid, steep)));
          })
          .Case([&](lm::LayerNormOp
                        norm) { // (x - mean) / sqrt(mean((x - mean)^2) + eps) * (w + offset) + b
            Value mean = kernel::RowStatOp::create(b, at(norm.getX()));
            Value centred = s.sub(at(norm.getX()), mean);
            Value variance = kernel::RowStatOp::create(b, s.mul(centred, centred));
            Value root = math::SqrtOp::create(
                b, s.add(variance, s.constant(norm.getEps().convertToFloat())));
            Value y = s.mul(s.mul(centred, s.div(s.constant(1), root)),
                            s.plus(at(norm.getWeight()), norm.getWeightOffset()));
            return norm.getBias() ? s.add(y, at(norm.getBias())) : y;
          })
          .Case([&](lm::RmsNormOp norm) { // x / sqrt(mean(x^2) + eps) * (w + offset)
            Value x = at(norm.getX()), w = at(norm.getWeight());
            Value mean = kernel::RowStatOp::create(b, s.mul(x, x));
            Value root =
                math::SqrtOp::create(b, s.add(mean, s.constant(norm.getEps().convertToFloat())));
            return s.mul(s.mul(x, s.div(s.constant(1), root)), s.plus(w, norm.getWeightOffset()));
          });
  scalars.map(op->getResult(0), result);
}
