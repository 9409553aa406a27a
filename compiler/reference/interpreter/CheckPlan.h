//===- CheckPlan.h - Checks that the plan computes the model ----------------===//
//
// A plan runs in the plan interpreter on a slice: one layer of each kind, on steps that mix a decode, a chunk
// of a prompt and a continued sequence, and then a step of one token each. The checks compare
//
//   lm        and the plan without rounding   within kLargestWiringError: the wiring is as intended
//   the plan  and that before planning        bit for bit, with rounding
//   cases     greedy, drawn                   the ids are those of the mode logits, bit for bit
//   counts    few units, many                 the logits of a row are the same, bit for bit (GPUs)
//   steps     of layers outside the slice     use the model's weights and slots as the layer in the slice does
//
// and every access of every run with effects, barriers and offsets (PlanInterpreter.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Compare.h"
#include "compiler/reference/interpreter/PlanInterpreter.h"

namespace ingot::reference::interpreter {

/// Bound on the difference of logits, relative to the largest. Without rounding only the order of sums
/// differs: about 1e-6.
constexpr double kLargestWiringError = 1e-4;

/// The first layer of each kind: all layers that a check of code or of wiring needs to run.
std::vector<int64_t> firstLayers(plan::ProgramOp program);

/// Upper bounds of tokens and rows of the specialisations, and one count beyond them all, ascending.
std::vector<int64_t> countsOfCases(plan::ProgramOp program);

struct CheckOptions {
  uint64_t seed = 1;
  Effects effects;        ///< effects of kernels; empty: those that their ops declare
  bool keepsRows = false; ///< InterpreterOptions::keepsRows
  /// A later pass will add the launches that find ids: steps run only in mode logits.
  bool idsToCome = false;
};

struct PlanEvidence {
  Comparison wiring;   ///< the plan without rounding compared with lm
  Comparison rounding; ///< the cost of the encodings of rows and pools: measured, not judged
  int64_t launches = 0;
  std::vector<std::string> modes;
};

/// Runs the plan in all modes and counts. Errors: those of the plan interpreter; E0885 if a mode or a count
/// gives different ids or logits.
Result<void> checkCases(mlir::ModuleOp plan, WeightProvider &weights, PlanEvidence &evidence,
                        const CheckOptions &options = {});

/// Checks the plan against the model from which it was lowered: E0883 if it computes something else, E0887 if
/// a step uses weights or a slot of another layer.
Result<void> checkLowering(mlir::ModuleOp model, mlir::ModuleOp plan, WeightProvider &weights,
                           PlanEvidence &evidence, const CheckOptions &options = {});

/// Checks a plan against an earlier one: E0884, with the first launch that writes something else.
Result<void> checkPlanning(mlir::ModuleOp before, mlir::ModuleOp after, WeightProvider &weights,
                           const CheckOptions &options = {});

/// Whether the error reports an unknown op, in which case nothing was checked.
inline bool isNotInterpreted(const Error &error) { return error.code == errors::kNotInterpreted; }

/// Registers the pass `check-plan` of ingot-opt: all of these checks for a module with one program. `against`
/// is a file with the model or with a plan.
void registerCheckPlanPass();

} // namespace ingot::reference::interpreter
