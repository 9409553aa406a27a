//===- KernelDialect.h - C++ declarations of the kernel dialect -----------===//
#pragma once

#include "dialects/kernel/KernelLaunch.h"
#include "dialects/lm/LmDialect.h"
#include "runtime/formats/FragmentLayout.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

/// Lets types print and parse a KV cache format by its name.
template <> struct mlir::FieldParser<ingot::KvFormat> {
  static FailureOr<ingot::KvFormat> parse(AsmParser &parser);
};
namespace ingot {
llvm::raw_ostream &operator<<(llvm::raw_ostream &out, KvFormat format);
}

#include "dialects/kernel/KernelDialect.h.inc"
#include "dialects/kernel/KernelEnums.h.inc"
#include "dialects/kernel/KernelInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kernel/KernelTypes.h.inc"

namespace ingot::kernel {

/// Returns the row type of an operand; for a fused value, the type it would have in memory.
ActivationType activationTypeOf(mlir::Value value);
/// Returns the `Op` that consumes a fused value; null if there is none.
template <typename Op> Op consumerOf(mlir::Value fusedValue) {
  for (mlir::Operation *user : fusedValue.getUsers())
    if (auto op = llvm::dyn_cast<Op>(user))
      return op;
  return {};
}

/// Returns the op of a kernel that is neither a producer of another's rows nor a consumer of fused values; null if
/// there is not exactly one.
LaunchInterface anchorOf(mlir::Block &ops);
/// Returns the encoding of rows of type `rows`; nullopt if the type's encoding is not a row kind.
std::optional<RowKind> encodingOf(mlir::Type rows);
/// Returns the type of the memory of rows of type `rows`, which must have an encoding.
ActivationType rowsOf(mlir::Type rows);
/// Returns whether a kernel takes operands of that type: rows, routes, weights, states, workspaces.
bool isMemory(mlir::Type type);

/// One work item per token, or per logits row.
WorkItems unitsOf(Extent extent);

/// Returns the layout of a matrix, or of a stack of matrices, on CPUs and on GPUs.
PanelLayout panelLayoutOf(lm::WeightType weight);
FragmentLayout fragmentLayoutOf(lm::WeightType weight);
/// Returns the size in bytes of a weight as packed in an engine, padding included. The weight is a vector, or a matrix
/// that has a layout.
int64_t packedBytes(lm::WeightType weight);
/// Returns the size in bytes of one row of a packed matrix.
int64_t packedRowBytes(lm::WeightType weight);

/// Returns whether a projection can rotate heads of the pool by that table (activation<rotary>): both rows of each
/// rotated pair must be in one tile of 16 rows, or in tiles half a head apart.
bool canRotate(KvPoolType kv, ActivationType table, lm::RopeStyle style);

} // namespace ingot::kernel
