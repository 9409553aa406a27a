//===- Matmul.cpp - kernel.matmul for GPUs ---------------------------------===//
//
// The grid's x runs over the tiles of all segments, its y over the tokens. Each block derives its
// segment from x. Segments of the same format share one instance of the main loop
// (device/matmul_*.cuh), and each has its own epilogue.
//
//   NAME_few                    the producer of x is a kernel.rowwise that each block computes itself; in
//                               this case there are no other variants
//   NAME_t8, _t16, _t32, _t64   up to this number of tokens, all in one block
//   NAME_prefill                more tokens; with wgmma, up to 64
//   NAME_wgmma                  more than NAME_prefill takes (with float weights NAME_wgmma128 takes up to
//                               128, and NAME_wgmma more)
//   NAME_wgmma_fp8              replaces NAME_wgmma if x is also available as fp8
//
// If x is f32 (a router: device/matmul_f32.cuh), there are two variants:
//
//   NAME_t8, NAME_many          up to 128 tokens, and more
//
// If rows have experts, y runs over tiles of rows that have one expert (device/matmul_experts.cuh), and
// the average number of rows per expert decides:
//
//   NAME_t8, _t32 (or _t16)     up to 4 and up to 16 rows
//   NAME_prefill, _prefill128   up to 64 rows, and more (or _prefill96); with wgmma, up to 64
//   NAME_wgmma                  more than these (with float weights NAME_wgmma128 takes up to 128, and
//                               NAME_wgmma more)
//   NAME_wgmma_fp8              replaces NAME_wgmma if x is also available as fp8
//
// A kernel contains only the variants that its range of counts can select.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MatmulEmitter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;

LogicalResult MatmulEmitter::emit() {
  const int64_t mostCount = k.mostCount();
  if ((argmax || append) && !producer && mostCount > shape.mostDecodeTokens)
    return op.emitOpError("expects at most ")
           << shape.mostDecodeTokens << " rows to raise keys for or to append on GPUs";
  collectSegments();
  k.include(shape.f32 ? "matmul_f32.cuh" : "matmul_decode.cuh");
  k.include("region_math.cuh");
  if (append)
    emitHeads();
  for (auto [s, segment] : llvm::enumerate(segments))
    if (failed(emitEpilogue(s, segment)))
      return failure();
  if (producer) {
    FailureOr<MatmulPrologue> made = emitPrologue(k, producer, shape);
    if (failed(made))
      return failure();
    prologue = *made;
    emitVariant("_few", Loop::Few, prologue.tokens, kUnlimited);
    return success();
  }
  if (op.getRoutes()) {
    emitExpertVariants();
    return success();
  }
  // Each variant covers the counts above the maximum of the variant before it.
  int64_t covered = k.leastCount() - 1;
  auto add = [&](const std::string &suffix, Loop loop, int64_t tokens, int64_t maxCount) {
    if (maxCount <= covered || covered >= mostCount)
      return;
    emitVariant(suffix, loop, tokens, maxCount >= mostCount ? kUnlimited : maxCount);
    covered = maxCount;
  };
  if (shape.f32) {
    add("_t8", Loop::F32Few, 8, kMostF32Few);
    add("_many", Loop::F32Many, 16, kUnlimited);
    return success();
  }
  for (int64_t tokens = 8; tokens <= shape.mostDecodeTokens; tokens *= 2)
    add("_t" + std::to_string(tokens), Loop::Decode, tokens, tokens);
  if (!options.wgmma || shape.mostDecodeTokens < kFewTokens)
    add("_prefill", Loop::Prefill, 16 * shape.prefillEights,
        options.wgmma ? kFewTokens : kUnlimited);
  if (options.wgmma && op.getXFp8()) {
    add("_wgmma_fp8", Loop::WgmmaFp8, 128, kUnlimited);
  } else if (options.wgmma) {
    if (wgmmaTokens() > kLeastWgmmaTokens)
      add("_wgmma128", Loop::Wgmma, kLeastWgmmaTokens, kLeastWgmmaTokens);
    add("_wgmma", Loop::Wgmma, wgmmaTokens(), kUnlimited);
  }
  return success();
}

