//===- AttentionTest.cpp - Paged attention on the emulator against scalar C++ ===//
#include "CudaRunner.h"
#include "E4m3Reference.h"
#include "runtime/device/cuda/AttentionSplits.h"

#include <cmath>
#include <limits>
#include <ranges>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

/// Sequences of the given lengths, a KV cache in shuffled pages, and a step over the last `chunk`
/// tokens of each sequence.
struct Scene {
  AttentionProblem p;
  std::vector<int64_t> lengths;
  int64_t stride, pageBytes;
  std::vector<uint8_t> pool;
  std::vector<int32_t> blockTable;

  Scene(const AttentionProblem &p, std::vector<int64_t> lengths)
      : p(p), lengths(std::move(lengths)) {
    int64_t longest = *std::max_element(this->lengths.begin(), this->lengths.end());
    stride = (longest + 31) / 32 + 1;
    pageBytes = roundUp(2 * p.kvHeads * 32 * (p.headDim * (p.fp8 ? 1 : 2) + (p.fp8 ? 4 : 0)), 64);
    int64_t pages = stride * int64_t(this->lengths.size()) + 1;
    Numbers random(9);
    pool.resize(pages * pageBytes, 0xff); // NaN wherever nothing has been written
    for (size_t s = 0; s < this->lengths.size(); ++s)
      for (int64_t i = 0; i < stride; ++i)
        blockTable.push_back(int32_t(pages - 1 - (s * stride + i)));
    std::vector<float> vector(p.headDim);
    for (size_t s = 0; s < this->lengths.size(); ++s)
      for (int64_t position = 0; position < this->lengths[s]; ++position)
        for (int64_t h = 0; h < p.kvHeads; ++h)
          for (bool value : {false, true}) {
            for (float &x : vector)
              x = (value ? 1 : 2) * random.uniform();
            store(s, position, h, value, vector);
          }
  }

  uint8_t *pageOf(size_t sequence, int64_t position) {
    return pool.data() + blockTable[sequence * stride + position / 32] * pageBytes;
  }
  /// Returns the index of a vector within its page.
  int64_t indexOf(int64_t position, int64_t h, bool value) const {
    return ((value ? p.kvHeads : 0) + h) * 32 + position % 32;
  }
  void store(size_t sequence, int64_t position, int64_t h, bool value,
             const std::vector<float> &vector) {
    uint8_t *page = pageOf(sequence, position);
    int64_t index = indexOf(position, h, value);
    if (!p.fp8) {
      for (int64_t d = 0; d < p.headDim; ++d)
        reinterpret_cast<uint16_t *>(page)[index * p.headDim + d] = toBf16(vector[d]);
      return;
    }
    float most = 0;
    for (float x : vector)
      most = std::max(most, std::abs(x));
    float &scale = reinterpret_cast<float *>(page + 2 * p.kvHeads * 32 * p.headDim)[index];
    scale = most / 448;
    for (int64_t d = 0; d < p.headDim; ++d)
      page[index * p.headDim + d] = toE4m3(vector[d] / scale);
  }
  /// Overwrites everything that the position stores with NaN.
  void hide(std::vector<uint8_t> &of, size_t sequence, int64_t position) const {
    const int64_t bytes = p.headDim * (p.fp8 ? 1 : 2);
    auto page = of.begin() + blockTable[sequence * stride + position / 32] * pageBytes;
    for (int64_t h = 0; h < p.kvHeads; ++h)
      for (bool value : {false, true}) {
        const int64_t index = indexOf(position, h, value);
        std::fill_n(page + index * bytes, bytes, 0xff);
        if (p.fp8)
          std::fill_n(page + 2 * p.kvHeads * 32 * bytes + 4 * index, 4, 0xff);
      }
  }
  double element(size_t sequence, int64_t position, int64_t h, int64_t d, bool value) {
    uint8_t *page = pageOf(sequence, position);
    int64_t index = indexOf(position, h, value);
    if (!p.fp8)
      return fromBf16(reinterpret_cast<uint16_t *>(page)[index * p.headDim + d]);
    return fromE4m3(page[index * p.headDim + d]) *
           reinterpret_cast<float *>(page + 2 * p.kvHeads * 32 * p.headDim)[index];
  }

  /// Returns the heads' sinks as a vector: some below and some above the scores.
  std::vector<float> sinks() const {
    std::vector<float> logits = f32Rows(1, p.heads, 77);
    for (float &x : logits)
      x *= 4;
    return logits;
  }

