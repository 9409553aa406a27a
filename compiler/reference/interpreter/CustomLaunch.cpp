//===- CustomLaunch.cpp - External kernels -----------------------------------===//
#include "compiler/reference/Interpreter.h"
#include "compiler/reference/interpreter/Launch.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/lm/ops/Weights.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

/// Returns the index of the first token of each span, and the end of the last span.
static std::vector<size_t> spansOf(const Batch &batch, bool hasState) {
  std::vector<size_t> starts;
  for (size_t t = 0; t < batch.positions.size(); ++t)
    if (!hasState || t == 0 || batch.sequences[t] != batch.sequences[t - 1])
      starts.push_back(t);
  starts.push_back(batch.positions.size());
  return starts;
}

/// Runs the region of the op on the launch's rows, with the interpreter of lm. The kernel's code is checked against the
/// result. A work item is a token, or the tokens of a sequence if there is a state.
Result<void> interpreter::run(Launch &launch, kernel::CustomOp op) {
  const Batch &batch = launch.batch;
  const std::vector<size_t> spans = spansOf(batch, bool(op.getState()));
  auto itemOf = [&](size_t token) {
    return int64_t(std::ranges::upper_bound(spans, token) - spans.begin()) - 1;
  };
  const auto tokens = int64_t(batch.positions.size());
  const int64_t state =
      op.getState() ? launch.state(op.getState(), /*reads=*/true, /*writes=*/true) : -1;
  std::vector<RowsValue> operands;
  for (Value memory : op.memoryOfArguments()) {
    RowsValue &value = operands.emplace_back();
    if (!memory)
      continue;
    if (auto rows = dyn_cast<kernel::ActivationType>(memory.getType())) {
      auto matrix = std::make_shared<Matrix>(tokens, rows.getN());
      for (int64_t t = 0; t < tokens; ++t)
        std::ranges::copy(launch.read(memory, t, Items::one(itemOf(size_t(t)))),
                          matrix->row(t).begin());
      value.rows = std::move(matrix);
    } else if (memory == op.getState()) {
      const auto size = size_t(op.getState().getType().getLayout().getStreams().front().values());
      for (size_t i = 0; i + 1 < spans.size(); ++i)
        value.state[batch.sequences[spans[i]]] = launch.interpreter.pools->snapshot(
            state, batch.sequences[spans[i]], batch.positions[spans[i]], size, int64_t(i));
    } else {
      value.weight = launch.weight(memory);
    }
  }
  auto results =
      runRows(op.getMeaning().front(), std::move(operands), batch, launch.interpreter.provider);
  if (!results)
    return std::move(results.error());
  for (auto [output, result] : llvm::zip(op.getOutputs(), *results))
    for (int64_t t = 0; t < tokens; ++t)
      launch.write(output, t, result.rows->row(t), Items::one(itemOf(size_t(t))));
  if (!op.getState())
    return {};
  for (size_t i = 0; i + 1 < spans.size(); ++i) {
    const int32_t sequence = batch.sequences[spans[i]];
    launch.interpreter.pools->leaveSnapshot(state, sequence, batch.positions[spans[i + 1] - 1] + 1,
                                            results->back().state[sequence], int64_t(i));
  }
  return {};
}
