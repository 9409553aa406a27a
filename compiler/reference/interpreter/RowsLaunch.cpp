//===- RowsLaunch.cpp - Row-wise kernels, the embedding, rope tables --------===//
#include "compiler/reference/interpreter/Launch.h"
#include "compiler/reference/interpreter/Regions.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/lm/ops/Weights.h"
#include "runtime/abi/Routes.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;

static std::vector<float> permuted(std::span<const float> values, std::span<const float> columns) {
  std::vector<float> result;
  for (float column : columns.first(values.size()))
    result.push_back(values[size_t(column)]);
  return result;
}

Result<void> interpreter::run(Launch &launch, kernel::RowwiseOp op) {
  const int64_t units = launch.units(op.isPerRow()) * int64_t(op.getRowsOfToken());
  const Routes routes = op.getRoutes() ? launch.routes(op.getRoutes()) : Routes();
  Matrix fusedValue(op.getFused() ? units : 0, op.width());
  auto columns = op.getColumns() ? launch.vector(op.getColumns()) : std::vector<float>();
  if (!columns)
    return std::move(columns.error());
  for (int64_t unit = 0; unit < units; ++unit) {
    // If the units are pairs of tokens and experts, the routes define the row of each pair.
    const int64_t to = op.ordersByExpert() ? routes.row[size_t(unit)] : unit;
    const int64_t row = op.getGather()    ? launch.batch.logitsRows[size_t(unit)]
                        : op.dispatches() ? routes.token[size_t(to)]
                                          : to;
    std::span<const float> order = *columns;
    if (op.ordersByExpert())
      order = order.subspan(size_t(routes.expertOf(to) * orderStride(op.width())));
    std::vector<std::vector<float>> inputs;
    for (Value operand : op.getInputs()) {
      auto values = launch.element(operand, row,
                                   op.getRoutes() ? Items::every() : launch.consumersOf(op, unit));
      if (!values)
        return std::move(values.error());
      if (values->size() == 1) // repeat the value of a row that has only one
        values->resize(size_t(op.width()), values->front());
      if (!order.empty())
        *values = permuted(*values, order);
      inputs.push_back(std::move(*values));
    }
    auto results = evaluate(op.getBody(), std::move(inputs), op.width());
    if (!results)
      return std::move(results.error());
    for (auto [output, values] : llvm::zip(op.getOutputs(), *results))
      launch.write(output, to, values, Items::one(unit));
    if (op.getFused())
      std::ranges::copy(results->front(), fusedValue.row(unit).begin());
  }
  if (op.getFused())
    launch.hand(op.getFused(), std::move(fusedValue));
  return {};
}

/// Writes the fp8 rows. Steps of few tokens skip this launch.
Result<void> interpreter::run(Launch &launch, kernel::Fp8RowsOp op) {
  const int64_t units = launch.units(op.isPerRow()) * int64_t(op.getRowsOfToken());
  for (int64_t unit = 0; unit < units; ++unit)
    launch.write(op.getOutput(), unit, launch.read(op.getX(), unit, Items::one(unit)),
                 Items::one(unit));
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::GatherOp op) {
  const float scale = op.getScale().convertToFloat();
  for (int64_t t = 0; t < launch.units(/*perRow=*/false); ++t) {
    std::vector<float> row(size_t(op.getOutput().getType().getN()));
    const int64_t last = op.getWeight().getType().rows() - 1,
                  index = op.getByPosition()
                              ? std::min<int64_t>(launch.batch.positions[size_t(t)], last)
                              : launch.ids[size_t(t)];
    if (auto read = launch.interpreter.provider.row(launch.weight(op.getWeight()), index, row);
        !read)
      return read;
    for (float &value : row)
      value *= scale;
    launch.write(op.getOutput(), t, row, Items::one(t));
  }
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::RopeTableOp op) {
  auto frequencies = launch.vector(op.getFrequencies());
  if (!frequencies)
    return std::move(frequencies.error());
  const size_t pairs = frequencies->size();
  const float factor = op.getFactor().convertToFloat();
  for (int64_t t = 0; t < launch.units(/*perRow=*/false); ++t) {
    std::vector<float> row(2 * pairs);
    for (size_t i = 0; i < pairs; ++i) {
      const float angle = float(launch.batch.positions[size_t(t)]) * (*frequencies)[i];
      row[i] = float(std::cos(double(angle))) * factor;
      row[pairs + i] = float(std::sin(double(angle))) * factor;
    }
    launch.write(op.getOutput(), t, row, Items::one(t));
  }
  return {};
}
