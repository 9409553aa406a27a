//===- KernelWork.h - Bytes and operations of an engine's launches ---------===//
//
// The figures come from the plan and the costs (fb::KernelCost) of launches in a step of a given size;
// nothing is measured.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <string_view>

namespace ingot::cli {

/// The size of a step of identical sequences.
struct StepLoad {
  double sequences = 1;
  double tokens = 1;    ///< per sequence
  double positions = 1; ///< per sequence, up to and including its last token
  double rows = 1;      ///< rows of logits, of all sequences
};

/// The work of one launch or of several.
struct KernelWork {
  double bytes = 0; ///< weights, KV, and values that pass between launches
  double operations = 0;
  double coreSeconds = 0; ///< predicted time on one core (GPU: on all of it); 0: no prediction
  double memoryBytes = 0; ///< part of `bytes` that comes from memory: weights and KV
  double kvBytes = 0;     ///< part of `bytes` that is keys and values read
};

/// Returns the code object for `target`, which has the costs; null if the program has none.
const fb::CodeObject *codeWithCosts(const fb::Program &program, std::string_view target);

/// Returns the bytes of weights that a launch of the step reads. A gather reads one row. A launch of experts reads
/// the weights of as many experts as `tokens` tokens may be routed to.
double weightBytesOf(const fb::Program &program, const fb::Launch &launch, const fb::Step &step,
                     double tokens);

/// Adds a launch of the step to `work`. If `cost` is null, only its weights are known.
void addLaunch(const fb::Program &program, const fb::Launch &launch, const fb::Step &step,
               const fb::KernelCost *cost, const StepLoad &load, KernelWork &work);

} // namespace ingot::cli
