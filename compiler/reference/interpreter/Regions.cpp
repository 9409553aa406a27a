//===- Regions.cpp - See Regions.h ----------------------------------------===//
#include "compiler/reference/interpreter/Regions.h"
#include "dialects/kernel/ops/Region.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using Row = std::vector<float>;

Error reference::interpreter::notInterpreted(Operation *op) {
  const std::string name = op->getName().getStringRef().str();
  return {ExitCode::Internal, errors::kNotInterpreted, "not interpreted: " + name,
          "the plan interpreter does not support this op, so nothing was checked",
          "implement it in compiler/reference/interpreter"};
}

static float through(double (*f)(double), float x) {
  return static_cast<float>(f(static_cast<double>(x)));
}

template <typename F> static Row each(const Row &a, F f) {
  Row y(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    y[i] = f(a[i]);
  return y;
}
template <typename F> static Row each(const Row &a, const Row &b, F f) {
  Row y(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    y[i] = f(a[i], b[i]);
  return y;
}

static float maximum(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : a > b ? a : b;
}

/// Computes the value of one op. Returns an empty row if the op is unknown.
static Row compute(Operation *op, const llvm::DenseMap<Value, Row> &rows, int64_t n) {
  auto at = [&](unsigned i) -> const Row & { return rows.find(op->getOperand(i))->second; };
  return llvm::TypeSwitch<Operation *, Row>(op)
      .Case([&](arith::ConstantOp o) {
        return Row(size_t(n), cast<FloatAttr>(o.getValue()).getValue().convertToFloat());
      })
      .Case([&](arith::AddFOp) { return each(at(0), at(1), std::plus<float>()); })
      .Case([&](arith::SubFOp) { return each(at(0), at(1), std::minus<float>()); })
      .Case([&](arith::MulFOp) { return each(at(0), at(1), std::multiplies<float>()); })
      .Case([&](arith::DivFOp) { return each(at(0), at(1), std::divides<float>()); })
      .Case([&](arith::NegFOp) { return each(at(0), std::negate<float>()); })
      .Case([&](arith::MaximumFOp) { return each(at(0), at(1), maximum); })
      .Case([&](arith::MinimumFOp) {
        return each(at(0), at(1), [](float a, float b) { return -maximum(-a, -b); });
      })
      .Case([&](math::ExpOp) { return each(at(0), [](float x) { return through(std::exp, x); }); })
      .Case(
          [&](math::TanhOp) { return each(at(0), [](float x) { return through(std::tanh, x); }); })
      .Case([&](math::ErfOp) { return each(at(0), [](float x) { return through(std::erf, x); }); })
      .Case([&](math::SqrtOp) { return each(at(0), [](float x) { return std::sqrt(x); }); })
      .Case([&](math::AbsFOp) { return each(at(0), [](float x) { return std::abs(x); }); })
      .Case([&](kernel::RowStatOp) {
        double sum = 0;
        for (float x : at(0))
          sum += double(x);
        return Row(size_t(n), static_cast<float>(sum / double(n)));
      })
      .Default([](Operation *) { return Row(); });
}

Result<std::vector<Row>> reference::interpreter::evaluate(Region &region,
                                                          std::vector<Row> arguments, int64_t n) {
  Block &block = region.front();
  llvm::DenseMap<Value, Row> rows;
  for (auto [argument, row] : llvm::zip_equal(block.getArguments(), arguments))
    rows[argument] = std::move(row);
  for (Operation &op : block.without_terminator()) {
    Row row = compute(&op, rows, n);
    if (row.empty())
      return notInterpreted(&op);
    rows[op.getResult(0)] = std::move(row);
  }
  std::vector<Row> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(rows.lookup(value));
  return results;
}
