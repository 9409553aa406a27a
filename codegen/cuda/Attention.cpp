//===- Attention.cpp - kernel.attention for GPUs ---------------------------===//
//
//   NAME_prefill   tiles of prompts: the warps of a block divide the rows
//   NAME_decode    decode tiles: the warps of a block divide the positions of a row. With split-KV,
//                  several blocks divide them as well: the step's splits assign chunks of positions
//                  to blocks, and a workspace holds the result of each chunk
//
// A step that has tiles of both kinds launches both. Both kernels give the same bits
// (device/attention.cuh).
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Attention.h"
#include "codegen/cuda/Emitters.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/Limits.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::RowKind;

namespace {

/// Sizes that device/attention*.cuh also computes from the shape; the text asserts that both agree.
struct AttentionSizes {
  static constexpr int64_t chunkPositions = 256, chunkTiles = 4, warps = 4;
  static constexpr int64_t slots = 4096, counters = 1024, slotsAtOnce = 32;

  int64_t group, headDim, kvHeads, window;
  bool fp8;

  int64_t qBytes() const {
    return headDim <= 64 ? 0 : int64_t(llvm::divideCeil(headDim, 32)) * 1024;
  }
  int64_t vChunks() const { return llvm::divideCeil(headDim, 64); }
  int64_t decodeShared() const {
    int64_t rows = std::min<int64_t>(group, 16);
    int64_t bytes = qBytes() + chunkTiles * rows * (headDim + 2) * 4 + rows * (chunkTiles + 1) * 8;
    int64_t staged = bytes + warps * vChunks() * 16 * 32 * (fp8 ? 8 : 16);
    int64_t alone = headDim % 8 == 0 && staged <= 99 * 1024 ? staged : bytes;
    return std::max(alone, group * (4 * slotsAtOnce + 1) * 4);
  }
  int64_t prefillShared() const {
    int64_t chunks = headDim > 64 && headDim % 64 == 0 ? 2 : 1;
    return warps * (qBytes() + chunks * 32 * 32 * 4);
  }
  int64_t workspace() const {
    return 4 * counters + slots * kvHeads * int64_t(llvm::alignTo(group * (headDim + 2), 4)) * 4;
  }
  /// Returns whether blocks can split a tile. Each KV head of each split tile needs a counter, and there are
  /// fewer such tiles than shares(). A window of at most two KV chunks is left to one block.
  bool splits() const {
    return 2 * kvHeads <= counters && (window == 0 || window > 2 * chunkPositions);
  }
  /// Returns the number of splits in addition to one per tile. Together they have about 512 blocks: four for
  /// each multiprocessor of a large GPU, which runs two of them at a time.
  int64_t shares() const { return std::clamp<int64_t>(512 / kvHeads, 2, 256); }
};

} // namespace

static AttentionSizes sizesOf(kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  return {int64_t(op.getHeads()) / kv.getKvHeads(), kv.getHeadDim(), kv.getKvHeads(),
          int64_t(op.getWindow()), kv.getFormat() == KvFormat::FP8};
}

int64_t ingot::codegen::cuda::workspaceBytes(kernel::AttentionOp op) {
  return sizesOf(op).splits() ? sizesOf(op).workspace() : 0;
}

SharedAttention ingot::codegen::cuda::sharedAttention(ArrayRef<kernel::FuncOp> kernels) {
  SharedAttention shared;
  for (kernel::FuncOp kernel : kernels) {
    auto op = dyn_cast<kernel::AttentionOp>(kernel.anchor());
    if (!op || !op.getWorkspace())
      continue;
    const int64_t own = sizesOf(op).shares(); // the minimum, so every op has enough counters
    shared.shares = shared.shares ? std::min(shared.shares, own) : own;
    shared.slots = AttentionSizes::slots;
  }
  return shared;
}

