//===- KernelWork.h - Bytes and operations of an engine's launches ---------===//
//
// What plan and costs (fb::KernelCost) say of launches in a step of some size; nothing is measured.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <string_view>

namespace ingot::cli {

/// A step of sequences that are alike.
struct StepLoad {
  double sequences = 1;
  double tokens = 1;    ///< of each
  double positions = 1; ///< of each, behind its last token
  double rows = 1;      ///< of logits, of all of them
};

/// Of one launch, or of several.
struct KernelWork {
  double bytes = 0; ///< from memory and between launches
  double operations = 0;
  double coreSeconds = 0; ///< the model's, on one core (of a GPU: all of it); 0: it has none
  double memoryBytes = 0; ///< of `bytes` those that come from memory: weights and KV
  double kvBytes = 0;     ///< of `bytes` those of keys and values that are read
};

/// The costs of the code for `target`; null if the program has none.
const fb::CodeObject *codeWithCosts(const fb::Program &program, std::string_view target);

/// Bytes of weights that a launch of the step reads: a gather, one row; experts, those that so many tokens may go to.
double weightBytesOf(const fb::Program &program, const fb::Launch &launch, const fb::Step &step,
                     double tokens);

/// Adds a launch of the step. `cost` may be null: then its weights are all that is known.
void addLaunch(const fb::Program &program, const fb::Launch &launch, const fb::Step &step,
               const fb::KernelCost *cost, const StepLoad &load, KernelWork &work);

} // namespace ingot::cli