  /// Computes one query head of one token in f64; q is rounded to bf16 as in the kernel.
  std::vector<double> reference(size_t sequence, int64_t position, int64_t head, const float *q) {
    int64_t h = head / (p.heads / p.kvHeads),
            first = p.window ? std::max<int64_t>(0, position - p.window + 1) : 0;
    std::vector<double> scores, out(p.headDim);
    const double sink = p.sinks ? sinks()[size_t(head)] : -std::numeric_limits<double>::infinity();
    double most = sink, sum = 0;
    for (int64_t i = first; i <= position; ++i) {
      double score = 0;
      for (int64_t d = 0; d < p.headDim; ++d)
        score += double(fromBf16(toBf16(q[d]))) * element(sequence, i, h, d, false);
      score *= 0.125;
      if (p.softcap != 0)
        score = p.softcap * std::tanh(score / p.softcap);
      scores.push_back(score);
      most = std::max(most, score);
    }
    for (double &s : scores)
      sum += s = std::exp(s - most);
    sum += std::exp(sink - most);
    for (int64_t i = first; i <= position; ++i)
      for (int64_t d = 0; d < p.headDim; ++d)
        out[d] += scores[i - first] / sum * element(sequence, i, h, d, true);
    return out;
  }
};

struct Step {
  std::vector<AttentionTile> tiles;
  std::vector<std::pair<size_t, int64_t>> tokens; ///< sequence and position
};
/// Returns the pool for that step: everything before the first position that a token of the step may see is
/// NaN, even in pages that the sequence holds.
std::vector<uint8_t> poolOf(const Scene &scene, const Step &step) {
  std::vector<int64_t> next(scene.lengths.size(), 0);
  for (const AttentionTile &tile : step.tiles | std::views::reverse)
    next[size_t(tile.sequence)] = tile.firstPosition;
  std::vector<uint8_t> pool = scene.pool;
  for (size_t s = 0; s < next.size(); ++s)
    for (int64_t position = 0; scene.p.window && position <= next[s] - scene.p.window; ++position)
      scene.hide(pool, s, position);
  return pool;
}

/// Returns a step over the last `chunk` positions of every sequence (all of them if it is shorter), in tiles of up to
/// `most` tokens.
Step stepOf(const Scene &scene, int64_t chunk, int64_t most) {
  Step step;
  for (size_t s = 0; s < scene.lengths.size(); ++s)
    for (int64_t from = std::max<int64_t>(0, scene.lengths[s] - chunk); from < scene.lengths[s];
         from += most) {
      int64_t count = std::min(most, scene.lengths[s] - from);
      step.tiles.push_back(
          {int32_t(step.tokens.size()), int32_t(count), int32_t(s), int32_t(from)});
      for (int64_t i = 0; i < count; ++i)
        step.tokens.push_back({s, from + i});
    }
  return step;
}

std::vector<float> queryOf(const AttentionProblem &p, size_t sequence, int64_t position) {
  return f32Rows(1, p.heads * p.headDim, 1000 * uint32_t(sequence) + uint32_t(position));
}

/// The problems a0, a1, …. The lengths in DecodeAndPrefill lie around the sizes of pages, KV tiles and KV chunks.
const std::vector<AttentionProblem> kProblems = {
    {6, 2, 64, 0, 0, "bf16"},
    {4, 1, 128, 0, 0, "f32"},
    {2, 1, 256, 100, 30, "bf16"},
    {2, 2, 80, 1000, 20, "bf16"},
    {3, 1, 20, 40, 0, "f32"},
    {2, 1, 7, 0, 0, "bf16"},
    {20, 1, 16, 0, 0, "f32"},
    {4, 1, 128, 0, 0, "bf16", true},
    {3, 1, 20, 0, 0, "f32", true},
    {3, 1, 72, 70, 0, "f32", true},
    {6, 2, 64, 0, 0, "bf16", false, true},
    {20, 1, 16, 0, 5, "f32", false, true},
    {4, 1, 128, 1000, 0, "f32", true, true},
};
std::string nameOf(size_t i) { return "a" + std::to_string(i); }