LogicalResult ingot::codegen::cuda::emitAttention(KernelText &k, kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  kernel::ActivationType output = op.getOutput().getType();
  if (kv.getFormat() != KvFormat::BF16 && kv.getFormat() != KvFormat::FP8)
    return op.emitOpError("expects a KV pool of bf16 or fp8 on GPUs, got ") << kv;
  if (output.getKind() != RowKind::F32 && output.getKind() != RowKind::BF16)
    return op.emitOpError("expects an output of f32 or bf16 on GPUs, got ") << output;
  if (kv.getHeadDim() > kGpuLimits.headWidth)
    return op.emitOpError("expects heads of at most ")
           << kGpuLimits.headWidth << " values on GPUs, got " << kv.getHeadDim();
  const AttentionSizes sizes = sizesOf(op);
  const bool shares = bool(op.getWorkspace());
  if (shares && (!sizes.splits() || op.getWorkspace().getType().getBytes() != sizes.workspace()))
    return op.emitOpError("expects a workspace of ")
           << (sizes.splits() ? sizes.workspace() : 0) << " bytes";
  bool bf16 = output.getKind() == RowKind::BF16;
  k.include("attention_decode.cuh");
  k.include("attention_prefill.cuh");
  k.name(op.getQ(), "q");
  k.name(op.getKv(), "pool");
  k.name(op.getOutput(), "y", /*written=*/true);
  if (op.getSinks())
    k.name(op.getSinks(), "sinks");
  if (shares)
    k.name(op.getWorkspace(), "workspace", /*written=*/true);
  const char *sinks = op.getSinks() ? "sinks" : "nullptr";
  StringRef element = elementText(output);
  k.line("");
  k.line("struct Shape {{");
  k.line("static constexpr i32 headDim = {0}, heads = {1}, kvHeads = {2}, window = {3}, qStride = "
         "{4}, yStride = {5};",
         kv.getHeadDim(), op.getHeads(), kv.getKvHeads(), op.getWindow(),
         rowStride(op.getQ().getType()), rowStride(output));
  auto boolText = [](bool value) { return value ? "true" : "false"; };
  k.line("static constexpr bool fp8 = {0}, shares = {1}, packs = {2}, sinks = {3};",
         boolText(sizes.fp8), boolText(shares), boolText(bf16 && kv.getHeadDim() % 16 == 0),
         boolText(bool(op.getSinks())));
  k.line("static constexpr float scale = {0}, softcap = {1};",
         floatText(op.getScale().convertToDouble()), floatText(op.getSoftcap().convertToDouble()));
  k.line("static MEMBER void store({0} *y, i32 token, i32 i, float value) {{", element);
  k.line("y[(i64)token * yStride + i] = {0};", bf16 ? "f32_to_bf16(value)" : "value");
  k.write("}");
  k.line("static MEMBER void pad({0} *y, i32 first, i32 end) {{", element);
  k.line("pad_rows<{0}, yStride>(y, first, end);", output.getN());
  k.write("}");
  k.write("};");

  {
    CudaVariant &variant = k.open("_prefill", 32 * sizes.warps);
    variant.grid[0] = {LaunchExtent::PromptTiles, kv.getKvHeads(), 1};
    variant.sharedBytes = sizes.prefillShared();
    k.line("DYNAMIC_SHARED(shared);");
    k.line("static_assert({0} == attention_prefill_shared<Shape>(), \"what the launch asks for\");",
           variant.sharedBytes);
    k.line("attention_prefill<Shape>(q, pool, y, {0}, batch, shared);", sinks);
    k.close();
  }
  CudaVariant &variant = k.open("_decode", 32 * sizes.warps, /*allRegisters=*/true);
  variant.grid[0] = {LaunchExtent::Shares, kv.getKvHeads(), 1};
  variant.sharedBytes = sizes.decodeShared();
  k.line("SHARED(u32, arrived, [1]);");
  k.line("DYNAMIC_SHARED(shared);");
  k.line("static_assert({0} == attention_decode_shared<Shape>(), \"what the launch asks for\");",
         variant.sharedBytes);
  if (shares)
    k.line("static_assert({0} == SharedWorkspace<Shape>::bytes, \"what the program has\");",
           sizes.workspace());
  k.line("attention_decode<Shape>(q, pool, y, {0}, {1}, batch, shared, arrived);", sinks,
         shares ? "workspace" : "nullptr");
  k.close();
  return success();
}
