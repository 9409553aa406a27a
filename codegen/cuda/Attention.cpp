//===- Attention.cpp - kernel.attention for GPUs ---------------------------===//
//
//   NAME_decode    steps whose tiles hold one token: warps share the positions of a row
//   NAME_prefill   any tiles: warps share the rows
//
// Both make the same bits (device/attention.cuh).
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::RowKind;

LogicalResult ingot::cuda::emitAttention(KernelText &k, kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  kernel::RowsType output = op.getOutput().getType();
  if (kv.getElement() != kernel::KvElement::BF16)
    return op.emitOpError("expects a KV pool of bf16 on GPUs, got ") << kv;
  if (output.getKind() != RowKind::F32 && output.getKind() != RowKind::BF16)
    return op.emitOpError("expects an output of f32 or bf16 on GPUs, got ") << output;
  if (kv.getHeadDim() > 256)
    return op.emitOpError("expects heads of at most 256 values on GPUs, got ") << kv.getHeadDim();
  bool bf16 = output.getKind() == RowKind::BF16;
  k.include("attention.cuh");
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

  int64_t group = op.getHeads() / kv.getKvHeads(), headDim = kv.getHeadDim();
  int64_t qBytes = headDim <= 64 ? 0 : int64_t(llvm::divideCeil(headDim, 32)) * 1024;
  for (bool decode : {true, false}) {
    CudaVariant &variant = k.open(decode ? "_decode" : "_prefill", decode ? 256 : 128);
    variant.grid[0] = {LaunchExtent::Tiles, kv.getKvHeads(), 1};
    variant.maxTileTokens = decode ? 1 : kUnlimited;
    variant.sharedBytes =
        decode ? qBytes + 8 * std::min<int64_t>(group, 16) * (headDim + 2) * 4 : 4 * qBytes;
    k.line("DYNAMIC_SHARED(shared);");
    k.line("static_assert({0} == attention_{1}_shared<Shape>(), \"what the launch asks for\");",
           variant.sharedBytes, decode ? "decode" : "prefill");
    k.line("attention_{0}<Shape>(q, pool, y, batch, shared);", decode ? "decode" : "prefill");
    k.close();
  }
  return success();
}
