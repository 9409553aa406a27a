//===- LmDialect.h - C++ declarations of the lm dialect -------------------===//
#pragma once

#include "runtime/formats/NumericFormat.h"
#include "runtime/formats/RowOrder.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/lm/LmDialect.h.inc"
#include "dialects/lm/LmEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/lm/LmAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/lm/LmTypes.h.inc"

namespace ingot::lm {
/// Returns the number of key heads in a paged state of keys and values.
inline int64_t kvHeadsOf(mlir::Value state) {
  return mlir::cast<StateType>(state.getType()).paged().getStreams().front().getRows();
}
/// Returns the width n of activations `tensor<?xnxf32>`.
inline int64_t widthOf(mlir::Value rows) {
  return mlir::cast<mlir::RankedTensorType>(rows.getType()).getShape().back();
}
/// `tensor<?xnxf32>`.
inline mlir::RankedTensorType rowsType(mlir::MLIRContext *context, int64_t n) {
  return mlir::RankedTensorType::get({mlir::ShapedType::kDynamic, n},
                                     mlir::Float32Type::get(context));
}
/// Returns the rows that a weight's `source` refers to, part by part. A source that is just a name means a whole
/// tensor.
std::vector<TensorRows> rowsOf(mlir::Attribute source);
/// Returns the `source` of a weight made of these parts.
mlir::Attribute sourceOf(mlir::MLIRContext *context, llvm::ArrayRef<TensorRows> parts);
/// Returns the argument of the layer kind from which a state value derives. Ops take a state and return its successor,
/// so the chain of these ops leads to the argument.
mlir::BlockArgument stateArgumentOf(mlir::Value state);
/// Returns whether the op is any kind of norm of whole rows (not of heads): one operand of rows, then vectors.
bool isRowNorm(mlir::Operation *op);
/// Argument attribute of a layer kind that names the role of a weight ("attn_q").
constexpr llvm::StringLiteral kRoleAttr = "lm.role";

/// Checks that `value` is an activation tensor ?xn of f32. Otherwise emits an error at `op` that names it `what`.
mlir::LogicalResult expectRows(mlir::Operation *op, mlir::Value value, llvm::StringRef what);
/// Checks that the weight is a floating-point vector of n values.
mlir::LogicalResult expectVector(mlir::Operation *op, WeightType weight, int64_t n,
                                 llvm::StringRef what);
} // namespace ingot::lm
