//===- Attention.cpp - kernel.attention for GPUs ---------------------------===//
//
//   NAME_split     a few tokens, one a tile: blocks share a row's positions, through a workspace
//   NAME_decode    tiles of one token: the warps of a block share the positions of a row
//   NAME_prefill   any tiles: warps share the rows
//
// All make the same bits (device/attention.cuh).
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::KvElement;
using kernel::RowKind;

namespace {

/// What device/attention*.cuh computes from the shape; the text asserts that both agree.
struct AttentionSizes {
  static constexpr int64_t runPositions = 256, runSpans = 4, warps = 4;
  static constexpr int64_t splitTokens = 8, splitSlots = 1024, splitCounters = 1024,
                           slotsAtOnce = 32;

  int64_t group, headDim, kvHeads, window;
  bool fp8;

  int64_t qBytes() const {
    return headDim <= 64 ? 0 : int64_t(llvm::divideCeil(headDim, 32)) * 1024;
  }
  int64_t vChunks() const { return llvm::divideCeil(headDim, 64); }
  int64_t decodeShared() const {
    int64_t rows = std::min<int64_t>(group, 16);
    int64_t bytes = qBytes() + runSpans * rows * (headDim + 2) * 4 + rows * (runSpans + 1) * 8;
    int64_t staged = bytes + warps * vChunks() * 16 * 32 * (fp8 ? 8 : 16);
    int64_t alone = headDim % 8 == 0 && staged <= 99 * 1024 ? staged : bytes;
    return std::max(alone, group * (4 * slotsAtOnce + 1) * 4);
  }
  int64_t prefillShared() const {
    int64_t chunks = headDim > 64 && headDim % 64 == 0 ? 2 : 1;
    return warps * (qBytes() + chunks * 32 * 32 * 4);
  }
  int64_t workspace() const {
    int64_t inWindow = splitTokens * (int64_t(llvm::divideCeil(window, runPositions)) + 1);
    int64_t slots = window ? std::min(inWindow, splitSlots) : splitSlots;
    return 4 * splitCounters +
           kvHeads * slots * int64_t(llvm::alignTo(group * (headDim + 2), 4)) * 4;
  }
  /// A counter for each KV head of each token; and a window of two runs is a block's.
  bool splits() const {
    return kvHeads * splitTokens <= splitCounters && (window == 0 || window > 2 * runPositions);
  }
  /// For each KV head, so that one token fills the processors of a large GPU twice.
  int64_t blocks() const { return std::clamp<int64_t>(256 / kvHeads, 2, 64); }
};

} // namespace

static AttentionSizes sizesOf(kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  return {int64_t(op.getHeads()) / kv.getKvHeads(), kv.getHeadDim(), kv.getKvHeads(),
          int64_t(op.getWindow()), kv.getElement() == KvElement::FP8};
}

int64_t ingot::cuda::workspaceBytes(kernel::FuncOp kernel) {
  auto op = dyn_cast<kernel::AttentionOp>(kernel.structuredOp());
  return op && sizesOf(op).splits() ? sizesOf(op).workspace() : 0;
}

LogicalResult ingot::cuda::emitAttention(KernelText &k, kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  kernel::RowsType output = op.getOutput().getType();
  if (kv.getElement() != KvElement::BF16 && kv.getElement() != KvElement::FP8)
    return op.emitOpError("expects a KV pool of bf16 or fp8 on GPUs, got ") << kv;
  if (output.getKind() != RowKind::F32 && output.getKind() != RowKind::BF16)
    return op.emitOpError("expects an output of f32 or bf16 on GPUs, got ") << output;
  if (kv.getHeadDim() > 256)
    return op.emitOpError("expects heads of at most 256 values on GPUs, got ") << kv.getHeadDim();
  bool bf16 = output.getKind() == RowKind::BF16;
  k.include("attention_decode.cuh");
  k.include("attention_prefill.cuh");
  k.name(op.getQ(), "q");
  k.name(op.getKv(), "pool");
  k.name(op.getOutput(), "y", /*written=*/true);
  StringRef element = elementText(output);
  k.line("");
  k.line("struct Shape {{");
  k.line("static constexpr i32 headDim = {0}, heads = {1}, kvHeads = {2}, window = {3}, qStride = "
         "{4};",
         kv.getHeadDim(), op.getHeads(), kv.getKvHeads(), op.getWindow(),
         rowStride(op.getQ().getType()));
  AttentionSizes sizes = sizesOf(op);
  k.line("static constexpr bool fp8 = {0};", sizes.fp8 ? "true" : "false");
  k.line("static constexpr float scale = {0}, softcap = {1};",
         floatText(op.getScale().convertToDouble()), floatText(op.getSoftcap().convertToDouble()));
  k.line("static MEMBER void store({0} *y, i32 token, i32 i, float value) {{", element);
  k.line("y[(i64)token * {0} + i] = {1};", rowStride(output),
         bf16 ? "f32_to_bf16(value)" : "value");
  k.write("}");
  k.line("static MEMBER void pad({0} *y, i32 first, i32 end) {{", element);
  k.line("pad_rows<{0}, {1}>(y, first, end);", output.getN(), rowStride(output));
  k.write("}");
  k.write("};");

  if (sizes.splits()) {
    CudaVariant &variant = k.open("_split", 32 * sizes.warps, /*allRegisters=*/true);
    variant.grid[0] = {LaunchExtent::Tiles, kv.getKvHeads(), 1};
    variant.grid[1].multiply = sizes.blocks();
    variant.guardBase = LaunchExtent::Tokens;
    variant.maxCount = sizes.splitTokens;
    variant.maxTileTokens = 1;
    variant.sharedBytes = sizes.decodeShared();
    k.line("SHARED(u32, arrived, [1]);");
    k.line("DYNAMIC_SHARED(shared);");
    k.line("static_assert({0} == attention_decode_shared<Shape>() && {1} == "
           "SplitWorkspace<Shape>::bytes, \"what the launch asks for\");",
           variant.sharedBytes, sizes.workspace());
    k.line("attention_split<Shape>(q, pool, y, workspace, batch, shared, arrived);");
    k.close();
  }
  for (bool decode : {true, false}) {
    CudaVariant &variant =
        k.open(decode ? "_decode" : "_prefill", 32 * sizes.warps, /*allRegisters=*/decode);
    variant.grid[0] = {LaunchExtent::Tiles, kv.getKvHeads(), 1};
    variant.maxTileTokens = decode ? 1 : kUnlimited;
    variant.sharedBytes = decode ? sizes.decodeShared() : sizes.prefillShared();
    k.line("DYNAMIC_SHARED(shared);");
    k.line("static_assert({0} == attention_{1}_shared<Shape>(), \"what the launch asks for\");",
           variant.sharedBytes, decode ? "decode" : "prefill");
    k.line("attention_{0}<Shape>(q, pool, y, batch, shared);", decode ? "decode" : "prefill");
    k.close();
  }
  return success();
}
