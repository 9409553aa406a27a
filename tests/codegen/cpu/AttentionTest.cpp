//===- AttentionTest.cpp - Paged attention: accuracy and batch invariance -----===//
#include "PanelReference.h"

#include "runtime/formats/KvInt4.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

enum class Element { F32, BF16, F16, Int4 };

struct Shape {
  int64_t heads, kvHeads, headDim;
  Element element = Element::BF16;
  int64_t window = 0;
  float softcap = 0;
  bool quantised = false;
  bool sinks = false;

  int64_t width() const { return heads * headDim; }
  int64_t rowBytes() const { return quantised ? q8Row(width()).bytes : f32RowBytes(width()); }
  int64_t qRowBytes() const { return f32RowBytes(width()); }
  int64_t elementBytes() const { return element == Element::F32 ? 4 : 2; }
  int64_t pageBytes() const {
    if (element == Element::Int4) // 4 bits per element and an f16 per 32
      return roundUp(2 * kvHeads * kPageTokens * (headDim / 2 + headDim / 16), 64);
    return roundUp(2 * kvHeads * headDim * kPageTokens * elementBytes(), 64);
  }
  float scale() const { return float(1 / std::sqrt(double(headDim))); }
  int64_t firstSeen(int64_t position) const {
    return window ? std::max<int64_t>(0, position - window + 1) : 0;
  }

  std::string name() const {
    return "heads " + std::to_string(heads) + "/" + std::to_string(kvHeads) + " head_dim " +
           std::to_string(headDim) + " element " + std::to_string(int(element)) + " window " +
           std::to_string(window) + (sinks ? " sinks" : "");
  }
  std::string kernel() const {
    const char *elements[] = {"f32", "bf16", "f16", "int4"};
    std::string q = "!kernel.activation<" + std::to_string(width()) + ", f32>";
    std::string y =
        "!kernel.activation<" + std::to_string(width()) + (quantised ? ", q8>" : ", f32>");
    std::string kv = "!kernel.kv_pool<" + std::to_string(kvHeads) + ", " + std::to_string(headDim) +
                     ", " + elements[int(element)] + ">";
    char numbers[200];
    std::snprintf(numbers, sizeof numbers,
                  "heads = %ld : i64, scale = %.9e : f32, window = %ld : i64, softcap = %.9e : f32",
                  long(heads), scale(), long(window), softcap);
    const std::string sink = "!lm.weight<" + std::to_string(heads) + ", f32>";
    return "kernel.func @k(%q: " + q + ", %kv: " + kv + ", %y: " + y +
           (sinks ? ", %s: " + sink : "") + ") {\n kernel.attention %q, %kv : " + q + ", " + kv +
           " outs(%y : " + y + ") " + (sinks ? "sinks %s : " + sink : "") + " {" + numbers +
           "}\n kernel.return\n }";
  }
};

/// Keys and values of the sequences, as numbers that the cache's type holds exactly.
class Cache {
public:
  Cache(const Shape &shape, std::vector<int64_t> lengths, unsigned seed)
      : shape(shape), lengths(std::move(lengths)) {
    std::mt19937 random(seed);
    int64_t pages = 0;
    for (int64_t length : this->lengths) {
      stride = std::max(stride, (length + 31) / 32);
      pages += (length + 31) / 32;
      numbers.emplace_back(length * shape.kvHeads * shape.headDim * 2);
      for (float &v : numbers.back()) {
        v = float(random() % 257) / 64 - 2; // exact in bf16 and f16
        if (random() % 8 == 0)
          v *= 4;
      }
    }
    if (shape.element == Element::Int4)
      chooseCodes(random);
    std::vector<int32_t> order(pages);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    blockTable.assign(this->lengths.size() * stride, -1);
    for (size_t s = 0, next = 0; s < this->lengths.size(); ++s)
      for (int64_t page = 0; page * 32 < this->lengths[s]; ++page)
        blockTable[s * stride + page] = order[next++];
    pageCount = pages;
  }

  float key(int64_t s, int64_t position, int64_t head, int64_t d) const {
    return at(s, position, head, d, 0);
  }
  float value(int64_t s, int64_t position, int64_t head, int64_t d) const {
    return at(s, position, head, d, 1);
  }