/// This text is prepended to the source of a5. It counts the blocks that wait, and the products of each warp. Each
/// launch of a step has its own grid size, which tells their blocks apart.
constexpr const char *kCounting = R"(#include "device.cuh"
extern "C" {
__attribute__((visibility("default"))) u32 waits[4096], products[4096][4];
}
#define counted_block (blockIdx.x + 37 * gridDim.x)
#define pdl_wait() (waits[counted_block] = 1, pdl_wait())
#define mma_tile(...)                                                                              \
  (products[counted_block][threadIdx.x / 32] += threadIdx.x % 32 == 0, mma_tile(__VA_ARGS__))
)";
constexpr uint32_t kProductsOfTile = 2 + 4; ///< for scores and for values, with heads of 7

/// All kernels of these tests, compiled once per build. `planted` is a6 without the ordering
/// between a block that writes and the one that merges; `counted()` is a5 with counters; `append`
/// writes the KV of a6.
class Kernels {
public:
  static const HostKernels &build(bool checked) {
    static const Kernels all;
    static const HostKernels builds[] = {{all.programs, false}, {all.programs, true}};
    return builds[checked];
  }
  static const HostKernels &counted() {
    std::vector<CudaProgram> programs = emitAll(attention("counted", kProblems[5]));
    insert(programs.front(), kCounting);
    static const HostKernels build(programs, false);
    return build;
  }
  /// Returns the workspace bytes (counters and slots) for a step whose tiles share that many slots;
  /// 0 for a kernel without a workspace.
  static int64_t workspace(const std::string &name, int64_t slots) {
    static const std::map<std::string, int64_t> bytes = workspacesOf(text());
    auto found = bytes.find(name == "counted" ? "a5" : name);
    return found == bytes.end() ? 0
                                : kCounterBytes + (found->second - kCounterBytes) / kSlots * slots;
  }
  static constexpr int64_t kCounterBytes = 4096, kSlots = 4096;

private:
  std::vector<CudaProgram> programs = emitAll(text());

  Kernels() {
    for (CudaProgram &program : programs)
      if (program.name == "planted")
        insert(program, "#include \"device.cuh\"\n#define add_acq_rel atomic_add\n");
  }
  static void insert(CudaProgram &program, const char *text) {
    program.source.insert(program.source.find("#include"), text);
  }
  static std::string text() {
    std::string text =
        attention("planted", kProblems[6]) + ropeAppend("append", {20, 1, 16, 0, false, false});
    for (size_t i = 0; i < kProblems.size(); ++i)
      text += attention(nameOf(i), kProblems[i]);
    return text;
  }
};

/// Which kernel takes which tiles: each kind of tile has its own kernel, as in the runtime, or the
/// prompts' kernel takes all.
enum class Tiles { ByKind, AllAsPrompts };

struct Way {
  uint32_t seed = 1;
  AttentionSplitting sharing = {};
  Tiles tiles = Tiles::ByKind;
  uint32_t idle = 0; ///< idle blocks of a launch, as in a graph
};

/// The tiles of a step in the runtime's order, their split-KV splits, and the slots that the splits use.
struct Dealt {
  std::vector<AttentionTile> tiles;
  size_t promptTiles;
  std::vector<AttentionSplit> shares;
  int64_t slots = 0;

  Dealt(const Scene &scene, const Step &step, const Way &way) {
    for (bool decoding : {false, true}) {
      if (decoding)
        promptTiles = tiles.size();
      for (size_t i = 0; i < step.tiles.size(); ++i)
        if ((way.tiles == Tiles::ByKind && decodes(step.tiles, i)) == decoding)
          tiles.push_back(step.tiles[i]);
    }
    AttentionSplitting sharing = way.sharing;
    sharing.window = scene.p.window;
    const std::span decoding = std::span(tiles).subspan(promptTiles);
    shares.resize(decoding.size() + size_t(sharing.shares));
    shares.resize(size_t(assignSplits(decoding, sharing, shares.data())));
    for (const AttentionSplit &share : shares) {
      int64_t runs = share.position / kChunkPositions + 1;
      if (scene.p.window)
        runs = std::min(runs, (scene.p.window + kChunkPositions - 1) / kChunkPositions + 1);
      if (share.of > 1)
        slots = std::max(slots, share.slot + runs);
    }
  }
};

using Rows = std::vector<std::vector<float>>;

