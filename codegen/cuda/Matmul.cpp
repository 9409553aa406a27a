//===- Matmul.cpp - kernel.matmul for GPUs ---------------------------------===//
//
// The grid's x goes over the tiles of all segments, its y over the tokens. A block finds its
// segment; segments of one format share one instance of the main loop (device/matmul_*.cuh) and
// part again at the epilogue.
//
//   NAME_few                    x is computed in each block (a kernel.rowwise makes it), a variant alone
//   NAME_t8, _t16, _t32, _t64   up to so many tokens a block
//   NAME_prefill                more; where there is wgmma, up to 64
//   NAME_wgmma                  more yet (of float weights beyond 128, which _wgmma128 takes)
//   NAME_wgmma_fp8              instead of it, where x comes as fp8 too
//
// Where x is f32 (a router's: device/matmul_f32.cuh) there are two:
//
//   NAME_t8, NAME_many          up to 128 tokens, and more
//
// Where rows have experts, y goes over tiles of rows that have one expert (device/matmul_experts.cuh), and
// how many rows an expert has on average decides:
//
//   NAME_t8, _t32 (or _t16)     up to 4 and 16 of them
//   NAME_prefill, _prefill128   up to 64, and more (or _prefill96)
//
// Of these a kernel has those that its counts can choose.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"
#include "codegen/cuda/MatmulPrologue.h"
#include "runtime/formats/FragmentLayout.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::RowKind;
using kernel::RowsType;

namespace {

/// A family of main loops: matmul_f32 (of few tokens, and of many), matmul_decode (Few: of rows that
/// the block computes), matmul_prefill, matmul_wgmma, matmul_wgmma_fp8.
enum class Loop { F32Few, F32Many, Few, Decode, Prefill, Wgmma, WgmmaFp8 };

/// Tokens whose blocks of 32 rows of a router fill half of a GPU: fewer go to blocks of 8 rows.
constexpr int64_t kMostF32Few = 128;
constexpr int64_t kLeastWgmmaTokens = 128;
constexpr int64_t kWgmmaCluster = 2; ///< blocks; as in matmul_wgmma.cuh

/// Rows that a rotation takes together: device/append.cuh.
enum class Pairs { None, Neighbours, Halves };

struct Segment {
  SmallVector<Value, 2> weights;
  SmallVector<Value> aux;
  Value y;       ///< null: it goes into the pool
  RowsType type; ///< of y, or as if there were one
  WeightFormat format;
  Pairs pairs = Pairs::None; ///< where the kernel rotates
};

class MatmulEmitter {
public:
  MatmulEmitter(KernelText &k, kernel::MatmulOp op, const EmitOptions &options)
      : k(k), op(op), options(options), shape(op), producer(shape.producer), argmax(shape.argmax),
        append(shape.append) {}