  /// Returns the pool for a step that begins at position begun[s] of sequence s and has written[s] positions
  /// when it ends. Everything that no token of the step may see is NaN, even in pages that the sequence
  /// holds.
  Buffer<char> pool(const std::vector<int64_t> &written, const std::vector<int64_t> &begun) const {
    Buffer<char> bytes(pageCount * shape.pageBytes());
    std::memset(bytes.data(), 0xff, bytes.bytes());
    for (size_t s = 0; s < lengths.size(); ++s)
      for (int64_t p = shape.firstSeen(begun[s]); p < written[s]; ++p)
        for (int64_t h = 0; h < shape.kvHeads; ++h)
          for (int64_t d = 0; d < shape.headDim; ++d) {
            if (shape.element == Element::Int4) {
              putCodes(bytes.data() + blockTable[s * stride + p / 32] * shape.pageBytes(), s, p, h,
                       d);
              continue;
            }
            char *page = bytes.data() + blockTable[s * stride + p / 32] * shape.pageBytes();
            put(page + ((h * shape.headDim + d) * 32 + p % 32) * shape.elementBytes(),
                key(s, p, h, d));
            int64_t inV = ((shape.kvHeads + h) * 32 + p % 32) * shape.headDim + d;
            put(page + inV * shape.elementBytes(), value(s, p, h, d));
          }
    return bytes;
  }

  Shape shape;
  std::vector<int64_t> lengths;
  std::vector<int32_t> blockTable;
  int64_t stride = 0, pageCount = 0;

private:
  float at(int64_t s, int64_t position, int64_t head, int64_t d, int64_t which) const {
    return numbers[s][((position * 2 + which) * shape.kvHeads + head) * shape.headDim + d];
  }
  /// Chooses int4 codes (KvInt4.h) whose values are exact. The cache stores K transformed. Transforming the stored
  /// values gives K itself.
  void chooseCodes(std::mt19937 &random) {
    const int64_t n = shape.headDim;
    for (std::vector<float> &of : numbers) {
      codes.emplace_back();
      for (size_t at = 0; at < of.size(); at += size_t(n)) {
        for (int64_t d = 0; d < n; ++d) {
          codes.back().push_back(int(random() % 15) - 7);
          of[at + d] = float(codes.back().back()) * scaleOf(d);
        }
        const bool ofK = at / size_t(n) / size_t(shape.kvHeads) % 2 == 0;
        if (ofK)
          transformHadamard(&of[at], n);
      }
    }
  }
  static float scaleOf(int64_t d) { return std::ldexp(1.0f, -5 - int(d / kKvInt4Group % 3)); }
  void putCodes(char *page, int64_t s, int64_t p, int64_t head, int64_t d) const {
    const int64_t n = shape.headDim, slot = p % 32, group = d / 32, i = d % 16,
                  heads = shape.kvHeads;
    char *scales = page + heads * n * 32;
    const _Float16 scale = _Float16(scaleOf(d));
    for (int64_t which = 0; which < 2; ++which) {
      const int code = codes[s][((p * 2 + which) * heads + head) * n + d] + 8;
      char *byte = page + (which == 0 ? ((head * (n / 32) + group) * 16 + i) * 32 + slot
                                      : ((heads + head) * 32 + slot) * (n / 2) + group * 16 + i);
      *byte = d % 32 < 16 ? char(code) : char(*byte | code << 4); // the low nibble comes first
      const int64_t place = which == 0 ? (head * (n / 32) + group) * 32 + slot
                                       : ((heads + head) * 32 + slot) * (n / 32) + group;
      std::memcpy(scales + place * 2, &scale, 2);
    }
  }
  void put(char *to, float v) const {
    _Float16 half = _Float16(v);
    if (shape.element == Element::F32)
      std::memcpy(to, &v, 4);
    else if (shape.element == Element::F16)
      std::memcpy(to, &half, 2);
    else
      std::memcpy(to, reinterpret_cast<char *>(&v) + 2, 2);
  }

  std::vector<std::vector<float>> numbers;
  std::vector<std::vector<int>> codes; ///< int4 codes, in the order of the numbers
};

/// A range of tokens of one sequence in a step.
struct Span {
  int64_t sequence, from, to;
};

