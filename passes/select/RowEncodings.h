//===- RowEncodings.h - Encodings of rows between launches ----------------===//
//
// Rows that pass between launches are stored as f32, or rounded to the encoding that the projections multiply:
//
//   CPUs   q8 (int8 with a scale per 32 values) where weights are quantised; in the entry q8x2 (two planes)
//   GPUs   bf16, or fp8 where weights are fp8
//
// All other ops read f32, and so do routers with floating-point weights. In lm the encoding is part of a value's type,
// and lm.cast converts to it:
//
//   %n = lm.rms_norm %x, …  : tensor<?x576xf32>                            f32, because other ops read it as well
//   %r = lm.cast %n         : tensor<?x576xf32> -> tensor<?x576xf32, "q8">
//   %q = lm.linear %r, …
//
// ChooseEncodings.cpp inserts these ops. The selection of kernels then looks only at the types of an op's operands and
// results.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "dialects/lm/LmDialect.h"

namespace ingot {

class Target;
namespace lm {
class ModelOp;
}

/// Inserts the conversions that the target's projections need, as lm-choose-encodings does with precision
/// fast.
void chooseEncodings(lm::ModelOp model, const Target &target, bool fp8Rows);

using kernel::encodingOf;
using kernel::rowsOf;
/// The type of `rows` in an encoding other than f32.
mlir::RankedTensorType withEncoding(mlir::Type rows, kernel::RowKind encoding);

/// How many rows a value has: one for each logits row of a step, as after lm.select_rows, or `ofToken` for
/// each token.
struct RowCount {
  kernel::Extent extent = kernel::Extent::Tokens;
  int64_t ofToken = 1; ///< the number of experts per token after lm.dispatch

  bool operator==(const RowCount &) const = default;
};
RowCount rowCountOf(mlir::Value rows);

/// The ops of a launch: those of a fused region without its conversions, or just the op.
llvm::SmallVector<mlir::Operation *> opsOf(mlir::Operation *launch);
/// The name of a launch: the pattern of a region, or else a name derived from the op.
llvm::StringRef launchName(mlir::Operation *launch);
/// The rows from which `value` was rounded; `value` itself if it was not rounded.
mlir::Value beforeRounding(mlir::Value value);
/// The value that a launch computes for a result before rounding: a value of its region, or the result
/// itself.
mlir::Value inside(mlir::OpResult result);
/// Whether the launch computes router logits (an lm.route reads its results). If so, neither its weights
/// nor its input rows are rounded.
bool choosesExperts(mlir::Operation *launch);
/// Whether the op becomes arithmetic on single values and row statistics (ScalarOps.h).
bool isRowwise(mlir::Operation *op);

} // namespace ingot
