//===- MatmulLaunch.cpp - Projections, and the uses of their results --------===//
//
//   x  ▶  products  ▶  epilogue  ▶  rows, or fused values: stored, searched for maxima (AttentionLaunch.cpp,
//                                   IdsLaunch.cpp: appended, raised to keys)
//===----------------------------------------------------------------------===//
#include "compiler/reference/interpreter/Launch.h"
#include "compiler/reference/interpreter/Regions.h"
#include "dialects/kernel/ops/Fused.h"
#include "dialects/kernel/ops/Matmul.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

class MatmulRun {
public:
  MatmulRun(Launch &launch, kernel::MatmulOp op)
      : launch(launch), op(op), units(launch.units(op.isPerRow()) * op.rowsOfToken()) {
    if (op.getRoutes())
      routes = launch.routes(op.getRoutes());
  }

  Result<void> run();

private:
  /// Returns the work items that read all of x: every item, or the only item of the launch.
  Items all() const { return launch.isAlone() ? Items::one(0) : Items::every(); }

  Matrix rowsOfX();
  void holdFp8(const std::vector<float> &x, const std::vector<float> &fp8, int64_t unit);
  Result<Matrix> multiply(const Matrix &x, Value weight);
  int64_t expertOf(int64_t unit) { return op.getRoutes() ? routes.expertOf(unit) : 0; }
  /// Returns the work items of a row's panels. Rows of an expert belong to the panels of the expert's matrix.
  Items panelsOf(Value rows, int64_t unit) {
    return launch.panelsOf(rows, firstPanel + expertOf(unit) * panels(0));
  }
  int64_t panels(int64_t segment) {
    return roundUp(op.segmentRows(segment), kPanelRows) / kPanelRows;
  }
  Result<void> runSegment(const Matrix &x, size_t segment, Matrix &y);

  Launch &launch;
  kernel::MatmulOp op;
  const int64_t units; ///< rows of x
  Routes routes;       ///< valid if each row has an expert
  int64_t firstPanel = 0, auxBefore = 0;
};

} // namespace

/// Checks that the values of an fp8 row differ from the values before rounding by at most a sixteenth.
void MatmulRun::holdFp8(const std::vector<float> &x, const std::vector<float> &fp8, int64_t unit) {
  for (size_t i = 0; i < x.size(); ++i)
    if (std::abs(x[i] - fp8[i]) > 0.0626f * std::abs(x[i]) + 1e-3f)
      launch.interpreter.findings.add(
          "E0893",
          launch.interpreter.timeline.current() + " has fp8 rows that differ from its rows",
          "row " + std::to_string(unit) + ", value " + std::to_string(i) + ": " +
              std::to_string(fp8[i]) + " for " + std::to_string(x[i]));
}

Matrix MatmulRun::rowsOfX() {
  Matrix x(units, op.xType().getN());
  for (int64_t unit = 0; unit < units; ++unit) {
    const std::vector<float> values = launch.read(op.getX(), unit, all());
    std::ranges::copy(values, x.row(unit).begin());
    if (op.getXFp8()) // code that multiplies in fp8 reads these rows instead
      holdFp8(values, launch.read(op.getXFp8(), unit, all()), unit);
  }
  return x;
}

/// Multiplies by the matrix of each row's expert if there are routes.
Result<Matrix> MatmulRun::multiply(const Matrix &x, Value weight) {
  if (!op.getRoutes())
    return launch.multiply(x, weight);
  Matrix y(x.rows, op.segmentRows(0));
  for (int64_t unit = 0; unit < units; ++unit) {
    Matrix row(1, x.columns);
    std::ranges::copy(x.row(unit), row.values.begin());
    auto products = launch.multiply(row, weight, routes.expertOf(unit));
    if (!products)
      return products;
    std::ranges::copy(products->values, y.row(unit).begin());
  }
  return y;
}

Result<void> MatmulRun::runSegment(const Matrix &x, size_t segment, Matrix &y) {
  const size_t perSegment = op.getGated() ? 2 : 1;
  std::vector<Matrix> sums;
  for (Value weight : op.getWeights().slice(segment * perSegment, perSegment)) {
    auto products = multiply(x, weight);
    if (!products)
      return std::move(products.error());
    sums.push_back(std::move(*products));
  }
  auto aux = op.getAux().slice(size_t(auxBefore), size_t(op.getAuxCounts()[segment]));
  y = Matrix(units, sums.front().columns);
  for (int64_t unit = 0; unit < units; ++unit) {
    std::vector<std::vector<float>> inputs;
    for (const Matrix &sum : sums)
      inputs.emplace_back(sum.row(unit).begin(), sum.row(unit).end());
    for (Value operand : aux) {
      auto values = launch.element(operand, unit, panelsOf(operand, unit), expertOf(unit));
      if (!values)
        return std::move(values.error());
      inputs.push_back(std::move(*values));
    }
    auto results = evaluate(op.getEpilogues()[segment], std::move(inputs), y.columns);
    if (!results)
      return std::move(results.error());
    std::ranges::copy(results->front(), y.row(unit).begin());
  }
  return {};
}

Result<void> MatmulRun::run() {
  const Matrix x = rowsOfX();
  for (int64_t segment = 0; segment < op.segments(); ++segment) {
    Matrix y;
    if (auto done = runSegment(x, segment, y); !done)
      return done;
    if (!op.getFused().empty()) {
      launch.hand(op.getFused()[segment], std::move(y), firstPanel);
    } else {
      Value output = op.getOutputs()[segment];
      for (int64_t unit = 0; unit < units; ++unit)
        launch.write(output, unit, y.row(unit), panelsOf(output, unit));
    }
    auxBefore += op.getAuxCounts()[segment];
    firstPanel += panels(segment);
  }
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::MatmulOp op) {
  return MatmulRun(launch, op).run();
}

Result<void> interpreter::run(Launch &launch, kernel::StoreOp op) {
  const Items items = launch.panelsOf(op.getOutput(), launch.firstPanelOf(op.getValues()));
  for (int64_t unit = 0; unit < launch.units(launch.isPerRow()); ++unit)
    launch.write(op.getOutput(), unit, launch.read(op.getValues(), unit, items), items);
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::PanelMaximaOp op) {
  for (int64_t unit = 0; unit < launch.units(launch.isPerRow()); ++unit) {
    const std::vector<float> values = launch.read(op.getValues(), unit, Items::one(0));
    std::vector<float> maxima(size_t(op.getOutput().getType().getN()), -INFINITY);
    for (size_t i = 0; i < values.size(); ++i)
      maxima[i / kPanelRows] = std::max(maxima[i / kPanelRows], values[i]);
    launch.write(op.getOutput(), unit, maxima, Items::one(0));
  }
  return {};
}
