//===- KernelDialect.h - C++ face of the kernel dialect -------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"
#include "runtime/formats/KvFormat.h"
#include "runtime/formats/PanelLayout.h"

#include "mlir/IR/DialectImplementation.h"

/// Types print and read a format of the KV cache by its name.
template <> struct mlir::FieldParser<ingot::KvFormat> {
  static FailureOr<ingot::KvFormat> parse(AsmParser &parser);
};
namespace ingot {
llvm::raw_ostream &operator<<(llvm::raw_ostream &out, KvFormat format);
}

#include "dialects/kernel/KernelDialect.h.inc"
#include "dialects/kernel/KernelEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kernel/KernelTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/kernel/KernelOps.h.inc"

namespace ingot::kernel {

/// How many work items a launch has: base * factor (runtime/device/cpu/KernelAbi.h).
struct WorkItems {
  enum Base { Constant, Tokens, Rows, Tiles } base;
  int64_t factor;
  bool cyclic; ///< items cost unequally: threads take every n-th
};
WorkItems workItems(FuncOp kernel);

/// Whether the launch walks logits rows; else tokens.
bool isPerRow(FuncOp kernel);

/// Bytes of a weight as it lies in an engine, padding included.
int64_t packedBytes(lm::WeightType weight);

/// Whether a projection can rotate heads of the pool by that table (rows<rotary>): both rows of each pair lie in one tile of
/// 16 rows, or in tiles half a head apart.
bool canRotate(KvPoolType kv, RowsType table, lm::RopeStyle style);

/// Tokens (or rows) up to which the launch is left out, its work done by others; 0: it is not.
int64_t idleUpTo(FuncOp kernel);

/// "matmul", "rowwise", …: the mnemonic of the structured op.
llvm::StringRef family(FuncOp kernel);

} // namespace ingot::kernel