/// Runs one step over the spans. Rows of q come from `queries[s]`; results go to `results[s]`.
void runStep(const LoadedKernels &code, const Cache &cache, const std::vector<Span> &spans,
             const std::vector<Buffer<float>> &queries, std::vector<Buffer<char>> &results) {
  const Shape &shape = cache.shape;
  int64_t tokens = 0, qRow = shape.qRowBytes(), yRow = shape.rowBytes();
  std::vector<AttentionTile> tiles;
  std::vector<int64_t> written(cache.lengths.size(), 0), begun = written;
  for (const Span &span : spans) {
    for (int64_t p = span.from; p < span.to; p += kAttentionTile)
      tiles.push_back({int32_t(tokens + p - span.from),
                       int32_t(std::min(kAttentionTile, span.to - p)), int32_t(span.sequence),
                       int32_t(p)});
    tokens += span.to - span.from;
    begun[span.sequence] = span.from, written[span.sequence] = span.to;
  }
  Buffer<char> q(tokens * qRow), y(tokens * yRow), pool = cache.pool(written, begun);
  std::memset(y.data(), 0x7f, y.bytes());
  int64_t row = 0;
  for (const Span &span : spans) {
    std::memcpy(q.data() + row * qRow,
                reinterpret_cast<const char *>(queries[span.sequence].data()) + span.from * qRow,
                (span.to - span.from) * qRow);
    row += span.to - span.from;
  }
  BatchView batch{};
  batch.tokens = tokens, batch.tiles = tiles.size(), batch.attentionTiles = tiles.data();
  batch.blockTable = cache.blockTable.data(), batch.blockTableStride = cache.stride;
  int64_t items = int64_t(tiles.size()) * shape.kvHeads;
  Buffer<float> sinks = sinksOf(shape.heads);
  std::vector<void *> args{q.data(), pool.data(), y.data()};
  if (shape.sinks)
    args.push_back(sinks.data());
  for (int64_t thread = 0; thread < 2; ++thread)
    code.call("k", args, batch, thread, items, 2);
  EXPECT_TRUE(y.intact());
  row = 0;
  for (const Span &span : spans) {
    std::memcpy(results[span.sequence].data() + span.from * yRow, y.data() + row * yRow,
                (span.to - span.from) * yRow);
    row += span.to - span.from;
  }
}

std::vector<Buffer<char>> emptyResults(const Cache &cache) {
  std::vector<Buffer<char>> results;
  for (int64_t length : cache.lengths)
    results.emplace_back(length * cache.shape.rowBytes());
  return results;
}

/// Computes the definition of attention in f64.
std::vector<double> reference(const Cache &cache, const float *q, int64_t sequence,
                              int64_t position, int64_t head) {
  const Shape &shape = cache.shape;
  int64_t kvHead = head / (shape.heads / shape.kvHeads);
  int64_t first = shape.firstSeen(position);
  std::vector<double> scores, y(shape.headDim, 0.0);
  for (int64_t p = first; p <= position; ++p) {
    double dot = 0;
    for (int64_t d = 0; d < shape.headDim; ++d)
      dot += double(q[head * shape.headDim + d]) * cache.key(sequence, p, kvHead, d);
    dot *= shape.scale();
    scores.push_back(shape.softcap ? shape.softcap * std::tanh(dot / shape.softcap) : dot);
  }
  if (shape.sinks)
    scores.push_back(sinkOf(head)); // the sink has no position and no value
  double most = *std::max_element(scores.begin(), scores.end()), sum = 0;
  for (double &s : scores)
    sum += s = std::exp(s - most);
  for (size_t i = 0; i < scores.size() - shape.sinks; ++i)
    for (int64_t d = 0; d < shape.headDim; ++d)
      y[d] += scores[i] / sum * cache.value(sequence, first + i, kvHead, d);
  return y;
}

void checkNumbers(const Cache &cache, const std::vector<Buffer<float>> &queries,
                  const std::vector<Buffer<char>> &results, std::vector<int64_t> positions) {
  const Shape &shape = cache.shape;
  int64_t width = f32RowBytes(shape.width()) / 4;
  for (size_t s = 0; s < cache.lengths.size(); ++s)
    for (int64_t position : positions) {
      if (position >= cache.lengths[s])
        continue;
      const float *y = reinterpret_cast<const float *>(results[s].data()) + position * width;
      for (int64_t head = 0; head < shape.heads; ++head) {
        std::vector<double> want =
            reference(cache, queries[s].data() + position * width, s, position, head);
        for (int64_t d = 0; d < shape.headDim; ++d)
          ASSERT_NEAR(y[head * shape.headDim + d], want[d], 1e-5 * 4) // values are at most 8
              << shape.name() << " position " << position << " head " << head << " at " << d;
      }
      for (int64_t i = shape.width(); i < width; ++i)
        ASSERT_EQ(y[i], 0.0f) << "padding";
    }
}

