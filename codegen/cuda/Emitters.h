//===- Emitters.h - One generator per op that anchors a kernel -------------===//
//
// Main loops are templates of the device library. A generator prints the constants, the epilogue
// and a wrapper for each variant. Emitters report unsupported cases as an error of the op.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/KernelText.h"

namespace ingot::kernel {
class ArgmaxFinishOp;
class ArgmaxOp;
class AttentionOp;
class CausalConvOp;
class CombineOp;
class CustomOp;
class DrawIdsOp;
class DrawWeighOp;
class Fp8RowsOp;
class GatherOp;
class GroupRoutesOp;
class MatmulOp;
class RopeAppendOp;
class RopeTableOp;
class RouteOp;
class RowwiseOp;
} // namespace ingot::kernel

namespace ingot::codegen::cuda {

mlir::LogicalResult emitMatmul(KernelText &k, kernel::MatmulOp op, const EmitOptions &options);
mlir::LogicalResult emitRowwise(KernelText &k, kernel::RowwiseOp op);
mlir::LogicalResult emitGather(KernelText &k, kernel::GatherOp op);
mlir::LogicalResult emitFp8Rows(KernelText &k, kernel::Fp8RowsOp op, const EmitOptions &options);
mlir::LogicalResult emitRopeTable(KernelText &k, kernel::RopeTableOp op);
mlir::LogicalResult emitRopeAppend(KernelText &k, kernel::RopeAppendOp op);
mlir::LogicalResult emitAttention(KernelText &k, kernel::AttentionOp op);
mlir::LogicalResult emitCausalConv(KernelText &k, kernel::CausalConvOp op);
mlir::LogicalResult emitCustom(KernelText &k, kernel::CustomOp op);
mlir::LogicalResult emitRoute(KernelText &k, kernel::RouteOp op);
mlir::LogicalResult emitGroupRoutes(KernelText &k, kernel::GroupRoutesOp op);
mlir::LogicalResult emitCombine(KernelText &k, kernel::CombineOp op);
mlir::LogicalResult emitArgmax(KernelText &k, kernel::ArgmaxOp op);
mlir::LogicalResult emitArgmaxFinish(KernelText &k, kernel::ArgmaxFinishOp op);
mlir::LogicalResult emitDrawWeigh(KernelText &k, kernel::DrawWeighOp op);
mlir::LogicalResult emitDrawIds(KernelText &k, kernel::DrawIdsOp op);

/// Returns the size in bytes of the workspace that blocks need to split positions (split-KV), whether or not the op has
/// one yet; 0 if the op cannot be split.
int64_t workspaceBytes(kernel::AttentionOp op);
/// Returns the reason why there is no code for the op; empty if there is code.
std::string refusalOf(kernel::CustomOp op);
std::string refusalOf(kernel::RouteOp op);
std::string refusalOf(kernel::GroupRoutesOp op);

} // namespace ingot::codegen::cuda