/// Runs a step and returns its outputs by token.
Rows run(const HostKernels &kernels, const std::string &name, Scene &scene, const Step &step,
         const Way &way = {}, std::vector<emulator::Finding> *findings = nullptr) {
  const AttentionProblem &p = scene.p;
  bool bf16 = std::string(p.output) == "bf16";
  int64_t width = p.heads * p.headDim, stride = roundUp(width, bf16 ? 64 : 32);
  Emulated gpu(kernels, way.seed);
  std::vector<float> q;
  for (auto [sequence, position] : step.tokens) {
    std::vector<float> row = queryOf(p, sequence, position);
    q.insert(q.end(), row.begin(), row.end());
  }
  const Dealt dealt(scene, step, way);
  BatchView batch{};
  batch.tokens = step.tokens.size(), batch.tiles = dealt.tiles.size();
  batch.attentionTiles = gpu.put(dealt.tiles), batch.blockTable = gpu.put(scene.blockTable),
  batch.blockTableStride = scene.stride;
  batch.promptTiles = dealt.promptTiles, batch.splitCount = dealt.shares.size();
  if (!dealt.shares.empty())
    batch.splits = gpu.put(dealt.shares);
  auto output = [&] {
    size_t count = step.tokens.size() * stride;
    return bf16 ? static_cast<void *>(gpu.make<uint16_t>(count)) : gpu.make<float>(count);
  };
  void *y = output();
  std::vector<const void *> operands = {gpu.put(q), gpu.put(poolOf(scene, step)), y};
  if (p.sinks)
    operands.push_back(gpu.put(scene.sinks(), "sinks"));
  if (int64_t bytes = Kernels::workspace(name, dealt.slots)) {
    std::vector<uint8_t> memory(bytes, 0xff); // NaN except for the counters
    std::fill_n(memory.begin(), Kernels::kCounterBytes, 0);
    operands.push_back(gpu.put(memory, "workspace", false));
    gpu.holds(operands.back(), replay::Element::F32, /*from=*/4096); // m, l and o
  }
  if (findings) {
    *findings = gpu.findingsOf(name + "_decode", operands, batch);
    return {};
  }
  auto launch = [&] { // both may run at once
    if (batch.promptTiles)
      gpu.launch(name + "_prefill", operands, batch, /*wait=*/false, way.idle);
    if (batch.splitCount)
      gpu.launch(name + "_decode", operands, batch, /*wait=*/false, way.idle);
    gpu.device->synchronize();
  };
  launch();
  if (dealt.slots) { // run again: the counters must be back at 0
    operands[2] = y = output();
    launch();
  }
  Rows rows;
  for (size_t t = 0; t < step.tokens.size(); ++t) {
    std::vector<float> row;
    if (bf16)
      for (uint16_t bits : gpu.get(static_cast<uint16_t *>(y) + t * stride, stride))
        row.push_back(fromBf16(bits));
    else
      row = gpu.get(static_cast<float *>(y) + t * stride, stride);
    for (int64_t i = width; i < stride; ++i)
      EXPECT_EQ(row[i], 0.0f) << name << " pads with zeros";
    rows.push_back(row);
  }
  return rows;
}

/// Checks all heads of some tokens, or one head, against the reference.
void expectRight(Scene &scene, const Step &step, const Rows &rows, int64_t heads,
                 const std::string &name, size_t every = 1) {
  for (size_t t = 0; t < step.tokens.size(); t += every) {
    auto [sequence, position] = step.tokens[t];
    std::vector<float> q = queryOf(scene.p, sequence, position);
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<double> want =
          scene.reference(sequence, position, h, q.data() + h * scene.p.headDim);
      for (int64_t d = 0; d < scene.p.headDim; ++d)
        ASSERT_NEAR(rows[t][h * scene.p.headDim + d], want[d], 0.008)
            << name << " length " << position + 1 << " head " << h << " dimension " << d;
    }
  }
}

