//===- CheckPlan.h - Does the plan compute the model? -----------------------===//
//
// A plan runs in the slow machine on a slice: one layer of each kind, on steps that mix a decode, a chunk of a prompt
// and a sequence that goes on, and then a step of one token each. Held against each other are
//
//   lm        and the plan without rounding   within kLargestWiringError: what is wired is what was meant
//   a plan    and that before planning        bit for bit, with rounding
//   cases     greedy, drawn                   the ids are those of the mode logits, bit for bit
//   counts    few units, many                 the logits of a row are the same, bit for bit (GPUs)
//   steps     of layers outside the slice     take the model's weights and slots as the layer in it does
//
// and every access of every run against effects, barriers and offsets (SlowMachine.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Compare.h"
#include "compiler/reference/machine/SlowMachine.h"

namespace ingot::reference::machine {

/// Of a logit against the largest of them. Without rounding, what is left is the order of sums: some 1e-6.
constexpr double kLargestWiringError = 1e-4;

/// The first layer of each kind: all that a check of code or of wiring needs to run.
std::vector<int64_t> firstLayers(plan::ProgramOp program);

/// Counts of tokens and rows up to which cases go, and one beyond them all, rising.
std::vector<int64_t> countsOfCases(plan::ProgramOp program);

struct CheckOptions {
  uint64_t seed = 1;
  Effects effects;        ///< of kernels; empty: those that their ops declare
  bool keepsRows = false; ///< MachineOptions::keepsRows
  /// A pass that is yet to run makes ids of logits: steps are run in mode logits alone.
  bool idsToCome = false;
};

struct PlanEvidence {
  Comparison wiring;   ///< of the plan without rounding with lm
  Comparison rounding; ///< what forms of rows and pools cost: measured, not judged
  int64_t launches = 0;
  std::vector<std::string> modes;
};

/// Runs the plan in all modes and counts. Errors: those of the machine; E0885 where a mode or a count gives other ids or
/// logits.
Result<void> checkCases(mlir::ModuleOp plan, WeightProvider &weights, PlanEvidence &evidence,
                        const CheckOptions &options = {});

/// Holds the plan against the model that it was lowered from: E0883 where it computes something else, E0887 where
/// a step takes weights or a slot that are not its layer's.
Result<void> checkLowering(mlir::ModuleOp model, mlir::ModuleOp plan, WeightProvider &weights,
                           PlanEvidence &evidence, const CheckOptions &options = {});

/// Holds a plan against an earlier one: E0884, with the first launch that writes something else.
Result<void> checkPlanning(mlir::ModuleOp before, mlir::ModuleOp after, WeightProvider &weights,
                           const CheckOptions &options = {});

/// Whether the error says that an op is unknown, and so that nothing was checked.
inline bool isNotInterpreted(const Error &error) { return error.code == "E0889"; }

/// The pass `slow-check` of ingot-opt: all of these for a module with one program. `against` is a file with the
/// model, or with a plan.
void registerSlowCheckPass();

} // namespace ingot::reference::machine
