//===- CausalConv.cpp - kernel.causal_conv for GPUs ------------------------===//
#include "dialects/kernel/ops/CausalConv.h"
#include "codegen/cuda/Emitters.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

LogicalResult ingot::codegen::cuda::emitCausalConv(KernelText &k, kernel::CausalConvOp op) {
  const int64_t channels = op.getX().getType().getN();
  k.include("causal_conv.cuh");
  k.name(op.getX(), "x");
  k.name(op.getWeight(), "w");
  k.name(op.getState(), "states", /*written=*/true);
  k.name(op.getOutput(), "y", /*written=*/true);
  if (op.getBias())
    k.name(op.getBias(), "bias");
  k.open("", kernel::kConvChannels).grid[0] = {
      LaunchExtent::Spans, int64_t(llvm::divideCeil(channels, kernel::kConvChannels)), 1};
  k.line("causal_conv<{0}, {1}, {2}>(x, w, {3}, states, y, batch);", channels, op.historyRows(),
         op.getState().getType().slotBytes(), op.getBias() ? "bias" : "nullptr");
  k.close();
  return success();
}