void MatmulEmitter::collectSegments() {
  auto aux = op.getAux().begin();
  int auxNumber = 0;
  if (!producer)
    k.name(op.getX(), "x");
  if (op.getXFp8())
    k.name(op.getXFp8(), "xFp8");
  for (int64_t s = 0; s < op.segments(); ++s) {
    Segment segment;
    if (op.getFused().empty())
      segment.y = op.getOutputs()[s];
    else
      segment.y = shape.storedAt(op, s);
    segment.type = kernel::activationTypeOf(segment.y ? segment.y : op.getFused()[s]);
    for (int64_t i = 0; i < shape.weights; ++i) {
      Value weight = op.getWeights()[s * shape.weights + i];
      k.name(weight, ("w" + Twine(s * shape.weights + i)).str());
      segment.weights.push_back(weight);
    }
    segment.format = cast<lm::WeightType>(segment.weights[0].getType()).getFormat();
    for (int64_t i = 0; i < op.getAuxCounts()[s]; ++i, ++aux) {
      k.name(
          *aux,
          ((isa<ActivationType>((*aux).getType()) ? "rows" : "vector") + Twine(auxNumber++)).str());
      segment.aux.push_back(*aux);
    }
    segments.push_back(std::move(segment));
  }
  for (auto [s, segment] : llvm::enumerate(segments))
    if (segment.y)
      k.name(segment.y, ("y" + Twine(s)).str(), /*written=*/true);
  if (argmax)
    k.name(argmax.getKeys(), "keys", /*written=*/true);
  if (append)
    k.name(append.getKv(), "pool", /*written=*/true);
  if (append && append.getTable()) {
    k.name(append.getTable(), "table");
    segments[0].pairs = segments[1].pairs =
        append.getStyle() == lm::RopeStyle::Half ? Pairs::Halves : Pairs::Neighbours;
  }
}

void MatmulEmitter::emitVariant(StringRef suffix, Loop loop, int64_t tokens, int64_t maxCount) {
  int64_t threads = threadsOf(loop);
  const bool folds = bool(argmax), appends = bool(append);
  if (loop >= Loop::Prefill)
    k.include(loop == Loop::Prefill    ? "matmul_prefill.cuh"
              : loop == Loop::WgmmaFp8 ? "matmul_wgmma_fp8.cuh"
                                       : "matmul_wgmma.cuh");
  auto halves = [&](size_t s) { return appends && segments[s].pairs == Pairs::Halves; };
  const int64_t tilesPerBlock = tilesOfBlock(loop);
  SmallVector<size_t> all;
  SmallVector<int64_t> starts{0};
  for (auto [s, segment] : llvm::enumerate(segments)) {
    all.push_back(s);
    starts.push_back(starts.back() +
                     llvm::divideCeil(tilesOf(segment, loop), halves(s) ? 2 : tilesPerBlock));
  }
  const bool wgmma = loop == Loop::Wgmma;
  SmallVector<Value> mapped(wgmma ? 1 : 0, op.getX());
  CudaVariant &variant =
      k.open(suffix, threads, /*allRegisters=*/true, mapped, leastBlocks(loop, tokens));
  if (wgmma) {
    variant.cluster = kWgmmaCluster;
    variant.tensorMaps[0].boxRows = tokens / kWgmmaCluster;
  }
  variant.grid[0] = {LaunchExtent::Constant, starts.back(), 1};
  variant.grid[1] = {base(), 1, tokens};
  variant.guardBase = base();
  variant.maxCount = maxCount;
  variant.sharedBytes = sharedBytesOf(loop, tokens, appends);
  k.line("DYNAMIC_SHARED(shared);");
  k.line("static_assert({0} == {1}, \"what the launch asks for\");",
         sharedText(loop, tokens, appends), variant.sharedBytes);
  if (wgmma)
    k.line("const auto [block, first] = wgmma_place<{0}>();", tokens);
  else
    k.line("const i32 block = blockIdx.x, first = blockIdx.y * {0};", tokens);
  if (segments.size() > 1) {
    std::string text;
    for (size_t s = 0; s + 1 < segments.size(); ++s)
      text += llvm::formatv("block < {0} ? {1} : ", starts[s + 1], s);
    k.line("const i32 segment = {0}{1};", text, segments.size() - 1);
  }
  std::string start = choose(all, [&](size_t s) { return std::to_string(starts[s]); });
  if (segments.size() > 1)
    start = "(" + start + ")";
  if (halves(0)) // q and k
    k.line("const i32 tile = segment < 2 ? half_split_tile(block - {0}, {1}) : block - {0};", start,
           headDim());
  else
    k.line(tilesPerBlock > 1 ? "const i32 tile = (block - {0}) * {1};"
                             : "const i32 tile = block - {0};",
           start, tilesPerBlock);

  // With wgmma, padding comes first: after the main loop few registers are left.
  if (wgmma && llvm::any_of(segments, [&](auto &segment) { return isPadded(segment); })) {
    k.line("pdl_wait();");
    emitPadding(starts, tokens);
  }
  // Vectors of the prologue are weights, so they may be prefetched before pdl_wait.
  if (loop == Loop::Few)
    for (Value input : producer.getInputs())
      if (isa<lm::WeightType>(input.getType()))
        k.line("prefetch_vector<{0}>({1});", shape.k, k.nameOf(input));

  // Group segments by format (and by row pairing), in order of first appearance.
  SmallVector<SmallVector<size_t>> groups;
  for (size_t s : all) {
    auto same = llvm::find_if(groups, [&](auto &group) {
      const Segment &a = segments[group[0]], &b = segments[s];
      return a.format == b.format && (!appends || a.pairs == b.pairs);
    });
    (same == groups.end() ? groups.emplace_back() : *same).push_back(s);
  }
  for (auto [g, group] : llvm::enumerate(groups)) {
    std::string test;
    for (size_t s : group)
      test += (test.empty() ? "" : " || ") + ("segment == " + std::to_string(s));
    if (groups.size() > 1)
      k.line(g == 0                  ? "if ({0}) {{"
             : g + 1 < groups.size() ? "} else if ({0}) {{"
                                     : "} else {{",
             test);
    if (appends)
      emitAppendGroup(group, loop, tokens);
    else
      emitGroup(group, loop, tokens, folds);
  }
  if (groups.size() > 1)
    k.write("}");
  if (!wgmma)
    emitPadding(starts, tokens, appends);
  k.close();
}