std::vector<Buffer<float>> randomQueries(const Cache &cache) {
  std::vector<Buffer<float>> queries;
  for (size_t s = 0; s < cache.lengths.size(); ++s)
    queries.push_back(randomRows(cache.lengths[s], cache.shape.width(), 11 + s, 2));
  return queries;
}

class Attention : public testing::TestWithParam<Shape> {};

/// Whole prompts and prompts in chunks of 1, 7 and 64, by themselves and batched, give the same
/// bits at every level.
TEST_P(Attention, BitsDoNotDependOnTheBatch) {
  Shape shape = GetParam();
  Cache cache(shape, {77, 200, 16}, 3);
  std::vector<Buffer<float>> queries = randomQueries(cache);
  KernelModule module(shape.kernel());
  std::vector<Buffer<char>> first;
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    std::vector<Buffer<char>> whole = emptyResults(cache);
    for (int64_t s = 0; s < 3; ++s)
      runStep(code, cache, {{s, 0, cache.lengths[s]}}, queries, whole);
    if (!shape.quantised)
      checkNumbers(cache, queries, whole, {0, 1, 15, 31, 32, 63, 64, 76, 100, 199});
    for (int64_t chunk : {1, 7, 64}) {
      std::vector<Buffer<char>> chunked = emptyResults(cache);
      for (int64_t from = 0; from < 200; from += chunk) { // all sequences in one batch
        std::vector<Span> spans;
        for (int64_t s : {1, 0, 2})
          if (from < cache.lengths[s])
            spans.push_back({s, from, std::min(from + chunk, cache.lengths[s])});
        runStep(code, cache, spans, queries, chunked);
      }
      for (size_t s = 0; s < 3; ++s)
        EXPECT_TRUE(whole[s] == chunked[s])
            << isa->name << " " << shape.name() << " chunk " << chunk << " sequence " << s;
    }
    for (size_t s = 0; s < first.size(); ++s)
      EXPECT_TRUE(whole[s] == first[s]) << shape.name() << ": levels differ, sequence " << s;
    first = std::move(whole);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    testing::Values(Shape{9, 3, 64}, Shape{9, 3, 64, Element::BF16, 0, 0, true},
                    Shape{9, 3, 64, Element::F32}, Shape{8, 2, 64, Element::F16, 0, 0, true},
                    Shape{4, 1, 256, Element::BF16, 40},
                    Shape{4, 1, 256, Element::F32, 33, 0, true}, Shape{4, 2, 20, Element::F32},
                    Shape{5, 1, 20, Element::BF16, 7}, Shape{3, 3, 72, Element::F16, 0, 30},
                    Shape{2, 2, 80, Element::BF16, 0, 50}, Shape{6, 1, 96, Element::BF16},
                    Shape{2, 1, 7, Element::BF16}, Shape{2, 1, 9, Element::F32, 64},
                    Shape{3, 1, 11, Element::F16}, Shape{9, 3, 64, Element::Int4},
                    Shape{4, 1, 256, Element::Int4, 40, 0, true},
                    Shape{2, 2, 96, Element::Int4, 0, 50}, Shape{6, 1, 32, Element::Int4, 64},
                    Shape{8, 2, 64, Element::BF16, 0, 0, false, true},
                    Shape{5, 1, 20, Element::F32, 7, 0, false, true},
                    Shape{6, 1, 32, Element::Int4, 40, 0, false, true}));