TEST(CudaAttention, DecodeAndPrefill) {
  for (bool checked : {true, false}) {
    const HostKernels &kernels = Kernels::build(checked);
    ASSERT_TRUE(bool(kernels));
    for (size_t i = 0; i < kProblems.size(); ++i) {
      const AttentionProblem &p = kProblems[i];
      std::string name = nameOf(i);
      Scene scene(p, checked ? std::vector<int64_t>{1, 33, 129}
                             : std::vector<int64_t>{1, 31, 32, 33, 64, 65, 130, 600});
      Step alone = stepOf(scene, 1, 1);
      Rows decoded = run(kernels, name, scene, alone);
      expectRight(scene, alone, decoded, p.heads, name);
      // The same tokens at the end of chunks give the same bits in the prompts' kernel. (Tiles of
      // 16, 5 and 1 tokens.)
      for (int64_t chunk : {1, 21}) {
        Step together = stepOf(scene, chunk, 16);
        Rows prefilled =
            run(kernels, name, scene, together, {.seed = 2, .tiles = Tiles::AllAsPrompts});
        for (size_t t = 0; t < together.tokens.size(); ++t)
          for (size_t u = 0; u < alone.tokens.size(); ++u)
            if (together.tokens[t] == alone.tokens[u])
              ASSERT_EQ(prefilled[t], decoded[u])
                  << name << " chunk " << chunk << " sequence " << together.tokens[t].first;
        if (chunk == 21 && !checked) // rows within the chunk
          expectRight(scene, together, prefilled, 1, name, 5);
      }
    }
  }
}

/// Several blocks share a context, either few or many. The cases have ragged lengths, more KV chunks than blocks, more
/// blocks than KV chunks, a window that begins inside a chunk, more rows than a warp takes, and idle blocks.
TEST(CudaAttention, SharedByBlocks) {
  struct {
    size_t problem;
    std::vector<int64_t> lengths, checked;
  } const scenes[] = {
      {0, {3000, 1, 512, 513, 2049, 256, 257, 900, 40, 700}, {1100, 65}},
      {3, {2100, 1024, 90}, {1300}},
      {6, {1500, 700}, {600}},
      {7, {1100, 300}, {515}},
      {8, {2000, 300}, {}},
      {10, {2100, 1, 513, 300}, {1100, 65}},
      {11, {1500, 700}, {600}},
      {12, {2100, 300}, {}},
  };
  for (bool checked : {true, false}) {
    const HostKernels &kernels = Kernels::build(checked);
    ASSERT_TRUE(bool(kernels));
    for (const auto &[problem, fast, few] : scenes) {
      const std::vector<int64_t> &lengths = checked ? few : fast;
      std::string name = nameOf(problem);
      ASSERT_TRUE(Kernels::workspace(name, 1));
      if (lengths.empty())
        continue;
      Scene scene(kProblems[problem], lengths);
      Step alone = stepOf(scene, 1, 1);
      Rows decoded = run(kernels, name, scene, alone);
      expectRight(scene, alone, decoded, 1, name);
      for (auto [seed, shares, idle] : {std::tuple{1u, 256, 0u},
                                        {2u, 64, 9u},
                                        {3u, 2, 0u},
                                        {4u, 3, 1u},
                                        {5u, 7, 0u},
                                        {6u, 1, 3u}})
        ASSERT_EQ(run(kernels, name, scene, alone,
                      {.seed = seed, .sharing = {shares, 4096}, .idle = idle}),
                  decoded)
            << name << " seed " << seed << (checked ? " checked, " : ", ") << shares << " shares";
    }
  }
}

/// Some sequences decode while others begin or continue their prompts: two launches, neither of
/// which is affected by the other's tokens. The last token of a chunk may be a separate tile.
TEST(CudaAttention, StepsOfBothKinds) {
  for (bool checked : {true, false}) {
    const HostKernels &kernels = Kernels::build(checked);
    ASSERT_TRUE(bool(kernels));
    for (size_t problem : {size_t(0), size_t(3), size_t(6), size_t(7), size_t(10)}) {
      const std::string name = nameOf(problem);
      Scene scene(kProblems[problem], checked ? std::vector<int64_t>{300, 18, 600, 40}
                                              : std::vector<int64_t>{1100, 18, 2500, 40, 1, 700});
      Step alone = stepOf(scene, 1, 1), chunks = stepOf(scene, 17, 16), mixed;
      for (size_t s = 0; s < scene.lengths.size(); ++s) {
        const Step &from = s % 2 ? chunks : alone;
        for (const AttentionTile &tile : from.tiles)
          if (tile.sequence == int32_t(s)) {
            mixed.tiles.push_back(tile);
            mixed.tiles.back().firstToken = int32_t(mixed.tokens.size());
            for (int32_t i = 0; i < tile.tokens; ++i)
              mixed.tokens.push_back({s, tile.firstPosition + i});
          }
      }
      const Way shared{.seed = 2, .sharing = {16, 4096}, .idle = 2};
      const Dealt dealt(scene, mixed, shared);
      ASSERT_GT(dealt.promptTiles, 0u);
      ASSERT_GT(dealt.shares.size(), dealt.tiles.size() - dealt.promptTiles);
      EXPECT_EQ(run(kernels, name, scene, mixed, shared),
                run(kernels, name, scene, mixed, {.tiles = Tiles::AllAsPrompts}))
          << name << (checked ? " checked" : "");
    }
  }
}

