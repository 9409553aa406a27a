//===- KernelOps.td - The kernel dialect: what one launch computes --------===//
//
// A kernel.func is one launch: a tree of ops around one anchor. Each target has one
// generator for each family of anchors. Operands are memory: activation buffers,
// packed weights, states. runtime/formats/PanelLayout.h defines the layouts, and
// runtime/abi/KernelAbi.h defines work items. Regions hold scalar f32 arith/math ops
// (and row_stat) that a shared walker emits for each target.
//
// This file includes all families of ops, for the dialect's documentation. C++ sources include only the families
// that they use (ops/*.h).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_KERNELOPS_TD
#define INGOT_DIALECTS_KERNEL_KERNELOPS_TD

include "dialects/kernel/ops/Structure.td"
include "dialects/kernel/ops/Dispatch.td"
include "dialects/kernel/ops/Region.td"
include "dialects/kernel/ops/Matmul.td"
include "dialects/kernel/ops/Rows.td"
include "dialects/kernel/ops/Fused.td"
include "dialects/kernel/ops/Rope.td"
include "dialects/kernel/ops/Attention.td"
include "dialects/kernel/ops/CausalConv.td"
include "dialects/kernel/ops/Custom.td"
include "dialects/kernel/ops/Experts.td"
include "dialects/kernel/ops/Ids.td"

#endif
