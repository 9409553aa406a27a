//===- AttentionInt8Test.cpp - Int8 attention: bit-exact and batch-invariant ----===//
//
// The reference follows KvInt8.h and AttentionInt8.h row by row in scalar C++; kernels of all
// levels must match its bits. A second reference in f64 shows that the formula is attention.
//===----------------------------------------------------------------------===//
#include "PanelReference.h"

#include "runtime/formats/KvInt8.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

struct Shape {
  int64_t heads, kvHeads, headDim, window = 0;
  float softcap = 0;
  bool sinks = false;

  int64_t width() const { return heads * headDim; }
  int64_t rowFloats() const { return f32RowBytes(width()) / 4; }
  int64_t pageBytes() const { return 2 * kvHeads * kPageTokens * (headDim + 4); }
  float scale() const { return float(1 / std::sqrt(double(headDim))); }
  int64_t firstSeen(int64_t position) const {
    return window ? std::max<int64_t>(0, position - window + 1) : 0;
  }
  std::string kernel(const char *rowKind = "f32") const {
    std::string q = "!kernel.activation<" + std::to_string(width()) + ", f32>";
    std::string y = "!kernel.activation<" + std::to_string(width()) + ", " + rowKind + ">";
    std::string kv =
        "!kernel.kv_pool<" + std::to_string(kvHeads) + ", " + std::to_string(headDim) + ", int8>";
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
  std::string name() const {
    return "heads " + std::to_string(heads) + "/" + std::to_string(kvHeads) + " head_dim " +
           std::to_string(headDim) + " window " + std::to_string(window);
  }
};

/// The int8 codes and scales of all sequences.
class Cache {
public:
  struct Vector {
    std::vector<int> codes;
    float scale;
  };

  Cache(const Shape &shape, std::vector<int64_t> lengths, unsigned seed)
      : shape(shape), lengths(std::move(lengths)) {
    std::mt19937 random(seed);
    for (int64_t length : this->lengths) {
      stride = std::max(stride, (length + 31) / 32);
      pageCount += (length + 31) / 32;
      vectors.emplace_back();
      for (int64_t i = 0; i < length * shape.kvHeads * 2; ++i) {
        Vector v{std::vector<int>(shape.headDim), 0};
        for (int &code : v.codes)
          code = int(random() % 255) - 127;
        v.scale = std::ldexp(1 + float(random() % 8388608) / 8388608, -8 - int(random() % 3));
        if (random() % 16 == 0) { // like a vector of zeros
          std::ranges::fill(v.codes, 0);
          v.scale = kKvInt8LeastScale;
        }
        vectors.back().push_back(std::move(v));
      }
    }
    std::vector<int32_t> order(pageCount);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    blockTable.assign(this->lengths.size() * stride, -1);
    for (size_t s = 0, next = 0; s < this->lengths.size(); ++s)
      for (int64_t page = 0; page * 32 < this->lengths[s]; ++page)
        blockTable[s * stride + page] = order[next++];
  }

  const Vector &key(int64_t s, int64_t position, int64_t head) const {
    return vectors[s][(position * shape.kvHeads + head) * 2];
  }
  const Vector &value(int64_t s, int64_t position, int64_t head) const {
    return vectors[s][(position * shape.kvHeads + head) * 2 + 1];
  }

