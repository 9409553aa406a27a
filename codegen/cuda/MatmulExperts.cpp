//===- MatmulExperts.cpp - Projections of rows that have experts -----------===//
#include "codegen/cuda/MatmulEmitter.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

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
  // With few tokens the grid has one tile per (token, expert) pair, with more one per expert.
  const int64_t few = std::min(std::max<int64_t>(1, experts / used), tokensOf(4));
  bool has = isNext(few);
  if (has)
    bound(emitExperts("_t8", Loop::Decode, 8), each, few);
  if (isNext(tokensOf(4)))
    bound(has ? k.again() : emitExperts("_t8", Loop::Decode, 8), all, tokensOf(4));
  // Other values in registers leave room for fewer rows than in projections without experts.
  const NumericFormat &format = numericFormat(segments.front().format);
  const int64_t some = shape.weights == 2 && format.hasMin ? 16 : 32;
  if (isNext(tokensOf(16)))
    bound(emitExperts("_t" + std::to_string(some), Loop::Decode, some), all, tokensOf(16));
  const int64_t tokens = std::min<int64_t>(64, 16 * shape.prefillEights),
                more = format.isFloat() ? 128 : 96;
  auto add = [&](const std::string &suffix, Loop loop, int64_t rows, int64_t most) {
    if (isNext(most))
      bound(emitExperts(suffix, loop, rows), {LaunchExtent::Tokens, used, rows / 2}, most);
  };
  if (options.wgmma) {
    // Fp8Cases.cpp uses the same bound to choose fp8 MMAs.
    auto beyond = [&](int64_t rows) { return rows * int64_t(llvm::divideCeil(experts, used)); };
    add("_prefill", Loop::Prefill, tokens, beyond(kFewTokens));
    if (op.getXFp8())
      return add("_wgmma_fp8", Loop::WgmmaFp8, 128, kUnlimited);
    if (wgmmaTokens() > kLeastWgmmaTokens)
      add("_wgmma128", Loop::Wgmma, kLeastWgmmaTokens, beyond(kLeastWgmmaTokens));
    return add("_wgmma", Loop::Wgmma, wgmmaTokens(), kUnlimited);
  }
  const bool both = shape.prefillEights == 8;
  add("_prefill", Loop::Prefill, tokens, both ? tokensOf(64) : kUnlimited);
  if (both)
    add("_prefill" + std::to_string(more), Loop::Prefill, more, kUnlimited);
}

CudaVariant &MatmulEmitter::emitExperts(StringRef suffix, Loop loop, int64_t tokens) {
  const bool decode = loop == Loop::Decode, wgmma = loop == Loop::Wgmma;
  const Segment &segment = segments.front();
  k.include(wgmma                    ? "matmul_experts_wgmma.cuh"
            : loop == Loop::WgmmaFp8 ? "matmul_experts_fp8.cuh"
                                     : "matmul_experts.cuh");
  if (loop == Loop::Prefill)
    k.include("matmul_prefill.cuh");
  k.name(op.getRoutes(), "routes");
  SmallVector<Value> mapped(wgmma ? 1 : 0, op.getX());
  CudaVariant &variant =
      k.open(suffix, threadsOf(loop), /*allRegisters=*/true, mapped, leastBlocks(loop, tokens));
  if (wgmma) {
    variant.cluster = kWgmmaCluster;
    variant.tensorMaps[0].boxRows = tokens / kWgmmaCluster;
    variant.tensorMaps[0].unitRows = op.rowsOfToken();
  }
  const int64_t tilesPerBlock = tilesOfBlock(loop);
  const int64_t blocks = llvm::divideCeil(tilesOf(segment, loop), tilesPerBlock);
  variant.grid[0] = {LaunchExtent::Constant, blocks, 1};
  variant.sharedBytes = sharedBytesOf(loop, tokens, /*appends=*/false);
  k.line("DYNAMIC_SHARED(shared);");
  k.line("static_assert({0} == {1}, \"what the launch asks for\");",
         sharedText(loop, tokens, /*appends=*/false), variant.sharedBytes);
  if (loop >= Loop::Wgmma) {
    emitExpertsByWarpgroups(loop, tokens, blocks);
    k.close();
    return variant;
  }
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

void MatmulEmitter::emitExpertsByWarpgroups(Loop loop, int64_t tokens, int64_t blocks) {
  const Segment &segment = segments.front();
  std::string number = "(i32)blockIdx.y";
  if (loop == Loop::Wgmma) {
    k.line("const auto [block, first] = wgmma_place<{0}>();", tokens);
    number = "first / " + std::to_string(tokens);
  } else {
    k.line("const i32 block = blockIdx.x;");
  }
  k.line("const RowTiles<{0}, {1}> tiles{{routes, batch, {2}};", op.rowsOfToken(), tokens, number);
  k.line("const i32 tile = block * {0};", tilesOfBlock(loop));
  if (isPadded(segment)) { // comes first: after the main loop few registers are left
    k.line("pdl_wait();");
    k.line("if (block == {0})", blocks - 1);
    k.line("  pad_row_tiles<{0}, {1}>({2}, tiles);", segment.type.getN(), rowStride(segment.type),
           k.nameOf(segment.y));
  }
  emitGroup({0}, loop, tokens, /*folds=*/false);
}
