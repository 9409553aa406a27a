//===- AttentionLaunch.cpp - Launches that write and read the KV pool -------===//
#include "compiler/reference/interpreter/Launch.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Rope.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

void interpreter::rotate(std::span<float> row, int64_t headDim, std::span<const float> table,
                         lm::RopeStyle style) {
  const size_t pairs = table.size() / 2;
  const bool half = style == lm::RopeStyle::Half;
  for (size_t head = 0; head < row.size(); head += size_t(headDim))
    for (size_t i = 0; i < pairs; ++i) {
      float &a = row[head + (half ? i : 2 * i)], &b = row[head + (half ? i + pairs : 2 * i + 1)];
      const float c = table[i], s = table[pairs + i], x = a, y = b;
      a = x * c - y * s;
      b = y * c + x * s;
    }
}

/// Normalises the heads of a row. The heads share one weight, or each has its own.
static void normHeads(std::span<float> row, const std::vector<float> &weight, size_t width,
                      kernel::RopeAppendOp op) {
  const float eps = op.getEps().convertToFloat(), offset = op.getWeightOffset().convertToFloat();
  for (size_t head = 0; head < row.size(); head += width) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < width; ++i)
      sum += double(row[head + i]);
    const float mean = op.getCentred() ? float(sum / double(width)) : 0.0f;
    for (size_t i = 0; i < width; ++i) {
      row[head + i] -= mean;
      squares += double(row[head + i]) * double(row[head + i]);
    }
    const float factor = 1.0f / std::sqrt(float(squares / double(width)) + eps);
    for (size_t i = 0; i < width; ++i)
      row[head + i] = row[head + i] * factor * (weight[(head + i) % weight.size()] + offset);
  }
}

Result<void> interpreter::run(Launch &launch, kernel::RopeAppendOp op) {
  kernel::KvPoolType type = op.getKv().getType();
  const int64_t state = launch.state(op.getKv(), /*reads=*/false, /*writes=*/true);
  Matrix rotated(launch.units(/*perRow=*/false), kernel::activationTypeOf(op.getQ()).getN());
  for (int64_t t = 0; t < rotated.rows; ++t) {
    const Items item = launch.consumersOf(op, t);
    std::vector<float> q = launch.read(op.getQ(), t, item), k = launch.read(op.getK(), t, item);
    const std::vector<float> v = launch.read(op.getV(), t, item);
    auto norm = [&]() -> Result<void> {
      for (auto [norm, row] : {std::pair{op.getQNorm(), &q}, std::pair{op.getKNorm(), &k}}) {
        if (!norm)
          continue;
        auto weight = launch.vector(norm);
        if (!weight)
          return std::move(weight.error());
        normHeads(*row, *weight, size_t(type.getHeadDim()), op);
      }
      return {};
    };
    if (!op.getNormAfter())
      if (auto normed = norm(); !normed)
        return normed;
    if (op.getTable()) {
      const std::vector<float> table = launch.read(op.getTable(), t, item);
      rotate(q, type.getHeadDim(), table, op.getStyle());
      rotate(k, type.getHeadDim(), table, op.getStyle());
    }
    if (op.getNormAfter())
      if (auto normed = norm(); !normed)
        return normed;
    if (op.getTemperature()) {
      auto factors = launch.vector(op.getTemperature());
      if (!factors)
        return std::move(factors.error());
      const float factor =
          factorAt(*factors, launch.batch.positions[size_t(t)], int64_t(op.getTemperaturePeriod()));
      for (float &value : q)
        value *= factor;
    }
    std::ranges::copy(q, rotated.row(t).begin());
    if (!op.getRotated())
      launch.write(op.getQ(), t, q, item);
    launch.interpreter.pools->append(state, type, launch.batch.sequences[size_t(t)],
                                     launch.batch.positions[size_t(t)], k, v, t);
  }
  if (op.getRotated())
    launch.hand(op.getRotated(), std::move(rotated), launch.firstPanelOf(op.getQ()));
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::AttentionOp op) {
  const int64_t tokens = launch.units(/*perRow=*/false);
  Matrix q(tokens, op.getQ().getType().getN());
  for (int64_t t = 0; t < tokens; ++t)
    std::ranges::copy(launch.read(op.getQ(), t, Items::one(t)), q.row(t).begin());
  if (op.getWorkspace())
    launch.touchWorkspace(op.getWorkspace());
  const int64_t state = launch.state(op.getKv(), /*reads=*/true, /*writes=*/false);
  std::vector<float> sinks;
  if (op.getSinks()) {
    auto read = launch.vector(op.getSinks());
    if (!read)
      return std::move(read.error());
    sinks = std::move(*read);
  }
  const Matrix y = launch.interpreter.pools->attend(
      state, op.getKv().getType(), std::move(q), launch.batch,
      {int64_t(op.getHeads()), op.getKv().getType().getKvHeads(), op.getScale().convertToFloat(),
       int64_t(op.getWindow()), op.getSoftcap().convertToFloat(), sinks});
  for (int64_t t = 0; t < tokens; ++t)
    launch.write(op.getOutput(), t, y.row(t), Items::one(t));
  return {};
}