  LogicalResult emit() {
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
    // Each is for what is beyond the one before it.
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

private:
  void collectSegments() {
    auto aux = op.getAux().begin();
    int auxNumber = 0;
    if (!producer)
      k.name(op.getX(), "x");
    if (op.getXFp8())
      k.name(op.getXFp8(), "xFp8");
    for (int64_t s = 0; s < op.segments(); ++s) {
      Segment segment;
      if (op.getFlows().empty())
        segment.y = op.getOutputs()[s];
      else
        segment.y = shape.storedAt(op, s);
      segment.type = kernel::rowsTypeOf(segment.y ? segment.y : op.getFlows()[s]);
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

  /// A block's tokens: what group sums leave of the registers. Blocks of a cluster share x.
  int64_t wgmmaTokens() const {
    return llvm::all_of(segments,
                        [](const Segment &s) { return numericFormat(s.format).isFloat(); })
               ? 256
               : kLeastWgmmaTokens;
  }

  /// What the epilogue takes from the i-th aux operand of a segment.
  std::string auxText(const Segment &segment, size_t i, const std::string &row = "row") {
    std::string at = row;
    if (auto rows = dyn_cast<RowsType>(segment.aux[i].getType()))
      at = llvm::formatv("(i64)token * {0} + {1}", rowStride(rows), row);
    else if (op.getRoutes())
      at = llvm::formatv("expert * {0} + {1}", llvm::alignTo(segment.type.getN(), kPanelRows), row);
    return (k.nameOf(segment.aux[i]) + "[" + at + "]").str();
  }

  /// What device/append.cuh wants to know of q, k and v.
  void emitHeads() {
    kernel::KvPoolType kv = append.getKv().getType();
    k.include("append.cuh");
    k.line("");
    k.line("struct Heads {{");
    k.line("static constexpr i32 kvHeads = {0}, headDim = {1}, rotary = {2};", kv.getKvHeads(),
           kv.getHeadDim(), rotary());
    k.line("static constexpr i32 pageElements = kvHeads * kPageTokens * headDim;");
    k.write("};");
  }
  int64_t rotary() { return append.getTable() ? append.getTable().getType().getN() : 0; }
  int64_t headDim() { return append.getKv().getType().getHeadDim(); }

  /// `store_0(y, token, row, sums, aux…)`: aux elements, the region, the store. It returns the
  /// value where keys are made of it.
  LogicalResult emitEpilogue(size_t s, Segment &segment) {
    std::string parameters;
    KernelText::Texts arguments;
    for (int64_t i = 0; i < shape.weights; ++i)
      arguments.push_back(llvm::formatv("sum[{0}]", i));
    for (size_t i = 0; i < segment.aux.size(); ++i) {
      arguments.push_back("aux" + std::to_string(i));
      parameters += ", float " + arguments.back();
    }
    k.line("");
    if (append) { // what is stored where differs: emitAppendGroup
      k.line("DEVICE float value_{0}(i32 token, i32 row, const float (&sum)[1]{1}) {{", s,
             parameters);
      FailureOr<KernelText::Texts> yielded = k.region(op.getEpilogues()[s], arguments);
      if (failed(yielded))
        return failure();
      k.line("return {0};", yielded->front());
      k.write("}");
      return success();
    }
    k.line("DEVICE {0} store_{1}({2} *y, i32 token, i32 row, const float (&sum)[{3}]{4}) {{",
           argmax ? "float" : "void", s, elementText(segment.type), shape.weights, parameters);
    FailureOr<KernelText::Texts> yielded = k.region(op.getEpilogues()[s], arguments);
    if (failed(yielded))
      return failure();
    bool bf16 = segment.type.getKind() == RowKind::BF16;
    k.line("y[(i64)token * {0} + row] = {1};", rowStride(segment.type),
           bf16 ? "f32_to_bf16(" + yielded->front() + ")" : yielded->front());
    if (argmax)
      k.line("return {0};", yielded->front());
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

  /// Rows of a weight in a tile of the loop, and tiles of a block.
  static int64_t rowsOfTile(Loop loop) {
    return loop == Loop::F32Few ? 8 : loop == Loop::F32Many ? kPanelRows : kFragmentRows;
  }
  int64_t tilesOfBlock(Loop loop) const {
    return loop <= Loop::Decode ? 1 : shape.weights == 2 ? 4 : 8;
  }
  static int64_t tilesOf(const Segment &segment, Loop loop) {
    return llvm::divideCeil(segment.type.getN(), rowsOfTile(loop));
  }

  /// Of a decode block's sums; one that appends halves has two weights.
  int64_t partialBytes(int64_t tokens, bool appends) const {
    bool halves = appends && segments[0].pairs == Pairs::Halves;
    return shape.parts * (halves ? 2 : shape.weights) * tokens * 20 * 4;
  }

  /// Bytes of dynamic shared memory. What the device's own text says of its layout, sharedText(),
  /// is held against it in every kernel.
  int64_t sharedBytesOf(Loop loop, int64_t tokens, bool appends) {
    switch (loop) {
    case Loop::F32Few:
      return 32 * (8 * tokens + 8) * 4;
    case Loop::F32Many:
      return 8 * tokens * 32 * 4;
    case Loop::Few:
      return partialBytes(8, appends) + prologue.sharedBytes;
    case Loop::Decode:
      return partialBytes(tokens, appends);
    case Loop::Prefill: // parts are several: their sums take more than the results
      return 2 * tokens * 128 + 256 * 8 * (tokens / 16) * 4;
    case Loop::Wgmma:
      return tokens == 256 ? 3 * (tokens * 128 + 3 * 8) + 256 * (tokens / 2) * 4
                           : 4 * (tokens * 128 + 4 * tokens * 4 + 3 * 8) + 256 * (tokens / 2) * 4;
    case Loop::WgmmaFp8:
      return 4 * (tokens * 128 + tokens * 4) + 2 * 4 * 8;
    }
    llvm_unreachable("all loops are covered");
  }

  std::string sharedText(Loop loop, int64_t tokens, bool appends) {
    const bool halves = appends && segments[0].pairs == Pairs::Halves;
    switch (loop) {
    case Loop::F32Few:
      return "matmul_f32_few_shared()";
    case Loop::F32Many:
      return "matmul_f32_many_shared()";
    case Loop::Few:
    case Loop::Decode:
      return llvm::formatv("matmul_decode_shared({0}, {1}, {2}) + {3}", shape.parts,
                           halves ? 2 : shape.weights, loop == Loop::Few ? 8 : tokens,
                           loop == Loop::Few ? prologue.sharedBytes : 0);
    case Loop::Prefill:
      return llvm::formatv("matmul_prefill_shared({0}, {1})", shape.parts, tokens / 16);
    case Loop::Wgmma: // INGOT_STAGES: the knob of a sweep, which asks for its own bytes
      return llvm::formatv("(INGOT_STAGES ? {1} : WgmmaShared<{0}>::bytes)", tokens,
                           sharedBytesOf(loop, tokens, appends));
    case Loop::WgmmaFp8:
      return llvm::formatv("(INGOT_STAGES ? {0} : fp8_shared_bytes())",
                           sharedBytesOf(loop, tokens, appends));
    }
    llvm_unreachable("all loops are covered");
  }

  /// That fit a processor; 0: no matter. What two weights of super-blocks unpack at once would take
  /// every register that one block leaves; with those that three leave nothing is spilled. Of f32
  /// two hide each other's latencies.
  uint32_t leastBlocks(Loop loop, int64_t tokens) const {
    if (loop <= Loop::F32Many)
      return 2;
    if (loop >= Loop::Prefill)
      return 0;
    bool super = llvm::any_of(
        segments, [](const Segment &s) { return numericFormat(s.format).superGroup != 0; });
    return super && shape.weights == 2 && tokens <= 8 && shape.parts == 4 ? 3 : 1;
  }

  /// `tokens` of a block; it is used for steps of up to `maxCount`.
  void emitVariant(StringRef suffix, Loop loop, int64_t tokens, int64_t maxCount) {
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
      k.line("const i32 tile = segment < 2 ? half_split_tile(block - {0}, {1}) : block - {0};",
             start, headDim());
    else
      k.line(tilesPerBlock > 1 ? "const i32 tile = (block - {0}) * {1};"
                               : "const i32 tile = block - {0};",
             start, tilesPerBlock);

    // First, where there is wgmma: behind it the registers are few.
    if (wgmma && llvm::any_of(segments, [&](auto &segment) { return isPadded(segment); })) {
      k.line("pdl_wait();");
      emitPadding(starts, tokens);
    }
    // Vectors of the prologue are weights: they may be on their way before pdl_wait.
    if (loop == Loop::Few)
      for (Value input : producer.getInputs())
        if (isa<lm::WeightType>(input.getType()))
          k.line("prefetch_vector<{0}>({1});", shape.k, k.nameOf(input));

    // Formats (and ways to pair rows) in the order in which they come.
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

  /// The counts of tokens at which each begins to be too much follow from how many rows an expert has on average.
  void emitExpertVariants() {
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
      bound(emitExperts("_prefill", Loop::Prefill, tokens),
            {LaunchExtent::Tokens, used, tokens / 2}, most);
    if (both && isNext(kUnlimited))
      bound(emitExperts("_prefill" + std::to_string(more), Loop::Prefill, more),
            {LaunchExtent::Tokens, used, more / 2}, kUnlimited);
  }

  /// `tokens` rows of one expert at a time.
  CudaVariant &emitExperts(StringRef suffix, Loop loop, int64_t tokens) {
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

  bool isPadded(const Segment &segment) const {
    return rowStride(segment.type) != segment.type.getN();
  }

  /// Rows end in zeros: the block of a segment's last tile writes them.
  /// With `appends` only those of q are written.
  void emitPadding(ArrayRef<int64_t> starts, int64_t tokens, bool appends = false) {
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

  void emitGroup(ArrayRef<size_t> group, Loop loop, int64_t tokens, bool folds) {
    std::string weights, ofExpert;
    if (op.getRoutes()) {
      const FragmentLayout layout = kernel::fragmentLayoutOf(op.segmentWeight(0));
      ofExpert = llvm::formatv(" + (i64)expert * {0}", layout.tilesOfMatrix() * layout.tileBytes());
    }
    for (int64_t i = 0; i < shape.weights; ++i)
      weights += (i ? ", " : "") +
                 choose(group, [&](size_t s) { return k.nameOf(segments[s].weights[i]).str(); }) +
                 ofExpert;
    k.line("const u8 *const weights[{0}] = {{{1}};", shape.weights, weights);
    std::string rows =
        choose(group, [&](size_t s) { return std::to_string(segments[s].type.getN()); });
    const size_t held = heldOf(group);
    const std::string of =
        llvm::formatv("{0}, {1}, {2}", formatText(segments[group[0]].format), shape.k, shape.parts);
    std::string function, x = "(const u8 *)x";
    switch (loop) {
    case Loop::F32Few:
    case Loop::F32Many:
      function = llvm::formatv("f32_{0}<{1}, {2}, {3}>", loop == Loop::F32Few ? "few" : "many",
                               panelText(segments[group[0]].format), shape.k, held);
      x = "x";
      break;
    case Loop::Few:
      function = llvm::formatv("decode_of<{0}, 1, {1}, {2}>", of, tokens, held);
      x = llvm::formatv("[&](i32 rows) {{ return compute_x(shared + {0}, first, rows{1}, batch); }",
                        partialBytes(8, false), prologue.arguments);
      break;
    case Loop::Decode:
      function = llvm::formatv("decode<{0}, {1}, {2}>", of, tokens / 8, held);
      break;
    case Loop::Prefill:
      function = llvm::formatv("prefill<{0}, {1}, {2}>", of, tokens / 16, held);
      break;
    case Loop::Wgmma:
      function = llvm::formatv("wgmma<{0}, {1}, {2}>", of, tokens, held);
      x = "&x_map";
      break;
    case Loop::WgmmaFp8:
      function = llvm::formatv("wgmma_fp8<{0}, {1}>", shape.k, held);
      x = "xFp8";
      break;
    }
    k.line("matmul_{0}(weights, {1}, {2}, tile, first, &{3}, shared,", function, x, rows, count());
    auto whenSegment = [&](size_t i) {
      return (i ? "else " : "") +
             (i + 1 == group.size() ? "" : llvm::formatv("if (segment == {0}) ", group[i]).str());
    };
    k.line("    [&](i32 token, i32 row, float (&held)[{0}]) {{", held);
    for (size_t s : group)
      for (size_t a = 0; a < segments[s].aux.size(); ++a)
        k.line("{0}held[{1}] = {2};",
               group.size() > 1 ? llvm::formatv("if (segment == {0}) ", s).str() : "", a,
               auxText(segments[s], a));
    k.write("},");
    k.line("    [&](i32 token, i32 row, const float (&sum)[{0}], const float (&held)[{1}]) {{",
           shape.weights, held);
    for (auto [i, s] : llvm::enumerate(group)) {
      std::string aux;
      for (size_t a = 0; a < segments[s].aux.size(); ++a)
        aux += llvm::formatv(", held[{0}]", a);
      k.line("{0}{1}store_{2}({3}, token, row, sum{4});", whenSegment(i), folds ? "return " : "", s,
             k.nameOf(segments[s].y), aux);
    }
    k.write(folds ? "}, FoldKeys{keys});" : "});");
  }

  /// Most aux elements that a result of these segments takes; 1 for none, as arrays want.
  size_t heldOf(ArrayRef<size_t> group) const {
    size_t most = 1;
    for (size_t s : group)
      most = std::max(most, segments[s].aux.size());
    return most;
  }

  /// The group's main loop, and what rope_append would do with its sums.
  void emitAppendGroup(ArrayRef<size_t> group, Loop loop, int64_t tokens) {
    const Segment &any = segments[group[0]];
    bool halves = any.pairs == Pairs::Halves, pairs = any.pairs != Pairs::None;
    int64_t distance = halves ? headDim() / 2 : 1;
    const std::string format = formatText(any.format);
    std::string weight =
        choose(group, [&](size_t s) { return k.nameOf(segments[s].weights[0]).str(); });
    k.line("const u8 *const lower = {0};", weight);
    if (halves)
      k.line("const u8 *const weights[2] = {{lower, lower + {0} * {1}::tileBytes({2})};",
             distance / kFragmentRows, format, shape.k);
    else
      k.line("const u8 *const weights[1] = {{lower};");
    std::string rows =
        choose(group, [&](size_t s) { return std::to_string(segments[s].type.getN()); });
    std::string x = loop == Loop::Few
                        ? llvm::formatv("compute_x(shared + {0}, first, rows{1}, batch)",
                                        partialBytes(8, true), prologue.arguments)
                              .str()
                        : llvm::formatv("rows_of<{0}>((const u8 *)x, first)", shape.k).str();
    k.line(
        "matmul_decode_of<{0}, {1}, {2}, {3}, {4}, 1, {5}>(weights, [&](i32 rows) {{ return {6}; }, "
        "{7}, tile, first, &{8}, shared, NothingHeld{{},",
        format, shape.k, shape.parts, llvm::divideCeil(tokens, 8), tokens, pairs && !halves ? 2 : 1,
        x, rows, count());
    k.line("    [&](i32 token, i32 row, const float (&sum)[{0}], const float (&)[1]) {{",
           pairs ? 2 : 1);
    for (auto [i, s] : llvm::enumerate(group)) {
      std::string aux, aux2;
      for (size_t a = 0; a < segments[s].aux.size(); ++a) {
        aux += ", " + auxText(segments[s], a);
        aux2 += ", " + auxText(segments[s], a, "row + " + std::to_string(distance));
      }
      if (group.size() > 1)
        k.line(i == 0                 ? "if (segment == {0}) {{"
               : i + 1 < group.size() ? "} else if (segment == {0}) {{"
                                      : "} else {{",
               s);
      if (pairs) {
        k.line("const float low[1] = {{sum[0]}, high[1] = {{sum[1]};");
        k.line("float a = value_{0}(token, row, low{1}), b = value_{0}(token, row + {2}, high{3});",
               s, aux, distance, aux2);
        if (rotary() < headDim())
          k.line("if (row % {0} < {1})", headDim(), rotary());
        k.line("{0}rotate_pair<Heads>(table, token, row % {1}{2}, a, b);",
               rotary() < headDim() ? "  " : "", headDim(), halves ? "" : " / 2");
      } else {
        k.line("const float a = value_{0}(token, row, sum{1});", s, aux);
      }
      auto stored = [&](const char *value) {
        return s == 0 ? value : llvm::formatv("f32_to_bf16({0})", value).str();
      };
      if (s == 0)
        k.line("float *to = {0} + (i64)token * {1} + row;", k.nameOf(segments[s].y),
               rowStride(segments[s].type));
      else
        k.line("u16 *to = append_place<Heads>(pool, batch, token, row){0};",
               s == 2 ? " + Heads::pageElements" : "");
      k.line("to[0] = {0};", stored("a"));
      if (pairs)
        k.line("to[{0}] = {1};", distance, stored("b"));
    }
    if (group.size() > 1)
      k.write("}");
    k.write("});");
  }

  LaunchExtent::Base base() {
    return op.getExtent() == kernel::Extent::Rows ? LaunchExtent::Rows : LaunchExtent::Tokens;
  }
  const char *count() {
    if (op.getRoutes())
      return "end";
    return op.getExtent() == kernel::Extent::Rows ? "batch->rows" : "batch->tokens";
  }

  KernelText &k;
  kernel::MatmulOp op;
  const EmitOptions &options;
  MatmulShape shape;
  kernel::RowwiseOp producer;
  kernel::ArgmaxOp argmax;
  kernel::RopeAppendOp append;
  SmallVector<Segment> segments;
  MatmulPrologue prologue;
};

} // namespace

LogicalResult ingot::cuda::emitFp8Rows(KernelText &k, kernel::Fp8RowsOp op,
                                       const EmitOptions &options) {
  bool ofRows = op.getExtent() == kernel::Extent::Rows;
  LaunchExtent::Base base = ofRows ? LaunchExtent::Rows : LaunchExtent::Tokens;
  k.include("fp8_rows.cuh");
  k.name(op.getX(), "x");
  k.name(op.getOutput(), "y", /*written=*/true);
  if (!options.wgmma)
    return success(); // nobody reads them
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