/// With more KV chunks than slots, one block computes each tile that finds no slot.
TEST(CudaAttention, SharedBeyondTheSlots) {
  const HostKernels &kernels = Kernels::build(false);
  ASSERT_TRUE(bool(kernels));
  Scene scene(kProblems[5], {140'000, 130'000, 500});
  Step alone = stepOf(scene, 1, 1);
  const Way way{.sharing = {64, 1000}};
  EXPECT_EQ(Dealt(scene, alone, way).slots, 547) << "the first one's";
  EXPECT_EQ(run(kernels, "a5", scene, alone, way), run(kernels, "a5", scene, alone));
}

/// Counts the work of the two launches' blocks, per KV head, while they run.
struct Counted {
  uint32_t blocks = 0, waiting = 0;
  uint32_t longestBlock = 0, longestWarp = 0; ///< in KV tiles

  Counted(Scene &scene, const Step &step, Way way) {
    const HostKernels &kernels = Kernels::counted();
    auto &waits = *kernels.data<uint32_t[4096]>("waits");
    auto &products = *kernels.data<uint32_t[4096][4]>("products");
    std::memset(waits, 0, sizeof waits), std::memset(products, 0, sizeof products);
    way.seed = 3; // this kernel never runs on a GPU
    run(kernels, "counted", scene, step, way);
    const Dealt dealt(scene, step, way);
    const uint32_t times = dealt.slots ? 2 : 1; // run() launches split tiles twice
    for (size_t block = 0; block < 4096; ++block) {
      uint32_t sum = 0;
      for (uint32_t warp : products[block]) {
        sum += warp / times / kProductsOfTile;
        longestWarp = std::max(longestWarp, warp / times / kProductsOfTile);
      }
      longestBlock = std::max(longestBlock, sum);
      waiting += waits[block];
    }
    blocks = uint32_t(dealt.promptTiles + dealt.shares.size());
  }
};

void print(const char *what, const Counted &before, const Counted &after) {
  std::printf("%s: the longest block walks %u spans, before %u (%.0f times fewer); a warp %u, "
              "before %u; %u blocks a KV head, before %u\n",
              what, after.longestBlock, before.longestBlock,
              double(before.longestBlock) / after.longestBlock, after.longestWarp,
              before.longestWarp, after.blocks, before.blocks);
}

/// The values that the compiler chooses for 8 KV heads.
constexpr AttentionSplitting kOfEightHeads{64, 4096};

