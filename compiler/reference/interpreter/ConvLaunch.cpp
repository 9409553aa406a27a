//===- ConvLaunch.cpp - Convolutions over the rows of a sequence -------------===//
#include "compiler/reference/interpreter/Launch.h"
#include "dialects/kernel/ops/CausalConv.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

/// A span is the tokens of one sequence. It starts from the state snapshot after the preceding tokens and writes the
/// snapshot after its last token.
Result<void> interpreter::run(Launch &launch, kernel::CausalConvOp op) {
  auto weight = launch.vector(op.getWeight());
  if (!weight)
    return std::move(weight.error());
  auto bias =
      op.getBias() ? launch.vector(op.getBias()) : Result<std::vector<float>>(std::vector<float>());
  if (!bias)
    return std::move(bias.error());
  const auto channels = size_t(op.getX().getType().getN()), size = op.historyRows() * channels;
  const int64_t state = launch.state(op.getState(), /*reads=*/true, /*writes=*/true);
  PoolMemory &states = *launch.interpreter.pools;
  const Batch &batch = launch.batch;
  int64_t span = -1;
  std::vector<float> before; ///< the rows before the token, oldest first
  for (size_t t = 0; t < batch.positions.size(); ++t) {
    const int64_t sequence = batch.sequences[t], position = batch.positions[t];
    if (t == 0 || sequence != batch.sequences[t - 1])
      before = states.snapshot(state, sequence, position, size, ++span);
    const std::vector<float> x = launch.read(op.getX(), int64_t(t), Items::one(span));
    std::vector<float> y(channels);
    before.insert(before.end(), x.begin(), x.end());
    for (size_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (size_t at = c; at < before.size(); at += channels)
        sum += (*weight)[at] * before[at];
      y[c] = bias->empty() ? sum : sum + (*bias)[c];
    }
    before.erase(before.begin(), before.begin() + int64_t(channels));
    launch.write(op.getOutput(), int64_t(t), y, Items::one(span));
    if (t + 1 == batch.positions.size() || batch.sequences[t + 1] != sequence)
      states.leaveSnapshot(state, sequence, position + 1, before, span);
  }
  return {};
}
