//===- Sample.cpp - Samples tokens from rows of logits, for GPUs -----------===//
//
// kernel.argmax, argmax_finish, draw_weigh and draw_ids: a block takes a piece of a row, or a whole
// row (device/sample.cuh, device/draw.cuh); in argmax_finish it takes 32 rows.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"
#include "dialects/kernel/ops/Ids.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

LogicalResult ingot::codegen::cuda::emitArgmax(KernelText &k, kernel::ArgmaxOp op) {
  constexpr uint32_t threads = 256;
  k.include("sample.cuh");
  k.name(op.getLogits(), "logits");
  k.name(op.getKeys(), "keys", /*written=*/true);
  k.open("", threads).grid[0] = {LaunchExtent::Rows, 16, 1};
  k.line("SHARED(u64, best, [kArgmaxWarps]);");
  k.line("argmax_piece<{0}>(logits, keys, batch, best);",
         kernel::activationTypeOf(op.getLogits()).getN());
  k.close();
  return success();
}

LogicalResult ingot::codegen::cuda::emitArgmaxFinish(KernelText &k, kernel::ArgmaxFinishOp op) {
  k.include("sample.cuh");
  k.name(op.getKeys(), "keys", /*written=*/true);
  k.name(op.getIds(), "ids", /*written=*/true);
  k.open("", 32).grid[0] = {LaunchExtent::Rows, 1, 32};
  k.line("argmax_ids<32>(keys, ids, batch);");
  k.close();
  return success();
}

int64_t ingot::codegen::cuda::drawSumsBytes(int64_t vocabulary) { // device/draw.cuh: DrawSums
  const int64_t bins = 1024, blocks = (vocabulary + 255) / 256;
  return roundUp(bins * 8 + 8 + blocks * 8 + bins * 4, 64);
}

/// Names the logits and their sums. The text asserts that host and device agree on the size of the
/// sums.
static LogicalResult nameSums(KernelText &k, Operation *op, Value logits, Value sums) {
  const int64_t width = cast<kernel::ActivationType>(logits.getType()).getN(),
                bytes = cast<kernel::ActivationType>(sums.getType()).getN();
  if (bytes != drawSumsBytes(width))
    return op->emitOpError("expects sums of ") << drawSumsBytes(width) << " bytes, got " << bytes;
  k.include("draw.cuh");
  k.line("");
  k.line("static_assert(round_up(sizeof(DrawSums<{0}>), 64) == {1});", width, bytes);
  k.name(logits, "logits");
  k.name(sums, "sums", /*written=*/true);
  return success();
}

LogicalResult ingot::codegen::cuda::emitDrawWeigh(KernelText &k, kernel::DrawWeighOp op) {
  if (failed(nameSums(k, op, op.getLogits(), op.getSums())))
    return failure();
  k.name(op.getKeys(), "keys");
  k.open("", 256).grid[0] = {LaunchExtent::Rows, 32, 1};
  k.line("SHARED(u64, mass, [kDrawBins]);");
  k.line("SHARED(u32, count, [kDrawBins]);");
  k.line("weigh_piece<{0}>(logits, keys, sums, batch, mass, count);",
         op.getLogits().getType().getN());
  k.close();
  return success();
}

LogicalResult ingot::codegen::cuda::emitDrawIds(KernelText &k, kernel::DrawIdsOp op) {
  if (failed(nameSums(k, op, op.getLogits(), op.getSums())))
    return failure();
  k.name(op.getKeys(), "keys", /*written=*/true);
  k.name(op.getIds(), "ids", /*written=*/true);
  k.open("", 512, /*allRegisters=*/true).grid[0] = {LaunchExtent::Rows, 1, 1};
  k.line("SHARED(DrawScratch, scratch, [1]);");
  k.line("draw_rows<{0}>(logits, keys, sums, ids, batch, scratch[0]);",
         op.getLogits().getType().getN());
  k.close();
  return success();
}
