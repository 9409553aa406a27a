//===- MatmulLaunch.cpp - Projections --------------------------------------===//
//
//   x (or its prologue)  ▶  products  ▶  epilogue  ▶  rows, keys, maxima
//                                              or  ▶  rows of q, the pool
//===----------------------------------------------------------------------===//
#include "compiler/reference/machine/Launch.h"
#include "compiler/reference/machine/Regions.h"
#include "dialects/kernel/ops/Matmul.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::machine;
using kernel::RowKind;
using kernel::RowsType;

namespace {

class MatmulRun {
public:
  MatmulRun(Launch &launch, kernel::MatmulOp op)
      : launch(launch), op(op), units(launch.units(op.isPerRow())),
        alone(op.workItems().factor == 1) {}

  Result<void> run();

private:
  /// Every work item reads all of x; of a launch with one item that is this one.
  Items all() const { return alone ? Items::one(0) : Items::every(); }
  /// A panel of 32 f32 values is one work item; rows in another form count as everybody's.
  Items panels(Value operand) const {
    auto rows = dyn_cast<RowsType>(operand.getType());
    if (alone || !rows || rows.getKind() != RowKind::F32)
      return all();
    return {firstPanel, kPanelRows * 4};
  }

  Result<Matrix> rowsOfX();
  void holdFp8(const std::vector<float> &x, const std::vector<float> &fp8, int64_t unit);
  Result<std::vector<float>> prologue(int64_t unit);
  Result<void> runSegment(const Matrix &x, size_t segment, Matrix &y);
  void store(size_t segment, const Matrix &y);
  void find(const Matrix &y);
  Result<void> append(std::vector<Matrix> &segments);

  Launch &launch;
  kernel::MatmulOp op;
  const int64_t units;
  const bool alone;
  int64_t firstPanel = 0, auxBefore = 0;
};

} // namespace

Result<std::vector<float>> MatmulRun::prologue(int64_t unit) {
  const RowsType x = op.xType();
  const int64_t row = op.getPrologueGather() ? launch.batch.logitsRows[size_t(unit)] : unit;
  std::vector<std::vector<float>> inputs;
  for (Value operand : op.getPrologue()) {
    auto values = launch.element(operand, row, all());
    if (!values)
      return std::move(values.error());
    inputs.push_back(std::move(*values));
  }
  auto computed = evaluate(op.getPrologueBody(), std::move(inputs), x.getN());
  if (!computed)
    return std::move(computed.error());
  std::vector<float> values = std::move(computed->front());
  if (launch.machine.options.rounds) { // to the bits of the rows that nobody wrote
    std::vector<std::byte> row(size_t(x.rowBytes()));
    encodeRow(x, values, row.data());
    decodeRow(x, row.data(), values);
  }
  return values;
}

/// Codes of E4M3 are within a sixteenth of what they stand for.
void MatmulRun::holdFp8(const std::vector<float> &x, const std::vector<float> &fp8, int64_t unit) {
  for (size_t i = 0; i < x.size(); ++i)
    if (std::abs(x[i] - fp8[i]) > 0.0626f * std::abs(x[i]) + 1e-3f)
      launch.machine.findings.add(
          "E0883",
          launch.machine.timeline.current() + " has fp8 rows of other numbers than its rows",
          "row " + std::to_string(unit) + ", value " + std::to_string(i) + ": " +
              std::to_string(fp8[i]) + " beside " + std::to_string(x[i]));
}

Result<Matrix> MatmulRun::rowsOfX() {
  Matrix x(units, op.xType().getN());
  for (int64_t unit = 0; unit < units; ++unit) {
    auto values = op.getX() ? Result<std::vector<float>>(launch.read(op.getX(), unit, all()))
                            : prologue(unit);
    if (!values)
      return std::move(values.error());
    std::ranges::copy(*values, x.row(unit).begin());
    if (op.getXFp8()) // code that multiplies in fp8 reads these rows instead
      holdFp8(*values, launch.read(op.getXFp8(), unit, all()), unit);
  }
  return x;
}

Result<void> MatmulRun::runSegment(const Matrix &x, size_t segment, Matrix &y) {
  const size_t perSegment = op.getPair() ? 2 : 1;
  std::vector<Matrix> sums;
  for (Value weight : op.getWeights().slice(segment * perSegment, perSegment)) {
    auto products = launch.multiply(x, weight);
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
      auto values = launch.element(operand, unit, panels(operand));
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

void MatmulRun::store(size_t segment, const Matrix &y) {
  Value output = op.getOutputs()[segment];
  for (int64_t unit = 0; unit < units; ++unit)
    launch.write(output, unit, y.row(unit), panels(output));
}

/// What is found in the only output, which need not be written.
void MatmulRun::find(const Matrix &y) {
  for (int64_t unit = 0; op.getKeys() && unit < units; ++unit)
    raiseKey(launch.bytes(op.getKeys(), unit, Items::one(0), true, true), y.row(unit));
  if (!op.getMaxima())
    return;
  for (int64_t unit = 0; unit < units; ++unit) {
    std::vector<float> maxima(size_t(cast<RowsType>(op.getMaxima().getType()).getN()), -INFINITY);
    for (int64_t i = 0; i < y.columns; ++i)
      maxima[size_t(i / kPanelRows)] = std::max(maxima[size_t(i / kPanelRows)], y.row(unit)[i]);
    launch.write(op.getMaxima(), unit, maxima, Items::one(0));
  }
}

/// q rotated into its rows, k and v into the pool.
Result<void> MatmulRun::append(std::vector<Matrix> &segments) {
  auto type = cast<kernel::KvPoolType>(op.getKv().getType());
  const int64_t state = launch.state(op.getKv(), /*reads=*/false, /*writes=*/true);
  for (int64_t t = 0; t < units; ++t) {
    if (op.getTable()) {
      const std::vector<float> table = launch.read(op.getTable(), t, all());
      rotate(segments[0].row(t), type.getHeadDim(), table, *op.getStyle());
      rotate(segments[1].row(t), type.getHeadDim(), table, *op.getStyle());
    }
    launch.machine.pools->append(state, type, launch.batch.sequences[size_t(t)],
                                 launch.batch.positions[size_t(t)], segments[1].row(t),
                                 segments[2].row(t), t);
  }
  store(0, segments[0]);
  return {};
}

Result<void> MatmulRun::run() {
  auto x = rowsOfX();
  if (!x)
    return std::move(x.error());
  const bool appends = bool(op.getKv());
  std::vector<Matrix> kept;
  for (int64_t segment = 0; segment < op.segments(); ++segment) {
    Matrix y;
    if (auto done = runSegment(*x, segment, y); !done)
      return done;
    find(y);
    if (appends)
      kept.push_back(std::move(y));
    else if (!op.getOutputs().empty())
      store(segment, y);
    auxBefore += op.getAuxCounts()[segment];
    firstPanel += roundUp(op.segmentRows(segment), kPanelRows) / kPanelRows;
  }
  return appends ? append(kept) : Result<void>();
}

Result<void> machine::run(Launch &launch, kernel::MatmulOp op) {
  return MatmulRun(launch, op).run();
}
