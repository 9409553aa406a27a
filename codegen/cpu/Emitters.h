//===- Emitters.h - One generator per op that anchors a kernel -------------===//
//
// Each emits the body of one kernel at the builder's insertion point: a loop over
// the work items begin, begin+step, … < end. Emitters report what they cannot do as
// an error of the op.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::kernel {
class AttentionOp;
class CausalConvOp;
class GatherOp;
class MatmulOp;
class RopeAppendOp;
class RopeTableOp;
class RowwiseOp;
} // namespace ingot::kernel

namespace ingot::cpu {

mlir::LogicalResult emitMatmul(KernelBuilder &k, kernel::MatmulOp op);
mlir::LogicalResult emitRowwise(KernelBuilder &k, kernel::RowwiseOp op);
mlir::LogicalResult emitGather(KernelBuilder &k, kernel::GatherOp op);
mlir::LogicalResult emitRopeTable(KernelBuilder &k, kernel::RopeTableOp op);
mlir::LogicalResult emitRopeAppend(KernelBuilder &k, kernel::RopeAppendOp op);
mlir::LogicalResult emitAttention(KernelBuilder &k, kernel::AttentionOp op);
mlir::LogicalResult emitCausalConv(KernelBuilder &k, kernel::CausalConvOp op);

/// What a projection may be fused with: its one segment may be stored, have maxima of panels, raise keys.
kernel::KernelShape matmulShape(kernel::MatmulOp op);

/// Bytes of the thread's scratch memory that the emitted code uses, at either level.
int64_t matmulScratchBytes(kernel::MatmulOp op);
int64_t rowwiseScratchBytes(kernel::RowwiseOp op);
int64_t ropeAppendScratchBytes(kernel::RopeAppendOp op);
int64_t attentionScratchBytes(kernel::AttentionOp op);
int64_t causalConvScratchBytes(kernel::CausalConvOp op);

} // namespace ingot::cpu
