//===- KernelWork.cpp - See KernelWork.h -----------------------------------===//
#include "tools/ingot/measure/roofline/KernelWork.h"

#include "runtime/abi/Routes.h"
#include "runtime/engine/Program.h"
#include "runtime/session/EngineCost.h"

#include <algorithm>

namespace ingot::cli {

namespace {

bool gathers(const fb::Program &program, const fb::Launch &launch) {
  const auto *family = program.kernels()->Get(launch.kernel())->family();
  return family && family->string_view() == "gather";
}

/// Returns the state that the launch reads or writes; null if none.
const fb::State *stateOf(const fb::Program &program, const fb::Launch &launch,
                         const fb::Step &step) {
  for (unsigned i = 0; launch.args() && i < launch.args()->size(); ++i)
    if (launch.args()->Get(i)->kind() == fb::ArgKind::State)
      return program.states()->Get(step.states()->Get(launch.args()->Get(i)->index()));
  return nullptr;
}

/// Returns the number of (token, attended position) pairs of one sequence. A token at position p
/// attends to min(p + 1, window) positions.
double pairsOf(const StepLoad &load, double window) {
  const double first = load.positions - load.tokens + 1,
               whole = std::max(0.0, load.positions - std::max(first, window));
  const double partly = load.tokens - whole;
  return whole * window + partly * (first + std::min(load.positions, first + partly - 1)) / 2;
}

} // namespace

const fb::CodeObject *codeWithCosts(const fb::Program &program, std::string_view target) {
  for (const fb::CodeObject *code : *program.code())
    if (code->target()->string_view() == target)
      return code->costs() && code->costs()->size() ? code : nullptr;
  return nullptr;
}

double weightBytesOf(const fb::Program &program, const fb::Launch &launch, const fb::Step &step,
                     double tokens) {
  const fb::Kernel &kernel = *program.kernels()->Get(launch.kernel());
  const double share =
      kernel.experts() ? shareOfExperts(kernel.experts(), kernel.experts_used(), tokens) : 1;
  double bytes = 0;
  for (unsigned i = 0; launch.args() && i < launch.args()->size(); ++i) {
    const fb::Arg &arg = *launch.args()->Get(i);
    if (arg.kind() != fb::ArgKind::Weight && arg.kind() != fb::ArgKind::LayerWeight)
      continue;
    const fb::Weight *weight = program.weights()->Get(runtime::weightIndex(arg, step));
    const bool stack = weight->shape()->size() == 3;
    bytes += static_cast<double>(weight->size()) * (stack ? share : 1) /
             (gathers(program, launch) ? static_cast<double>(weight->shape()->Get(0)) : 1);
  }
  return bytes;
}

void addLaunch(const fb::Program &program, const fb::Launch &launch, const fb::Step &step,
               const fb::KernelCost *cost, const StepLoad &load, KernelWork &work) {
  // The cost of a gather includes its row.
  const double weights = cost && gathers(program, launch)
                             ? 0
                             : weightBytesOf(program, launch, step, load.sequences * load.tokens);
  work.bytes += weights;
  if (!cost) {
    work.memoryBytes += weights;
    return;
  }
  const fb::State *state = stateOf(program, launch, step);
  const double window = state && state->window() ? state->window() : load.positions;
  const double units = cost->per_row() ? load.rows : load.sequences * load.tokens;
  const double kv = load.sequences * std::min(load.positions, window + load.tokens) *
                    static_cast<double>(cost->bytes_per_position());
  work.bytes += units * static_cast<double>(cost->bytes_per_unit()) + kv;
  work.kvBytes += kv;
  work.operations +=
      units * static_cast<double>(cost->operations_per_unit()) +
      load.sequences * pairsOf(load, window) * static_cast<double>(cost->operations_per_position());
  const runtime::PredictedLaunch predicted = runtime::predict(*cost, units);
  work.coreSeconds += predicted.coreSeconds;
  work.memoryBytes += predicted.bytes > 0 ? predicted.bytes : weights + kv;
}

} // namespace ingot::cli
