//===- Rope.cpp - kernel.rope_table and kernel.rope_append for GPUs --------===//
#include "dialects/kernel/ops/Rope.h"
#include "codegen/cuda/Emitters.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

LogicalResult ingot::codegen::cuda::emitRopeTable(KernelText &k, kernel::RopeTableOp op) {
  k.include("rope.cuh");
  k.name(op.getFrequencies(), "frequencies");
  k.name(op.getOutput(), "table", /*written=*/true);
  k.open("", 64).grid[0] = {LaunchExtent::Tokens, 1, 1};
  k.line("rope_table<{0}>(frequencies, table, batch, {1});", op.getFrequencies().getType().rows(),
         floatText(op.getFactor().convertToDouble()));
  k.close();
  return success();
}

LogicalResult ingot::codegen::cuda::emitRopeAppend(KernelText &k, kernel::RopeAppendOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  bool fp8 = kv.getFormat() == KvFormat::FP8;
  if (!fp8 && kv.getFormat() != KvFormat::BF16)
    return op.emitOpError("expects a KV pool of bf16 or fp8 on GPUs, got ") << kv;
  k.include("rope.cuh");
  k.name(op.getQ(), "q", /*written=*/true);
  k.name(op.getK(), "k");
  k.name(op.getV(), "v");
  k.name(op.getKv(), "pool", /*written=*/true);
  std::string table = "nullptr", qNorm = "nullptr", kNorm = "nullptr", temperature = "nullptr";
  if (op.getTable())
    k.name(op.getTable(), table = "table");
  if (op.getQNorm())
    k.name(op.getQNorm(), qNorm = "q_norm");
  if (op.getKNorm()) { // may be the same vector as q's
    k.name(op.getKNorm(), "k_norm");
    kNorm = k.nameOf(op.getKNorm()).str();
  }
  if (op.getTemperature())
    k.name(op.getTemperature(), temperature = "temperature");
  int64_t heads = op.getHeads(), kvHeads = kv.getKvHeads();
  k.line("");
  k.line("struct Heads {{");
  k.line("static constexpr i32 heads = {0}, kvHeads = {1}, headDim = {2}, rotary = {3};", heads,
         kvHeads, kv.getHeadDim(), op.getTable() ? op.getTable().getType().getN() : 0);
  k.line("static constexpr bool interleaved = {0}, qNormed = {1}, kNormed = {2}, fp8 = {3};",
         op.getStyle() == lm::RopeStyle::Interleaved ? "true" : "false",
         op.getQNorm() ? "true" : "false", op.getKNorm() ? "true" : "false",
         fp8 ? "true" : "false");
  k.line("static constexpr bool normAfter = {0}, centred = {1};",
         op.getNormAfter() ? "true" : "false", op.getCentred() ? "true" : "false");
  auto stride = [&](TypedValue<lm::WeightType> norm) { // from one head's weight to the next
    return norm && norm.getType().rows() != kv.getHeadDim() ? kv.getHeadDim() : 0;
  };
  k.line("static constexpr i32 qNormStride = {0}, kNormStride = {1};", stride(op.getQNorm()),
         stride(op.getKNorm()));
  k.line("static constexpr i32 temperatures = {0}, temperaturePeriod = {1};",
         op.getTemperature() ? op.getTemperature().getType().rows() : 0, op.getTemperaturePeriod());
  k.line("static constexpr float eps = {0}, weightOffset = {1};",
         floatText(op.getEps().convertToDouble()),
         floatText(op.getWeightOffset().convertToDouble()));
  k.write("};");
  constexpr int64_t warps = 4; // kRopeWarps
  k.open("", 32 * warps).grid[0] = {LaunchExtent::Tokens,
                                    int64_t(llvm::divideCeil(heads + 2 * kvHeads, warps)), 1};
  k.line("rope_append<Heads>(q, k, v, pool, {0}, {1}, {2}, {3}, batch);", table, qNorm, kNorm,
         temperature);
  k.close();
  return success();
}
