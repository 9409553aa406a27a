//===- CheckPlan.h - Checks that the plan computes the model ----------------===//
//
// A plan runs in the plan interpreter on a slice: one layer of each kind. The first step mixes a decode, a chunk of a
// prompt and a continued sequence. The second step has one token of each sequence. The checks compare
//
//   lm        and the plan without rounding   within kLargestWiringError, so launches are connected correctly
//   the plan  and the one before planning     bit for bit, with rounding
//   cases     greedy, drawn                   the tokens follow from the logits of mode logits, bit for bit
//   counts    few units, many                 the logits of a row are the same, bit for bit (GPUs)
//   steps     of layers outside the slice     use the model's weights and slots as the layer in the slice does
//
// In addition, every access of every run is checked against effects, barriers and offsets (PlanInterpreter.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Compare.h"
#include "compiler/reference/interpreter/PlanInterpreter.h"

namespace ingot::reference::interpreter {

/// Bound on the difference of logits, relative to the largest. Without rounding, only the order of sums differs. This
/// changes logits by about 1e-6.
constexpr double kLargestWiringError = 1e-4;

/// Returns the first layer of each kind. A check of code or of lowering needs to run only these layers.
std::vector<int64_t> firstLayers(plan::ProgramOp program);

/// Returns the largest counts of tokens and rows of the specialisations, and a count beyond all of them, in ascending
/// order.
std::vector<int64_t> countsOfCases(plan::ProgramOp program);

struct CheckOptions {
  uint64_t seed = 1;
  Effects effects;        ///< effects of kernels; empty: the effects that the kernels' ops declare
  bool keepsRows = false; ///< InterpreterOptions::keepsRows
  /// Whether a later pass will add the launches that find tokens. Until then, steps run only in mode logits.
  bool idsToCome = false;
};

struct PlanEvidence {
  Comparison wiring;   ///< the plan without rounding compared with lm
  Comparison rounding; ///< the error due to encodings of rows and pools, which has no limit
  int64_t launches = 0;
  std::vector<std::string> modes;
};

/// Runs the plan in all modes and for all counts of tokens. Errors: all errors of the plan interpreter; E0885 if a mode
/// or a count gives different tokens or logits.
Result<void> checkCases(mlir::ModuleOp plan, WeightProvider &weights, PlanEvidence &evidence,
                        const CheckOptions &options = {});

/// Checks the plan against the model from which it was lowered: E0883 if it computes something else, E0887 if
/// a step uses weights or a slot of another layer.
Result<void> checkLowering(mlir::ModuleOp model, mlir::ModuleOp plan, WeightProvider &weights,
                           PlanEvidence &evidence, const CheckOptions &options = {});

/// Checks a plan against an earlier one: E0884, with the first launch that writes something else.
Result<void> checkPlanning(mlir::ModuleOp before, mlir::ModuleOp after, WeightProvider &weights,
                           const CheckOptions &options = {});

/// Returns whether the error reports an unknown op, in which case nothing was checked.
inline bool isNotInterpreted(const Error &error) { return error.code == errors::kNotInterpreted; }

/// Registers the pass `check-plan` of ingot-opt: all of these checks for a module with one program. `against`
/// is a file with the model or with a plan.
void registerCheckPlanPass();

} // namespace ingot::reference::interpreter
