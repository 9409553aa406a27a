//===- Matmul.cpp - kernel.matmul for GPUs ---------------------------------===//
//
// The grid's x goes over the tiles of all segments, its y over the tokens. A block finds its
// segment; segments of one format share one instance of the main loop (device/matmul_*.cuh) and
// part again at the epilogue.
//
//   NAME_t8, _t16, _t32, _t64   up to so many tokens a block
//   NAME_prefill                more; where there is wgmma, up to 64
//   NAME_wgmma                  more yet
//   NAME_wgmma_fp8              instead of it, where x comes as fp8 too
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"
#include "codegen/cuda/MatmulShape.h"
#include "runtime/formats/FragmentLayout.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::RowKind;
using kernel::RowsType;

MatmulShape::MatmulShape(kernel::MatmulOp op) {
  weights = op.getPair() ? 2 : 1;
  k = op.getX().getType().getN();
  int64_t tiles = 0;
  for (Value y : op.getOutputs())
    tiles += llvm::divideCeil(cast<RowsType>(y.getType()).getN(), kFragmentRows);
  // Warps hide the latency of memory: about 16 of them on each of 132 processors.
  parts = tiles < 512 && k >= 2048 ? 8 : 4;
  bool minimums = false;
  int64_t group = 256; // the smallest
  for (Type type : op.getWeights().getTypes()) {
    const NumericFormat &format = cast<lm::WeightType>(type).numeric();
    minimums |= format.hasMin;
    group = format.isFloat() ? group : std::min<int64_t>(group, format.group);
  }
  // What fits the registers: pairs keep two sums a thread and minimums a third; small groups have
  // many scales.
  mostDecodeTokens = weights == 2 || minimums ? 32 : 64;
  prefillEights = minimums || group < 32 ? 4 : group < 64 ? 6 : 8;
}

namespace {

/// A family of main loops: matmul_decode, matmul_prefill, matmul_wgmma, matmul_wgmma_fp8.
enum class Loop { Decode, Prefill, Wgmma, WgmmaFp8 };

/// Above so many tokens wgmma is used: fewer leave half of its 128 empty.
constexpr int64_t kFewTokens = 64;

struct Segment {
  SmallVector<Value, 2> weights;
  SmallVector<Value> aux;
  Value y;
  RowsType type;
  WeightFormat format;
  int64_t tiles;
};

class MatmulEmitter {
public:
  MatmulEmitter(KernelText &k, kernel::MatmulOp op, const EmitOptions &options)
      : k(k), op(op), options(options), shape(op) {}

  LogicalResult emit() {
    if (op.getX().getType().getKind() != RowKind::BF16)
      return op.emitOpError("expects bf16 rows on GPUs, got ") << op.getX().getType();
    collectSegments();
    k.include("matmul_decode.cuh");
    k.include("matmul_prefill.cuh");
    if (options.wgmma)
      k.include(op.getXFp8() ? "matmul_wgmma_fp8.cuh" : "matmul_wgmma.cuh");
    k.include("region_math.cuh");
    for (auto [s, segment] : llvm::enumerate(segments))
      if (failed(emitEpilogue(s, segment)))
        return failure();
    for (int64_t tokens = 8; tokens <= shape.mostDecodeTokens; tokens *= 2)
      emitVariant(("_t" + Twine(tokens)).str(), Loop::Decode, tokens, /*maxCount=*/tokens);
    if (!options.wgmma || shape.mostDecodeTokens < kFewTokens)
      emitVariant("_prefill", Loop::Prefill, 16 * shape.prefillEights,
                  options.wgmma ? kFewTokens : kUnlimited);
    if (options.wgmma && op.getXFp8())
      emitVariant("_wgmma_fp8", Loop::WgmmaFp8, 128, kUnlimited);
    else if (options.wgmma)
      emitVariant("_wgmma", Loop::Wgmma, 128, kUnlimited);
    return success();
  }

private:
  void collectSegments() {
    auto aux = op.getAux().begin();
    int auxNumber = 0;
    k.name(op.getX(), "x");
    if (op.getXFp8())
      k.name(op.getXFp8(), "xFp8");
    for (auto [s, y] : llvm::enumerate(op.getOutputs())) {
      Segment segment;
      segment.y = y, segment.type = cast<RowsType>(y.getType());
      segment.tiles = llvm::divideCeil(segment.type.getN(), kFragmentRows);
      for (int64_t i = 0; i < shape.weights; ++i) {
        Value weight = op.getWeights()[s * shape.weights + i];
        k.name(weight, ("w" + Twine(s * shape.weights + i)).str());
        segment.weights.push_back(weight);
      }
      segment.format = cast<lm::WeightType>(segment.weights[0].getType()).getFormat();
      for (int64_t i = 0; i < op.getAuxCounts()[s]; ++i, ++aux) {
        k.name(*aux,
               ((isa<RowsType>((*aux).getType()) ? "rows" : "vector") + Twine(auxNumber++)).str());
        segment.aux.push_back(*aux);
      }
      segments.push_back(std::move(segment));
    }
    for (auto [s, segment] : llvm::enumerate(segments))
      k.name(segment.y, ("y" + Twine(s)).str(), /*written=*/true);
  }