  /// Returns the pool for a step that begins at position begun[s] of sequence s and has written[s] positions
  /// when it ends. Everything that no token of the step may see is filled with ones, even in pages that the
  /// sequence holds; the scales there are NaN.
  Buffer<char> pool(const std::vector<int64_t> &written, const std::vector<int64_t> &begun) const {
    Buffer<char> bytes(pageCount * shape.pageBytes());
    std::memset(bytes.data(), 0xff, bytes.bytes());
    int64_t headBytes = shape.headDim * 32, codesOfV = shape.kvHeads * headBytes;
    for (size_t s = 0; s < lengths.size(); ++s)
      for (int64_t p = shape.firstSeen(begun[s]); p < written[s]; ++p)
        for (int64_t h = 0; h < shape.kvHeads; ++h) {
          char *page = bytes.data() + blockTable[s * stride + p / 32] * shape.pageBytes();
          const Vector &k = key(s, p, h), &v = value(s, p, h);
          int64_t slot = p % 32;
          for (int64_t d = 0; d < shape.headDim; ++d) {
            page[h * headBytes + (d / 4 * 32 + slot) * 4 + d % 4] = char(k.codes[d] + 128);
            page[codesOfV + h * headBytes + (slot / 4 * shape.headDim + d) * 4 + slot % 4] =
                char(v.codes[d]);
          }
          std::memcpy(page + 2 * codesOfV + (h * 32 + slot) * 4, &k.scale, 4);
          std::memcpy(page + 2 * codesOfV + ((shape.kvHeads + h) * 32 + slot) * 4, &v.scale, 4);
        }
    return bytes;
  }

