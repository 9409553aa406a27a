//===- MatmulExperts.cpp - Projections of rows that have experts -----------===//
#include "codegen/cuda/MatmulEmitter.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;

void MatmulEmitter::emitExpertVariants() {
  const int64_t experts = op.experts(), used = op.rowsOfToken();
  const int64_t mostCount = k.mostCount();
  int64_t covered = k.leastCount() - 1;
  auto isNext = [&](int64_t maxCount) { return maxCount > covered && covered < mostCount; };
  auto bound = [&](CudaVariant &variant, LaunchExtent tiles, int64_t maxCount) {
    variant.grid[1] = tiles;
    variant.guardBase = LaunchExtent::Tokens;
    variant.maxCount = maxCount >= mostCount ? kUnlimited : maxCount;
    covered = maxCount;
  };
  auto tokensOf = [&](int64_t rows) { return std::max<int64_t>(8, rows * experts / used); };
  const LaunchExtent each{LaunchExtent::Tokens, used, 1}, all{LaunchExtent::Constant, experts, 1};
  // As many tiles as pairs, until each expert may have one.
  const int64_t few = std::min(std::max<int64_t>(1, experts / used), tokensOf(4));
  bool has = isNext(few);
  if (has)
    bound(emitExperts("_t8", Loop::Decode, 8), each, few);
  if (isNext(tokensOf(4)))
    bound(has ? k.again() : emitExperts("_t8", Loop::Decode, 8), all, tokensOf(4));
  // What else there is in registers leaves no room for as many rows as other projections take.
  const NumericFormat &format = numericFormat(segments.front().format);
  const int64_t some = shape.weights == 2 && format.hasMin ? 16 : 32;
  if (isNext(tokensOf(16)))
    bound(emitExperts("_t" + std::to_string(some), Loop::Decode, some), all, tokensOf(16));
  const int64_t tokens = std::min<int64_t>(64, 16 * shape.prefillEights),
                more = format.isFloat() ? 128 : 96;
  const bool both = shape.prefillEights == 8;
  if (const int64_t most = both ? tokensOf(64) : kUnlimited; isNext(most))
    bound(emitExperts("_prefill", Loop::Prefill, tokens), {LaunchExtent::Tokens, used, tokens / 2},
          most);
  if (both && isNext(kUnlimited))
    bound(emitExperts("_prefill" + std::to_string(more), Loop::Prefill, more),
          {LaunchExtent::Tokens, used, more / 2}, kUnlimited);
}

CudaVariant &MatmulEmitter::emitExperts(StringRef suffix, Loop loop, int64_t tokens) {
  const bool decode = loop == Loop::Decode;
  const Segment &segment = segments.front();
  k.include("matmul_experts.cuh");
  if (!decode)
    k.include("matmul_prefill.cuh");
  k.name(op.getRoutes(), "routes");
  CudaVariant &variant =
      k.open(suffix, threadsOf(loop), /*allRegisters=*/true, {}, leastBlocks(loop, tokens));
  const int64_t tilesPerBlock = tilesOfBlock(loop);
  const int64_t blocks = llvm::divideCeil(tilesOf(segment, loop), tilesPerBlock);
  variant.grid[0] = {LaunchExtent::Constant, blocks, 1};
  variant.sharedBytes = sharedBytesOf(loop, tokens, /*appends=*/false);
  k.line("DYNAMIC_SHARED(shared);");
  k.line("static_assert({0} == {1}, \"what the launch asks for\");",
         sharedText(loop, tokens, /*appends=*/false), variant.sharedBytes);
  k.line(decode ? "const i32 tile = blockIdx.x;" : "const i32 tile = blockIdx.x * {0};",
         tilesPerBlock);
  k.line("each_row_tile<{0}, {1}>(routes, batch, [&](i32 expert, i32 first, i64 end) {{",
         op.rowsOfToken(), tokens);
  emitGroup({0}, loop, tokens, /*folds=*/false);
  if (isPadded(segment)) {
    k.line("if (blockIdx.x == {0})", blocks - 1);
    k.line("  pad_rows<{0}, {1}>({2}, first, first + {3} < end ? first + {3} : (i32)end);",
           segment.type.getN(), rowStride(segment.type), k.nameOf(segment.y), tokens);
  }
  k.write("});");
  k.close();
  return variant;
}