  /// `store_0(token, row, sums, y, aux…)`: aux operands of the element, the region, the store.
  LogicalResult emitEpilogue(size_t s, Segment &segment) {
    std::string parameters;
    KernelText::Texts arguments;
    for (int64_t i = 0; i < shape.weights; ++i)
      arguments.push_back(llvm::formatv("sum[{0}]", i));
    for (auto [i, value] : llvm::enumerate(segment.aux)) {
      auto rows = dyn_cast<RowsType>(value.getType());
      parameters += llvm::formatv(", const float *aux{0}", i);
      arguments.push_back(
          rows ? llvm::formatv("aux{0}[(i64)token * {1} + row]", i, rowStride(rows)).str()
               : llvm::formatv("aux{0}[row]", i).str());
    }
    k.line("");
    k.line("DEVICE void store_{0}({1} *y, i32 token, i32 row, const float (&sum)[{2}]{3}) {{", s,
           elementText(segment.type), shape.weights, parameters);
    FailureOr<KernelText::Texts> yielded = k.region(op.getEpilogues()[s], arguments);
    if (failed(yielded))
      return failure();
    bool bf16 = segment.type.getKind() == RowKind::BF16;
    k.line("y[(i64)token * {0} + row] = {1};", rowStride(segment.type),
           bf16 ? "f32_to_bf16(" + yielded->front() + ")" : yielded->front());
    k.write("}");
    return success();
  }

  /// "segment == 0 ? a : segment == 1 ? b : c" over the segments of `among`.
  std::string choose(ArrayRef<size_t> among, llvm::function_ref<std::string(size_t)> value) {
    std::string text;
    bool same = llvm::all_of(among, [&](size_t s) { return value(s) == value(among.front()); });
    for (size_t s : same ? among.take_back() : among)
      text += (text.empty() ? "" : " : ") +
              (s == among.back() ? "" : "segment == " + std::to_string(s) + " ? ") + value(s);
    return text;
  }

  int64_t threadsOf(Loop loop) {
    return loop >= Loop::Wgmma ? 384 : loop == Loop::Prefill ? 256 : 32 * shape.parts;
  }

  /// As the functions matmul_…_shared of the main loops say.
  int64_t sharedBytesOf(Loop loop, int64_t tokens) {
    switch (loop) {
    case Loop::Decode:
      return shape.parts * shape.weights * tokens * 20 * 4;
    case Loop::Prefill:
      return 2 * tokens * 128 + (shape.parts > 1 ? 256 * 8 * shape.prefillEights * 4 : 0);
    case Loop::Wgmma:
      return 4 * (tokens * 128 + 2 * tokens * 4) + 256 * (tokens / 2) * 4 + 2 * 4 * 8;
    case Loop::WgmmaFp8:
      return 4 * (tokens * 128 + tokens * 4) + (shape.weights == 2 ? 256 * (tokens / 2) * 4 : 0) +
             2 * 4 * 8;
    }
    llvm_unreachable("all loops are covered");
  }

  /// `tokens` of a block; it is used for steps of up to `maxCount`.
  void emitVariant(StringRef suffix, Loop loop, int64_t tokens, int64_t maxCount) {
    int64_t threads = threadsOf(loop);
    int64_t tilesPerBlock = loop == Loop::Decode ? 1 : shape.weights == 2 ? 4 : 8;
    SmallVector<size_t> all;
    SmallVector<int64_t> starts{0};
    for (auto [s, segment] : llvm::enumerate(segments)) {
      all.push_back(s);
      starts.push_back(starts.back() + llvm::divideCeil(segment.tiles, tilesPerBlock));
    }
    CudaVariant &variant = k.open(suffix, threads, /*allRegisters=*/true);
    variant.grid[0] = {LaunchExtent::Constant, starts.back(), 1};
    variant.grid[1] = {base(), 1, tokens};
    variant.guardBase = base();
    variant.maxCount = maxCount;
    variant.sharedBytes = sharedBytesOf(loop, tokens);
    k.line("DYNAMIC_SHARED(shared);");
    k.line("const i32 block = blockIdx.x, first = blockIdx.y * {0};", tokens);
    if (segments.size() > 1) {
      std::string text;
      for (size_t s = 0; s + 1 < segments.size(); ++s)
        text += llvm::formatv("block < {0} ? {1} : ", starts[s + 1], s);
      k.line("const i32 segment = {0}{1};", text, segments.size() - 1);
    }
    std::string start = choose(all, [&](size_t s) { return std::to_string(starts[s]); });
    bool shifted = segments.size() > 1;
    k.line(tilesPerBlock > 1 ? "const i32 tile = (block - {0}) * {1};"
                             : "const i32 tile = block - {0};",
           shifted ? "(" + start + ")" : start, tilesPerBlock);

    // Formats in the order in which they come.
    SmallVector<SmallVector<size_t>> groups;
    for (size_t s : all) {
      auto same = llvm::find_if(
          groups, [&](auto &group) { return segments[group[0]].format == segments[s].format; });
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
      emitGroup(group, loop, tokens);
    }
    if (groups.size() > 1)
      k.write("}");
    // Rows end in zeros: the block of a segment's last tile writes them.
    for (auto [s, segment] : llvm::enumerate(segments))
      if (int64_t stride = rowStride(segment.type); stride != segment.type.getN()) {
        k.line("if (first < {0} && block == {1}) {{", count(), starts[s + 1] - 1);
        k.line("const i32 end = first + {0} < {1} ? first + {0} : (i32){1};", tokens, count());
        k.line("pad_rows<{0}, {1}>({2}, first, end);", segment.type.getN(), stride,
               k.nameOf(segment.y));
        k.write("}");
      }
    k.close();
  }

