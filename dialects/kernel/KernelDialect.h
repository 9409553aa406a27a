//===- KernelDialect.h - C++ face of the kernel dialect -------------------===//
#pragma once

#include "dialects/kernel/KernelLaunch.h"
#include "dialects/lm/LmDialect.h"
#include "runtime/formats/FragmentLayout.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

/// Types print and read a format of the KV cache by its name.
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

/// What an operand's rows are; of a flow, what they would be in memory.
RowsType rowsTypeOf(mlir::Value rowsOrFlow);
/// The op of that kind that takes a flow; null: none does.
template <typename Op> Op consumerOf(mlir::Value flow) {
  for (mlir::Operation *user : flow.getUsers())
    if (auto op = llvm::dyn_cast<Op>(user))
      return op;
  return {};
}

/// A work item of each token, or of each logits row.
WorkItems unitsOf(Extent extent);

/// How a matrix, or a stack of them, lies on CPUs and on GPUs.
PanelLayout panelLayoutOf(lm::WeightType weight);
FragmentLayout fragmentLayoutOf(lm::WeightType weight);
/// Bytes of a weight as it lies in an engine, padding included: of a vector, or of a matrix whose layout was chosen.
int64_t packedBytes(lm::WeightType weight);
/// Of one row of such a matrix.
int64_t packedRowBytes(lm::WeightType weight);

/// Whether a projection can rotate heads of the pool by that table (rows<rotary>): both rows of each pair lie in one tile of
/// 16 rows, or in tiles half a head apart.
bool canRotate(KvPoolType kv, RowsType table, lm::RopeStyle style);

} // namespace ingot::kernel
