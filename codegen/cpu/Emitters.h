//===- Emitters.h - One generator per op that anchors a kernel -------------===//
//
// Each emitter emits the body of one kernel at the builder's insertion point: a loop over
// the work items begin, begin+step, … < end. Emitters report unsupported cases as an
// error of the op.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::kernel {
class AttentionOp;
class CausalConvOp;
class CombineOp;
class CustomOp;
class GatherOp;
class GroupRoutesOp;
class MatmulOp;
class RopeAppendOp;
class RopeTableOp;
class RouteOp;
class RowwiseOp;
} // namespace ingot::kernel

namespace ingot::codegen::cpu {

mlir::LogicalResult emitMatmul(KernelBuilder &k, kernel::MatmulOp op);
mlir::LogicalResult emitRowwise(KernelBuilder &k, kernel::RowwiseOp op);
mlir::LogicalResult emitGather(KernelBuilder &k, kernel::GatherOp op);
mlir::LogicalResult emitRopeTable(KernelBuilder &k, kernel::RopeTableOp op);
mlir::LogicalResult emitRopeAppend(KernelBuilder &k, kernel::RopeAppendOp op);
mlir::LogicalResult emitAttention(KernelBuilder &k, kernel::AttentionOp op);
mlir::LogicalResult emitCausalConv(KernelBuilder &k, kernel::CausalConvOp op);
mlir::LogicalResult emitCustom(KernelBuilder &k, kernel::CustomOp op);
mlir::LogicalResult emitRoute(KernelBuilder &k, kernel::RouteOp op);
mlir::LogicalResult emitGroupRoutes(KernelBuilder &k, kernel::GroupRoutesOp op);
mlir::LogicalResult emitCombine(KernelBuilder &k, kernel::CombineOp op);

/// Returns the limits of a matmul kernel, or why the CPU has no code for it. Only kernel.store,
/// kernel.panel_maxima and kernel.argmax may consume fused values, and only if there is one segment.
kernel::KernelShape matmulShape(kernel::MatmulOp op);

/// The functions ...ScratchBytes return the bytes of the thread's scratch memory that the emitted code uses,
/// enough for every ISA level.
int64_t matmulScratchBytes(kernel::MatmulOp op);
/// Returns whether AMX multiplies any of the weights at this level.
bool usesAmx(kernel::MatmulOp op, const Isa &isa);
int64_t rowwiseScratchBytes(kernel::RowwiseOp op);
int64_t ropeAppendScratchBytes(kernel::RopeAppendOp op);
int64_t attentionScratchBytes(kernel::AttentionOp op);
int64_t causalConvScratchBytes(kernel::CausalConvOp op);
int64_t customScratchBytes(kernel::CustomOp op);
int64_t routeScratchBytes(kernel::RouteOp op);
int64_t groupRoutesScratchBytes(kernel::GroupRoutesOp op);

} // namespace ingot::codegen::cpu