  void emitGroup(ArrayRef<size_t> group, Loop loop, int64_t tokens) {
    std::string weights;
    for (int64_t i = 0; i < shape.weights; ++i)
      weights += (i ? ", " : "") +
                 choose(group, [&](size_t s) { return k.nameOf(segments[s].weights[i]).str(); });
    k.line("const u8 *const weights[{0}] = {{{1}};", shape.weights, weights);
    std::string rows =
        choose(group, [&](size_t s) { return std::to_string(segments[s].type.getN()); });
    if (loop == Loop::WgmmaFp8)
      k.line("matmul_wgmma_fp8<{0}>(weights, xFp8, {1}, tile, first, &{2}, shared,", shape.k, rows,
             count());
    const char *name = loop == Loop::Decode    ? "decode"
                       : loop == Loop::Prefill ? "prefill"
                                               : "wgmma";
    std::string eights = loop == Loop::Decode    ? ", " + std::to_string(tokens / 8)
                         : loop == Loop::Prefill ? ", " + std::to_string(shape.prefillEights)
                                                 : "";
    if (loop != Loop::WgmmaFp8)
      k.line("matmul_{0}<{1}, {2}, {3}{4}>(weights, (const u8 *)x, {5}, tile, first, &{6}, shared,",
             name, formatText(segments[group[0]].format), shape.k, shape.parts, eights, rows,
             count());
    k.line("    [&](i32 token, i32 row, const float (&sum)[{0}]) {{", shape.weights);
    for (auto [i, s] : llvm::enumerate(group)) {
      std::string aux;
      for (Value value : segments[s].aux)
        aux += ", " + k.nameOf(value).str();
      std::string test =
          i + 1 == group.size() ? "" : llvm::formatv("if (segment == {0}) ", s).str();
      k.line("{0}{1}store_{2}({3}, token, row, sum{4});", i ? "else " : "", test, s,
             k.nameOf(segments[s].y), aux);
    }
    k.write("});");
  }

  LaunchExtent::Base base() {
    return op.getExtent() == kernel::Extent::Rows ? LaunchExtent::Rows : LaunchExtent::Tokens;
  }
  const char *count() {
    return op.getExtent() == kernel::Extent::Rows ? "batch->rows" : "batch->tokens";
  }

  KernelText &k;
  kernel::MatmulOp op;
  const EmitOptions &options;
  MatmulShape shape;
  SmallVector<Segment> segments;
};

} // namespace

LogicalResult ingot::cuda::emitFp8Rows(KernelText &k, kernel::Fp8RowsOp op,
                                       const EmitOptions &options) {
  bool ofRows = op.getExtent() == kernel::Extent::Rows;
  LaunchExtent::Base base = ofRows ? LaunchExtent::Rows : LaunchExtent::Tokens;
  k.include("fp8_rows.cuh");
  k.name(op.getX(), "x");
  k.name(op.getOutput(), "y", /*written=*/true);
  // Nobody reads fp8 rows in a step of few tokens, and nobody at all without wgmma.
  CudaVariant &idle = k.open("_idle", 32);
  idle.grid[0] = {LaunchExtent::Constant, 0, 1};
  idle.guardBase = base;
  idle.maxCount = options.wgmma ? kFewTokens : kUnlimited;
  k.line("pdl_wait();");
  k.close();
  if (!options.wgmma)
    return success();
  k.open("", 128).grid[0] = {base, 1, 1};
  k.line("fp8_rows<{0}>((const u8 *)x, y, {1});", op.getX().getType().getN(),
         ofRows ? "batch->rows" : "batch->tokens");
  k.close();
  return success();
}

LogicalResult ingot::cuda::emitMatmul(KernelText &k, kernel::MatmulOp op,
                                      const EmitOptions &options) {
  return MatmulEmitter(k, op, options).emit();
}