  Shape shape;
  std::vector<int64_t> lengths;
  std::vector<int32_t> blockTable;
  int64_t stride = 0, pageCount = 0;

private:
  std::vector<std::vector<Vector>> vectors;
};

//===----------------------------------------------------------------------===//
// The references
//===----------------------------------------------------------------------===//

uint32_t bitsOf(float v) { return readAs<uint32_t>(reinterpret_cast<const char *>(&v)); }
float floatOf(uint32_t bits) { return readAs<float>(reinterpret_cast<const char *>(&bits)); }

std::vector<float> transformed(const float *x, int64_t n) {
  std::vector<float> y(x, x + n);
  transformHadamard(y.data(), n);
  return y;
}

float logarithm(float scale) {
  float w = floatOf((bitsOf(scale) & 0x7fffff) | 0x3f800000), sum = 0.04300496f;
  for (float c : {-0.40251339f, 1.58947429f, -3.48987855f, 5.04785541f, -2.78792621f})
    sum = std::fma(sum, w, c);
  return (float(int(bitsOf(scale) >> 23) - 127) + sum) * 8388608;
}

float weight(float y, float lowered) {
  float difference = y - lowered;
  int64_t fixed = difference < -1e9f ? std::numeric_limits<int32_t>::min()
                                     : int64_t(std::nearbyint(difference));
  fixed = std::max<int64_t>(fixed, -126 * 8388608);
  float w = floatOf((uint32_t(fixed) & 0x7fffff) | 0x3f800000), sum = 0.07802452f;
  for (float c : {-0.00800641f, 0.4777728f, 0.45213431f})
    sum = std::fma(sum, w, c);
  return floatOf(bitsOf(sum) + (uint32_t(fixed) & 0xff800000));
}

float exp2OfNonPositive(float x) {
  if (x < -126)
    return 0;
  float shifted = x + 12582912.0f, r = x - (shifted - 12582912.0f), g = 1.535318152e-4f;
  for (float c :
       {1.339897281e-3f, 9.618438780e-3f, 5.550332367e-2f, 2.402264774e-1f, 6.931471825e-1f})
    g = std::fma(g, r, c);
  return floatOf(bitsOf(std::fma(r, g, 1.0f)) + (bitsOf(shifted) << 23));
}

/// Computes one row as AttentionInt8.h specifies.
std::vector<float> reference(const Cache &cache, const float *q, int64_t s, int64_t position,
                             int64_t head) {
  const Shape &shape = cache.shape;
  int64_t n = shape.headDim, kvHead = head / (shape.heads / shape.kvHeads);
  std::vector<float> x = transformed(q + head * n, n), o(n, 0.0f);
  float amax = 0, l[16] = {}, m = -1e30f;
  if (shape.sinks)
    l[0] = 255, m = sinkOf(head) * float(1.44269504088896340736 * 8388608);
  for (float v : x)
    amax = std::max(amax, std::fabs(v));
  float inverse = 127 / amax;
  std::vector<int> codes(n);
  for (int64_t d = 0; d < n; ++d)
    codes[d] = std::isinf(inverse) ? 0 : int(std::nearbyint(x[d] * inverse));
  float rowScale =
      amax / 127 *
      float(double(shape.scale()) / double(kvInt8Block(n)) * 1.44269504088896340736 * 8388608);
  for (int64_t block = shape.firstSeen(position) / 128; block <= position / 128; ++block) {
    int64_t from = std::max(block * 128, shape.firstSeen(position)),
            to = std::min(block * 128 + 127, position);
    std::vector<float> y;
    float most = -1e30f, sums[16] = {};
    for (int64_t p = from; p <= to; ++p) {
      const Cache::Vector &k = cache.key(s, p, kvHead);
      int dot = std::inner_product(codes.begin(), codes.end(), k.codes.begin(), 0);
      y.push_back(
          std::fma(float(dot) * k.scale, rowScale, logarithm(cache.value(s, p, kvHead).scale)));
      most = std::max(most, y.back());
    }
    float next = std::max(most, m), a = exp2OfNonPositive((m - next) * (1.0f / 8388608)),
          b = exp2OfNonPositive((most - next) * (1.0f / 8388608));
    std::vector<int> products(n, 0);
    for (int64_t p = from; p <= to; ++p) {
      const Cache::Vector &v = cache.value(s, p, kvHead);
      float u = weight(y[p - from], most - float(std::log2(255.0) * 8388608));
      sums[p % 16] = std::fma(u, 1 / v.scale, sums[p % 16]);
      for (int64_t d = 0; d < n; ++d)
        products[d] += std::min(255, int(std::nearbyint(u))) * v.codes[d];
    }
    for (int i = 0; i < 16; ++i)
      l[i] = std::fma(sums[i], b, l[i] * a);
    for (int64_t d = 0; d < n; ++d)
      o[d] = std::fma(float(products[d]), b, o[d] * a);
    m = next;
  }
  for (int half = 8; half; half /= 2)
    for (int i = 0; i < half; ++i)
      l[i] += l[i + half];
  for (float &v : o)
    v /= l[0];
  return o;
}

/// Computes the definition of attention in f64 from the codes and scales.
std::vector<double> definition(const Cache &cache, const float *q, int64_t s, int64_t position,
                               int64_t head) {
  const Shape &shape = cache.shape;
  int64_t n = shape.headDim, kvHead = head / (shape.heads / shape.kvHeads);
  std::vector<float> x = transformed(q + head * n, n);
  std::vector<double> scores, y(n, 0.0);
  for (int64_t p = shape.firstSeen(position); p <= position; ++p) {
    const Cache::Vector &k = cache.key(s, p, kvHead);
    double dot = 0;
    for (int64_t d = 0; d < n; ++d)
      dot += double(x[d]) * k.codes[d] * k.scale;
    dot *= shape.scale() / double(kvInt8Block(n));
    scores.push_back(shape.softcap ? shape.softcap * std::tanh(dot / shape.softcap) : dot);
  }
  if (shape.sinks)
    scores.push_back(sinkOf(head)); // the sink has no position and no value
  double most = *std::max_element(scores.begin(), scores.end()), sum = 0;
  for (double &p : scores)
    sum += p = std::exp(p - most);
  for (size_t i = 0; i < scores.size() - shape.sinks; ++i) {
    const Cache::Vector &v = cache.value(s, shape.firstSeen(position) + i, kvHead);
    for (int64_t d = 0; d < n; ++d)
      y[d] += scores[i] / sum * v.codes[d] * v.scale;
  }
  return y;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A range of tokens of one sequence in a step.
struct Span {
  int64_t sequence, from, to;
};

/// Runs one step over the spans. Rows of q come from `queries[s]`; results go to `results[s]`.
void runStep(const LoadedKernels &code, const Cache &cache, const std::vector<Span> &spans,
             const std::vector<Buffer<float>> &queries, std::vector<Buffer<float>> &results,
             int64_t threads = 2) {
  const Shape &shape = cache.shape;
  int64_t tokens = 0, width = shape.rowFloats();
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
  Buffer<float> q(tokens * width), y(tokens * width);
  Buffer<char> pool = cache.pool(written, begun);
  std::memset(y.data(), 0x7f, y.bytes());
  int64_t row = 0;
  for (const Span &span : spans)
    for (int64_t p = span.from; p < span.to; ++p, ++row)
      std::copy_n(queries[span.sequence].data() + p * width, width, q.data() + row * width);
  BatchView batch{};
  batch.tokens = tokens, batch.tiles = tiles.size(), batch.attentionTiles = tiles.data();
  batch.blockTable = cache.blockTable.data(), batch.blockTableStride = cache.stride;
  int64_t items = int64_t(tiles.size()) * shape.kvHeads;
  Buffer<float> sinks = sinksOf(shape.heads);
  std::vector<void *> args{q.data(), pool.data(), y.data()};
  if (shape.sinks)
    args.push_back(sinks.data());
  for (int64_t thread = 0; thread < threads; ++thread)
    code.call("k", args, batch, thread, items, threads);
  EXPECT_TRUE(y.intact());
  row = 0;
  for (const Span &span : spans)
    for (int64_t p = span.from; p < span.to; ++p, ++row)
      std::copy_n(y.data() + row * width, width, results[span.sequence].data() + p * width);
}

std::vector<Buffer<float>> rowsOf(const Cache &cache, bool random) {
  std::vector<Buffer<float>> rows;
  for (size_t s = 0; s < cache.lengths.size(); ++s)
    rows.push_back(random ? randomRows(cache.lengths[s], cache.shape.width(), 11 + s, 2)
                          : Buffer<float>(cache.lengths[s] * cache.shape.rowFloats()));
  return rows;
}

void checkRow(const Cache &cache, const std::vector<Buffer<float>> &queries,
              const std::vector<Buffer<float>> &results, int64_t s, int64_t position) {
  const Shape &shape = cache.shape;
  int64_t width = shape.rowFloats();
  const float *q = queries[s].data() + position * width, *y = results[s].data() + position * width;
  for (int64_t head = 0; head < shape.heads; ++head) {
    std::vector<float> bits =
        shape.softcap ? std::vector<float>() : reference(cache, q, s, position, head);
    std::vector<double> want = definition(cache, q, s, position, head);
    for (int64_t d = 0; d < shape.headDim; ++d) {
      float got = y[head * shape.headDim + d];
      if (!shape.softcap)
        ASSERT_EQ(bitsOf(got), bitsOf(bits[d]))
            << shape.name() << " sequence " << s << " position " << position << " head " << head
            << " at " << d << ": " << got << " instead of " << bits[d];
      ASSERT_NEAR(got, want[d], 0.02) << shape.name() << " position " << position << " head "
                                      << head << " at " << d; // values are at most 1
    }
  }
  for (int64_t i = shape.width(); i < width; ++i)
    ASSERT_EQ(y[i], 0.0f) << "padding";
}

class AttentionInt8 : public testing::TestWithParam<Shape> {};

/// Computes whole prompts and prompts in chunks, each alone and batched, on one thread and on three. The bits must
/// equal the reference's at every level.
TEST_P(AttentionInt8, EachBitInAnyBatch) {
  Shape shape = GetParam();
  Cache cache(shape, {150, 277, 16}, 3);
  std::vector<Buffer<float>> queries = rowsOf(cache, true);
  KernelModule module(shape.kernel());
  std::vector<Buffer<float>> first;
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    std::vector<Buffer<float>> whole = rowsOf(cache, false);
    for (int64_t s = 0; s < 3; ++s)
      runStep(code, cache, {{s, 0, cache.lengths[s]}}, queries, whole, 1);
    for (int64_t position : {0, 3, 15, 31, 32, 63, 64, 126, 127, 128, 149, 255, 256, 276})
      for (int64_t s = 0; s < 3; ++s)
        if (position < cache.lengths[s])
          ASSERT_NO_FATAL_FAILURE(checkRow(cache, queries, whole, s, position)) << isa->name;
    for (int64_t chunk : {1, 7, 100}) {
      std::vector<Buffer<float>> chunked = rowsOf(cache, false);
      for (int64_t from = chunk == 1 ? 100 : 0; from < 277;
           from += chunk) { // all sequences in one batch
        std::vector<Span> spans;
        for (int64_t s : {1, 0, 2})
          if (from < cache.lengths[s])
            spans.push_back({s, from, std::min(from + chunk, cache.lengths[s])});
        runStep(code, cache, spans, queries, chunked, 3);
      }
      int64_t skipped = chunk == 1 ? 100 : 0, width = shape.rowFloats();
      for (size_t s = 0; s < 3; ++s)
        for (int64_t p = skipped; p < cache.lengths[s]; ++p)
          ASSERT_FALSE(
              std::memcmp(whole[s].data() + p * width, chunked[s].data() + p * width, width * 4))
              << isa->name << " " << shape.name() << " chunk " << chunk << " sequence " << s
              << " position " << p;
    }
    for (size_t s = 0; s < first.size(); ++s)
      EXPECT_TRUE(whole[s] == first[s]) << shape.name() << ": levels differ, sequence " << s;
    first = std::move(whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionInt8,
                         testing::Values(Shape{9, 3, 64}, Shape{4, 1, 64, 40}, Shape{7, 1, 128},
                                         Shape{4, 1, 256, 130}, Shape{3, 3, 80}, Shape{8, 2, 96},
                                         Shape{2, 2, 72, 128}, Shape{5, 1, 20, 7},
                                         Shape{3, 3, 80, 0, 5}, Shape{2, 1, 12}, Shape{6, 1, 4},
                                         Shape{8, 2, 64, 0, 0, true},
                                         Shape{6, 1, 64, 128, 0, true}));

TEST(AttentionInt8Output, FarPositions) {
  for (int64_t window : {0, 512}) {
    Shape shape{4, 1, 64, window};
    Cache cache(shape, {8003}, 6);
    std::vector<Buffer<float>> queries = rowsOf(cache, true);
    KernelModule module(shape.kernel());
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      std::vector<Buffer<float>> tail = rowsOf(cache, false), alone = rowsOf(cache, false);
      runStep(code, cache, {{0, 7930, 8003}}, queries, tail);
      runStep(code, cache, {{0, 8002, 8003}}, queries, alone);
      for (int64_t position : {7930, 7935, 7936, 8002})
        ASSERT_NO_FATAL_FAILURE(checkRow(cache, queries, tail, 0, position));
      ASSERT_NO_FATAL_FAILURE(checkRow(cache, queries, alone, 0, 8002));
    }
  }
}

/// q8 rows equal the rows of the f32 kernel, quantised.
TEST(AttentionInt8Output, QuantisesTheFloats) {
  Shape shape{8, 2, 64};
  Cache cache(shape, {40}, 5);
  std::vector<Buffer<float>> queries = rowsOf(cache, true), y = rowsOf(cache, false);
  Buffer<char> pool = cache.pool({40}, {0}), z(40 * q8Row(shape.width()).bytes);
  KernelModule floats(shape.kernel()), codes(shape.kernel("q8"));
  std::vector<AttentionTile> tiles{{0, 16, 0, 0}, {16, 16, 0, 16}, {32, 8, 0, 32}};
  BatchView batch{};
  batch.tokens = 40, batch.tiles = 3, batch.attentionTiles = tiles.data();
  batch.blockTable = cache.blockTable.data(), batch.blockTableStride = cache.stride;
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(codes, *isa);
    runStep(LoadedKernels(floats, *isa), cache, {{0, 0, 40}}, queries, y);
    code.call("k", {queries[0].data(), pool.data(), z.data()}, batch, 0, 6);
    EXPECT_TRUE(z == quantizeRows(y[0], 40, shape.width())) << isa->name;
  }
}

} // namespace
