//===- RowForms.h - How rows between launches are held --------------------===//
//
// Rows that pass between launches are held as f32, or rounded as the projections that read them multiply: on CPUs as q8
// (int8 with a scale per 32 values; q8x2, two planes, in the entry) where weights are quantised, on GPUs as bf16, and
// of those as fp8 where weights are fp8. All else reads f32, and so do routers of floats. In lm the form is the encoding
// of a value's type, and lm.round makes it:
//
//   %n = lm.rms_norm %x, …  : tensor<?x576xf32>                            f32: others read it as well
//   %r = lm.round %n        : tensor<?x576xf32> -> tensor<?x576xf32, "q8">
//   %q = lm.linear %r, …
//
// ChooseForms.cpp puts these ops there. What lowers an op then looks at the types of its operands and results.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "dialects/lm/LmDialect.h"

namespace ingot {

class Target;
namespace lm {
class ModelOp;
}

/// Puts the conversions that the target's projections want, as lm-choose-forms does with precision fast.
void chooseForms(lm::ModelOp model, const Target &target, bool fp8Rows);

/// The form of rows of that type; none: the encoding names no form.
std::optional<kernel::RowKind> formOf(mlir::Type rows);
/// What a kernel sees of rows of that type, which names a form.
kernel::RowsType rowsOf(mlir::Type rows);
/// Those rows in another form than f32.
mlir::RankedTensorType inForm(mlir::Type rows, kernel::RowKind form);

/// How many rows a value has: one for each logits row of a step, as behind lm.select_rows, or so many for each token.
struct RowCount {
  kernel::Extent extent = kernel::Extent::Tokens;
  int64_t ofToken = 1; ///< as many as a token has experts behind lm.dispatch

  bool operator==(const RowCount &) const = default;
};
RowCount rowCountOf(mlir::Value rows);

/// The ops of a launch: those of a fused region without its conversions, or the op alone.
llvm::SmallVector<mlir::Operation *> opsOf(mlir::Operation *launch);
/// What a launch is called: a region's pattern, or after the op.
llvm::StringRef launchName(mlir::Operation *launch);
/// The rows that `value` was rounded from; itself, if it was not.
mlir::Value beforeRounding(mlir::Value value);
/// What a launch computes for a result, before it is rounded: a value of its region, or the result itself.
mlir::Value inside(mlir::OpResult result);
/// Whether results of a launch say which experts tokens go to: then neither its weights nor its rows are rounded.
bool choosesExperts(mlir::Operation *launch);
/// What becomes arithmetic on single values and statistics of a row (RegionLowering.h).
bool isRowwise(mlir::Operation *op);

} // namespace ingot