bool MatmulEmitter::isPadded(const Segment &segment) const {
  return rowStride(segment.type) != segment.type.getN();
}

void MatmulEmitter::emitPadding(ArrayRef<int64_t> starts, int64_t tokens, bool appends) {
  for (auto [s, segment] : llvm::enumerate(segments)) {
    if (!isPadded(segment) || (appends && s > 0))
      continue;
    k.line("if (first < {0} && block == {1}) {{", count(), starts[s + 1] - 1);
    k.line("const i32 end = first + {0} < {1} ? first + {0} : (i32){1};", tokens, count());
    k.line("pad_rows<{0}, {1}>({2}, first, end);", segment.type.getN(), rowStride(segment.type),
           k.nameOf(segment.y));
    k.write("}");
  }
}

LogicalResult ingot::codegen::cuda::emitFp8Rows(KernelText &k, kernel::Fp8RowsOp op,
                                                const EmitOptions &options) {
  bool ofRows = op.getExtent() == kernel::Extent::Rows;
  LaunchExtent::Base base = ofRows ? LaunchExtent::Rows : LaunchExtent::Tokens;
  k.include("fp8_rows.cuh");
  k.name(op.getX(), "x");
  k.name(op.getOutput(), "y", /*written=*/true);
  if (!options.wgmma)
    return success(); // no kernel reads the fp8 rows
  const int64_t ofToken = op.getRowsOfToken();
  k.open("", 128).grid[0] = {base, ofToken, 1};
  k.line("fp8_rows<{0}>((const u8 *)x, y, {1}{2});", op.getX().getType().getN(),
         ofRows ? "batch->rows" : "batch->tokens",
         ofToken > 1 ? " * " + std::to_string(ofToken) : "");
  k.close();
  return success();
}

LogicalResult ingot::codegen::cuda::emitMatmul(KernelText &k, kernel::MatmulOp op,
                                               const EmitOptions &options) {
  return MatmulEmitter(k, op, options).emit();
}