/// `before` is the scheduling in which one block computed a whole context, of any length, when there were more than
/// eight tokens.
TEST(CudaAttention, OneLongContextAmongMany) {
  Scene scene(kProblems[5], {1000, 1000, 1000, 1000, 65'536, 1000, 1000, 1000, 1000});
  Step alone = stepOf(scene, 1, 1);
  const Counted before(scene, alone, {}), after(scene, alone, {.sharing = kOfEightHeads});
  print("one of 65,536 positions among 9", before, after);
  EXPECT_EQ(before.longestBlock, 1024u);
  EXPECT_LE(after.longestBlock, 4 * 5u) << "ceil(288 runs / 64)";
  EXPECT_GE(before.longestBlock, 8 * after.longestBlock);
}

/// `before` is the scheduling in which the largest tile decided, so one warp walked the context of each decoding
/// sequence.
TEST(CudaAttention, DecodesBesideAPrompt) {
  Scene scene(kProblems[5], {8192, 8192, 8192, 8192, 64, 8192, 8192, 8192, 8192});
  Step step;
  for (size_t s = 0; s < scene.lengths.size(); ++s) {
    const int32_t chunk = scene.lengths[s] == 64 ? 16 : 1, tiles = chunk == 16 ? 4 : 1;
    for (int32_t i = 0; i < tiles; ++i) {
      const int32_t first = int32_t(scene.lengths[s]) - chunk * (tiles - i);
      step.tiles.push_back({int32_t(step.tokens.size()), chunk, int32_t(s), first});
      for (int32_t t = 0; t < chunk; ++t)
        step.tokens.push_back({s, first + t});
    }
  }
  const Counted before(scene, step, {.tiles = Tiles::AllAsPrompts}),
      after(scene, step, {.sharing = kOfEightHeads});
  print("8 decodes at 8,192 beside a prompt of 64", before, after);
  EXPECT_EQ(before.longestWarp, 128u);
  EXPECT_LE(after.longestBlock, 4 * 4u) << "ceil(256 runs / 64)";
  EXPECT_GE(before.longestBlock, 8 * after.longestBlock);
  EXPECT_GE(before.longestWarp, 8 * after.longestWarp);
}

/// A graph has blocks for the longest contexts. Idle blocks do not wait for the previous launch. (The earlier
/// scheduling had 32 blocks per KV head for each of 8 tokens, and all of them waited.)
TEST(CudaAttention, IdleBlocksDoNotWait) {
  Scene scene(kProblems[5], {30, 30, 30, 30, 30, 30, 30, 30});
  Way way{.sharing = kOfEightHeads, .idle = 64};
  const Counted counted(scene, stepOf(scene, 1, 1), way);
  std::printf("8 short contexts: of %u idle blocks a KV head %u wait, before 248 of 248\n",
              way.idle, counted.waiting - counted.blocks);
  EXPECT_EQ(counted.blocks, 8u);
  EXPECT_EQ(counted.waiting, 8u);
}

/// A block must release its results to the block that merges them. The emulator reports a relaxed atomic on every
/// schedule.
TEST(CudaAttention, PlantedMissingOrder) {
  const HostKernels &kernels = Kernels::build(true);
  ASSERT_TRUE(bool(kernels));
  Scene scene(kProblems[6], {1030});
  for (uint32_t seed : {1u, 2u, 3u, 4u}) {
    std::vector<emulator::Finding> findings;
    run(kernels, "planted", scene, stepOf(scene, 1, 1), {.seed = seed, .sharing = {64, 4096}},
        &findings);
    EXPECT_TRUE(std::ranges::any_of(findings,
                                    [](const emulator::Finding &finding) {
                                      return finding.format().find("race") != std::string::npos;
                                    }))
        << "seed " << seed << ": " << (findings.empty() ? "nothing found" : findings[0].format());
  }
}

/// Attention prefetches KV before pdl_wait, but not the KV that the previous launch wrote.
TEST(CudaAttention, AfterTheLaunchThatAppends) {
  const HostKernels &kernels = Kernels::build(true);
  ASSERT_TRUE(bool(kernels));
  Scene scene(kProblems[6], {257, 513, 300, 514});
  Step alone = stepOf(scene, 1, 1);
  Emulated gpu(kernels, 1);
  std::vector<int32_t> positions, sequenceOf;
  for (auto [sequence, position] : alone.tokens)
    positions.push_back(int32_t(position)), sequenceOf.push_back(int32_t(sequence));
  BatchView batch{};
  batch.tokens = batch.tiles = batch.sequences = int64_t(positions.size());
  batch.positions = gpu.put(positions), batch.sequenceOf = gpu.put(sequenceOf);
  batch.attentionTiles = gpu.put(alone.tiles), batch.blockTable = gpu.put(scene.blockTable);
  batch.blockTableStride = scene.stride;
  std::vector<float> q = f32Rows(batch.tokens, 320, 1), kv = f32Rows(batch.tokens, 16, 2);
  float *qs = gpu.put(q, "q", false), *y = gpu.make<float>(q.size()), *kvs = gpu.put(kv);
  uint8_t *pool = gpu.put(scene.pool, "pool", false);
  for (int64_t shares : {64, 0}) {
    const Dealt dealt(scene, alone, {.sharing = {shares, 4096}});
    auto *workspace =
        gpu.put(std::vector<uint8_t>(Kernels::workspace("a6", dealt.slots)), "workspace", false);
    gpu.holds(workspace, replay::Element::F32, /*from=*/4096);
    batch.splits = gpu.put(dealt.shares), batch.splitCount = int64_t(dealt.shares.size());
    gpu.launch("append", {qs, kvs, kvs, pool}, batch, /*wait=*/false);
    gpu.launch("a6_decode", {qs, pool, y, workspace}, batch);
  }
}

} // namespace