/// q8 rows equal the rows of the f32 kernel, quantised.
TEST(AttentionOutput, QuantisesTheFloats) {
  Shape floats{8, 2, 64}, codes = floats;
  codes.quantised = true;
  Cache cache(floats, {40}, 5), same(codes, {40}, 5);
  std::vector<Buffer<float>> queries = randomQueries(cache);
  std::vector<Buffer<char>> y = emptyResults(cache), z = emptyResults(same);
  KernelModule floatModule(floats.kernel()), codeModule(codes.kernel());
  for (const Isa *isa : hostIsas()) {
    runStep(LoadedKernels(floatModule, *isa), cache, {{0, 0, 40}}, queries, y);
    runStep(LoadedKernels(codeModule, *isa), same, {{0, 0, 40}}, queries, z);
    Buffer<float> rows(y[0].bytes() / 4);
    std::memcpy(rows.data(), y[0].data(), y[0].bytes());
    EXPECT_TRUE(z[0] == quantizeRows(rows, 40, floats.width())) << isa->name;
  }
}

TEST(AttentionOutput, FarPositions) {
  for (int64_t window : {0, 512}) {
    Shape shape{2, 1, 64, Element::BF16, window};
    Cache cache(shape, {8003}, 6);
    std::vector<Buffer<float>> queries = randomQueries(cache);
    KernelModule module(shape.kernel());
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      std::vector<Buffer<char>> tail = emptyResults(cache), alone = emptyResults(cache);
      runStep(code, cache, {{0, 7950, 8003}}, queries, tail);
      runStep(code, cache, {{0, 8002, 8003}}, queries, alone);
      checkNumbers(cache, queries, tail, {7950, 7999, 8002});
      int64_t row = 8002 * shape.rowBytes();
      EXPECT_FALSE(std::memcmp(tail[0].data() + row, alone[0].data() + row, shape.rowBytes()));
    }
  }
}

//===----------------------------------------------------------------------===//
// Speed: --gtest_also_run_disabled_tests --gtest_filter=*Speed*
//===----------------------------------------------------------------------===//

void measure(const Shape &shape, int64_t context, int64_t tokens) {
  KernelModule module(shape.kernel());
  Cache cache(shape, {context}, 7);
  Buffer<char> pool = cache.pool({context}, {0});
  Buffer<float> q = randomRows(tokens, shape.width(), 8);
  Buffer<char> y(tokens * shape.rowBytes());
  std::vector<AttentionTile> tiles;
  for (int64_t t = 0; t < tokens; t += kAttentionTile)
    tiles.push_back({int32_t(t), int32_t(std::min(kAttentionTile, tokens - t)), 0,
                     int32_t(context - tokens + t)});
  BatchView batch{};
  batch.tokens = tokens, batch.tiles = tiles.size(), batch.attentionTiles = tiles.data();
  batch.blockTable = cache.blockTable.data(), batch.blockTableStride = cache.stride;
  double pairs = 0; // pairs of a query and a position visible to it
  for (int64_t p = context - tokens; p < context; ++p)
    pairs += p + 1;
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    Buffer<char> scratch(scratchBytes(module));
    void *args[] = {q.data(), pool.data(), y.data()};
    double best = 1e9;
    for (int round = 0; round < 50; ++round) {
      auto start = std::chrono::steady_clock::now();
      code["k"](args, &batch, 0, int64_t(tiles.size()) * shape.kvHeads, 1, scratch.data(), 0);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    double flops = 4 * pairs * shape.width(),
           bytes = 2.0 * context * shape.kvHeads * shape.headDim * shape.elementBytes();
    std::printf("%-7s %s: %ld tokens at context %ld: %8.1f us, %6.1f GFLOPS, %5.1f GB/s of KV\n",
                std::string(isa->name).c_str(), shape.name().c_str(), long(tokens), long(context),
                best * 1e6, flops / best / 1e9, bytes / best / 1e9);
  }
}

TEST(AttentionSpeed, DISABLED_Prefill) {
  for (Element element : {Element::BF16, Element::F32, Element::F16})
    measure({9, 3, 64, element}, 512, 512);
  measure({32, 8, 64}, 8192, 64);
  measure({32, 8, 128}, 2048, 128);
  measure({4, 1, 256}, 512, 512);
}
TEST(AttentionSpeed, DISABLED_Decode) {
  for (Element element : {Element::BF16, Element::F32, Element::F16})
    measure({9, 3, 64, element}, 512, 1);
  measure({9, 3, 64}, 8192, 1);
  measure({32, 8, 64}, 8192, 1);
  measure({32, 8, 64}, 65536, 1);
  measure({4, 1, 256}, 8192, 1);
}

} // namespace
