//===- RopeTest.cpp - Rotary tables, and appending q, k, v to the cache -----===//
#include "PanelReference.h"

#include "runtime/formats/KvInt4.h"

#include <chrono>
#include <cstdio>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

std::string rows(int64_t n) { return "!kernel.activation<" + std::to_string(n) + ", f32>"; }
std::string vector(int64_t n) { return "!lm.weight<" + std::to_string(n) + ", f32>"; }

TEST(RopeTable, CosinesAndSines) {
  for (int64_t count : {10, 32, 40, 36}) {
    std::string f = vector(count), y = rows(2 * count);
    KernelModule module("kernel.func @k(%f: " + f + ", %y: " + y + ") {\n kernel.rope_table %f : " +
                        f + " outs(%y : " + y + ") {factor = 1.25 : f32}\n kernel.return\n }");
    Buffer<float> frequencies(roundUp(count, 32));
    for (int64_t i = 0; i < count; ++i)
      frequencies[i] = std::pow(10000.0f, -float(i) / float(count));
    int32_t positions[] = {0, 1, 7, 511, 7999, 131071, 1000003};
    int64_t tokens = std::size(positions), width = roundUp(2 * count, 32);
    BatchView batch{};
    batch.tokens = tokens, batch.positions = positions;
    Buffer<float> first(tokens * width);
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> table(tokens * width);
      std::memset(table.data(), 0xff, table.bytes());
      code.call("k", {frequencies.data(), table.data()}, batch, 0, tokens);
      EXPECT_TRUE(table.intact());
      for (int64_t t = 0; t < tokens; ++t) {
        const float *row = table.data() + t * width;
        for (int64_t i = 0; i < count; ++i) {
          float angle = float(positions[t]) * frequencies[i];
          EXPECT_EQ(row[i], float(std::cos(double(angle))) * 1.25f)
              << isa->name << " position " << positions[t] << " at " << i;
          EXPECT_EQ(row[count + i], float(std::sin(double(angle))) * 1.25f)
              << isa->name << " position " << positions[t] << " at " << i;
        }
        for (int64_t i = 2 * count; i < width; ++i)
          EXPECT_EQ(row[i], 0.0f);
      }
      if (isa != hostIsas().front())
        EXPECT_TRUE(table == first);
      first = std::move(table);
    }
  }
}

//===----------------------------------------------------------------------===//
// rope_append
//===----------------------------------------------------------------------===//

enum class Element { F32, BF16, F16, Int8, Int4 };

/// Returns the stored bits of a number.
uint32_t rounded(float v, Element element) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  if (element == Element::F32)
    return bits;
  if (element == Element::BF16) {
    if (std::isnan(v))
      return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  _Float16 half = _Float16(v > 65504 ? 65504 : v < -65504 ? -65504 : v); // NaN stays NaN
  uint16_t word;
  std::memcpy(&word, &half, 2);
  return word;
}

struct Problem {
  int64_t heads, kvHeads, headDim, rotary; ///< rotary is 0 without a table
  bool interleaved, norm;
  Element element;
  bool own = false, centred = false; ///< of the norms: one weight per head; the mean is subtracted

  int64_t qNorms() const { return headDim * (own ? heads : 1); } ///< size of q's norm weight
  int64_t kNorms() const { return headDim * (own ? kvHeads : 1); }
};

std::string kernelOf(const Problem &p) {
  const char *elements[] = {"f32", "bf16", "f16", "int8", "int4"};
  std::string q = rows(p.heads * p.headDim), k = rows(p.kvHeads * p.headDim),
              table = rows(p.rotary), qw = vector(p.qNorms()), kw = vector(p.kNorms());
  std::string kv = "!kernel.kv_pool<" + std::to_string(p.kvHeads) + ", " +
                   std::to_string(p.headDim) + ", " + elements[int(p.element)] + ">";
  std::string text = "kernel.func @k(%q: " + q + ", %k: " + k + ", %v: " + k + ", %kv: " + kv;
  if (p.rotary)
    text += ", %t: " + table;
  if (p.norm)
    text += ", %qn: " + qw + ", %kn: " + kw;
  text += ") {\n kernel.rope_append %q, %k, %v";
  if (p.rotary)
    text += " table %t : " + table;
  if (p.norm)
    text += " q_norm %qn : " + qw + " k_norm %kn : " + kw;
  return text + " into %kv {heads = " + std::to_string(p.heads) +
         " : i64, style = #lm.rope_style<" + (p.interleaved ? "interleaved" : "half") +
         ">, eps = 1.0e-6 : f32, weight_offset = 1.0 : f32" +
         (p.centred ? ", centred} : " : "} : ") + q + ", " + k + ", " + k + ", " + kv +
         "\n kernel.return\n }";
}

/// Returns the mean of f(x), summed in the order of a row_stat.
template <typename F> float meanOf(const float *x, int64_t n, F f) {
  float part[16] = {};
  for (int64_t i = 0; i < n; ++i)
    part[i % 16] += f(x[i]);
  for (int half = 8; half; half /= 2)
    for (int i = 0; i < half; ++i)
      part[i] += part[i + half];
  return part[0] / float(n);
}

void normalise(float *x, const float *w, int64_t n, bool centred) {
  const float mean = centred ? meanOf(x, n, [](float v) { return v; }) : 0;
  for (int64_t i = 0; i < n && centred; ++i)
    x[i] -= mean;
  float inverse = 1.0f / std::sqrt(meanOf(x, n, [](float v) { return v * v; }) + 1e-6f);
  for (int64_t i = 0; i < n; ++i)
    x[i] = x[i] * inverse * (w[i] + 1.0f);
}

void rotate(float *x, const float *table, int64_t rotary, bool interleaved) {
  for (int64_t i = 0; i < rotary / 2; ++i) {
    float &a = x[interleaved ? 2 * i : i], &b = x[interleaved ? 2 * i + 1 : i + rotary / 2];
    float c = table[i], s = table[rotary / 2 + i], first = a * c - b * s;
    b = b * c + a * s;
    a = first;
  }
}

/// Writes a vector as int8 (KvInt8.h) into a page. at(d) is where the code of element d lies;
/// `bias` is added to the codes.
void putInt8(std::vector<float> x, char *scaleAt, int bias,
             const std::function<char *(int64_t)> &at) {
  float amax = 0;
  for (float v : x)
    amax = std::max(amax, std::fabs(v));
  float scale = amax / 127;
  bool small = scale < kKvInt8LeastScale;
  if (small)
    scale = kKvInt8LeastScale;
  std::memcpy(scaleAt, &scale, 4);
  for (size_t d = 0; d < x.size(); ++d)
    *at(int64_t(d)) = char((small ? 0 : int(std::nearbyint(x[d] * (127 / amax)))) + bias);
}

/// Writes a vector as int4 (KvInt4.h) into a page. at(d) is the byte of element d; scaleAt(g) is
/// the scale of group g.
void putInt4(std::vector<float> x, const std::function<char *(int64_t)> &scaleAt,
             const std::function<char *(int64_t)> &at) {
  for (int64_t d = 0; d < int64_t(x.size()); ++d) {
    const float *group = x.data() + d / kKvInt4Group * kKvInt4Group;
    float amax = 0;
    for (int64_t i = 0; i < kKvInt4Group; ++i)
      amax = std::max(amax, std::fabs(group[i]));
    const _Float16 scale = _Float16(std::min(amax / 7, 65504.0f));
    std::memcpy(scaleAt(d / kKvInt4Group), &scale, 2);
    const float inverse = 7 / amax;
    const int code = std::isfinite(inverse) ? int(std::nearbyint(x[d] * inverse)) + 8 : 8;
    *at(d) = d % 32 < 16 ? char(code) : char(*at(d) | code << 4);
  }
}

TEST(RopeAppend, EqualsReference) {
  const Problem problems[] = {
      {9, 3, 64, 64, false, false, Element::BF16},
      {9, 3, 64, 64, true, false, Element::F16},
      {4, 1, 256, 256, false, true, Element::BF16},
      {4, 2, 20, 20, false, true, Element::F32},
      {4, 2, 80, 32, false, false, Element::BF16},
      {3, 1, 80, 20, true, true, Element::F16},
      {2, 2, 7, 6, true, true, Element::BF16},
      {2, 2, 7, 6, false, false, Element::F16},
      {2, 1, 72, 72, false, false, Element::BF16},
      {2, 1, 72, 0, false, true, Element::F32},
      {2, 1, 96, 0, false, false, Element::F16},
      {9, 3, 64, 64, true, false, Element::Int8},
      {4, 1, 256, 256, false, true, Element::Int8},
      {4, 2, 20, 20, false, true, Element::Int8},
      {4, 2, 80, 32, false, false, Element::Int8},
      {2, 1, 96, 0, false, false, Element::Int8},
      {9, 3, 64, 64, true, false, Element::Int4},
      {4, 1, 256, 256, false, true, Element::Int4},
      {4, 2, 96, 32, false, false, Element::Int4},
      {2, 1, 32, 0, false, false, Element::Int4},
      {4, 2, 64, 16, false, true, Element::BF16, true, true},
      {3, 1, 20, 20, true, true, Element::F32, true, true},
      {3, 3, 7, 6, false, true, Element::F16, true, false},
      {2, 1, 72, 0, false, true, Element::F32, false, true},
      {4, 2, 20, 20, false, true, Element::Int8, true, true},
      {4, 2, 96, 32, false, true, Element::Int4, true, true},
  };
  for (const Problem &p : problems) {
    int64_t tokens = 5, stride = 3, pages = 7, bytes = p.element == Element::F32 ? 4 : 2;
    bool int8 = p.element == Element::Int8, int4 = p.element == Element::Int4;
    int64_t qWidth = roundUp(p.heads * p.headDim, 32), kWidth = roundUp(p.kvHeads * p.headDim, 32);
    int64_t pageBytes = int8   ? 2 * p.kvHeads * 32 * (p.headDim + 4)
                        : int4 ? roundUp(2 * p.kvHeads * 32 * (p.headDim / 2 + p.headDim / 16), 64)
                               : roundUp(2 * p.kvHeads * p.headDim * 32 * bytes, 64),
            tableWidth = roundUp(p.rotary, 32);
    int32_t positions[] = {31, 32, 0, 64, 65}, sequenceOf[] = {0, 0, 1, 1, 1},
            blockTable[] = {4, 2, 6, 0, 1, 5};
    BatchView batch{};
    batch.tokens = tokens, batch.positions = positions, batch.sequenceOf = sequenceOf;
    batch.blockTable = blockTable, batch.blockTableStride = stride;
    Buffer<float> q = randomRows(tokens, p.heads * p.headDim, 1, 3),
                  k = randomRows(tokens, p.kvHeads * p.headDim, 2, 3);
    Buffer<float> v = randomRows(tokens, p.kvHeads * p.headDim, 3, 1e5f),
                  table = randomRows(tokens, p.rotary, 4);
    Buffer<float> qNorm = randomRows(1, p.qNorms(), 5), kNorm = randomRows(1, p.kNorms(), 6);
    if (int8 || int4)
      std::fill_n(v.data() + p.headDim * (p.kvHeads - 1), p.headDim, 1e-30f); // counts as zeros
    else
      v[0] = NAN, v[1] = 1e-40f; // NaN stays NaN; denormals are rounded, not flushed

    Buffer<float> wantQ = randomRows(tokens, p.heads * p.headDim, 1, 3);
    Buffer<char> wantPool(pages * pageBytes);
    auto put = [&](int64_t at, float value) {
      uint32_t bits = rounded(value, p.element);
      std::memcpy(wantPool.data() + at, &bits, bytes);
    };
    for (int64_t t = 0; t < tokens; ++t) {
      const float *row = table.data() + t * tableWidth;
      for (int64_t h = 0; h < p.heads; ++h) {
        float *x = wantQ.data() + t * qWidth + h * p.headDim;
        if (p.norm)
          normalise(x, qNorm.data() + (p.own ? h * p.headDim : 0), p.headDim, p.centred);
        rotate(x, row, p.rotary, p.interleaved);
      }
      int64_t page = blockTable[sequenceOf[t] * stride + positions[t] / 32] * pageBytes,
              slot = positions[t] % 32;
      for (int64_t h = 0; h < p.kvHeads; ++h) {
        std::vector<float> x(k.data() + t * kWidth + h * p.headDim,
                             k.data() + t * kWidth + (h + 1) * p.headDim);
        if (p.norm)
          normalise(x.data(), kNorm.data() + (p.own ? h * p.headDim : 0), p.headDim, p.centred);
        rotate(x.data(), row, p.rotary, p.interleaved);
        if (int8) {
          char *to = wantPool.data() + page, *codes = to + h * p.headDim * 32,
               *scales = to + 2 * p.kvHeads * p.headDim * 32;
          transformHadamard(x.data(), p.headDim);
          putInt8(x, scales + (h * 32 + slot) * 4, 128,
                  [&](int64_t d) { return codes + (d / 4 * 32 + slot) * 4 + d % 4; });
          codes += p.kvHeads * p.headDim * 32;
          const float *from = v.data() + t * kWidth + h * p.headDim;
          putInt8({from, from + p.headDim}, scales + ((p.kvHeads + h) * 32 + slot) * 4, 0,
                  [&](int64_t d) { return codes + (slot / 4 * p.headDim + d) * 4 + slot % 4; });
          continue;
        }
        if (int4) {
          const int64_t groups = p.headDim / 32, lines = p.headDim / 2;
          char *keys = wantPool.data() + page, *values = keys + p.kvHeads * lines * 32,
               *scales = values + p.kvHeads * lines * 32;
          transformHadamard(x.data(), p.headDim);
          for (float &value : x)
            value /= float(kvInt8Block(p.headDim));
          putInt4(
              x, [&](int64_t g) { return scales + ((h * groups + g) * 32 + slot) * 2; },
              [&](int64_t d) { return keys + ((h * groups + d / 32) * 16 + d % 16) * 32 + slot; });
          const float *from = v.data() + t * kWidth + h * p.headDim;
          putInt4(
              {from, from + p.headDim},
              [&](int64_t g) {
                return scales + (p.kvHeads * groups * 32 + (h * 32 + slot) * groups + g) * 2;
              },
              [&](int64_t d) { return values + (h * 32 + slot) * lines + d / 32 * 16 + d % 16; });
          continue;
        }
        for (int64_t d = 0; d < p.headDim; ++d) {
          put(page + ((h * p.headDim + d) * 32 + slot) * bytes, x[d]);
          int64_t inV = (h * 32 + slot) * p.headDim + d;
          put(page + (p.kvHeads * p.headDim * 32 + inV) * bytes, v[t * kWidth + h * p.headDim + d]);
        }
      }
    }

    KernelModule module(kernelOf(p));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> outQ = randomRows(tokens, p.heads * p.headDim, 1, 3);
      Buffer<char> pool(pages * pageBytes);
      std::vector<void *> args{outQ.data(), k.data(), v.data(), pool.data()};
      if (p.rotary)
        args.push_back(table.data());
      if (p.norm)
        args.insert(args.end(), {qNorm.data(), kNorm.data()});
      for (int64_t thread = 0; thread < 2; ++thread)
        code.call("k", args, batch, thread, tokens, 2);
      std::string what = std::string(isa->name) + " head_dim " + std::to_string(p.headDim) +
                         " rotary " + std::to_string(p.rotary);
      EXPECT_TRUE(outQ.intact() && pool.intact()) << what;
      EXPECT_TRUE(outQ == wantQ) << what;
      EXPECT_TRUE(pool == wantPool) << what;
    }
  }
}

// --gtest_also_run_disabled_tests --gtest_filter=*Speed*
TEST(RopeSpeed, DISABLED_Append) {
  for (const Problem &p : {Problem{9, 3, 64, 64, true, false, Element::BF16},
                           Problem{4, 1, 256, 256, false, true, Element::BF16},
                           Problem{32, 8, 64, 64, false, false, Element::BF16},
                           Problem{32, 8, 64, 64, false, false, Element::Int8}}) {
    int64_t tokens = 256, pageBytes = 2 * p.kvHeads * p.headDim * 32 * 2;
    std::vector<int32_t> positions(tokens), sequenceOf(tokens), blockTable(8);
    for (int32_t t = 0; t < tokens; ++t)
      positions[t] = t, blockTable[t / 32] = t / 32;
    BatchView batch{};
    batch.tokens = tokens, batch.positions = positions.data(), batch.sequenceOf = sequenceOf.data();
    batch.blockTable = blockTable.data(), batch.blockTableStride = 8;
    Buffer<float> q = randomRows(tokens, p.heads * p.headDim, 1),
                  k = randomRows(tokens, p.kvHeads * p.headDim, 2);
    Buffer<float> table = randomRows(tokens, p.rotary, 4, 0.1f), norm = randomRows(1, p.headDim, 5);
    Buffer<char> pool(8 * pageBytes), scratch(4096);
    void *args[] = {q.data(),     k.data(),    k.data(),   pool.data(),
                    table.data(), norm.data(), norm.data()};
    KernelModule module(kernelOf(p));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      double best = 1e9;
      for (int round = 0; round < 50; ++round) {
        auto start = std::chrono::steady_clock::now();
        code["k"](args, &batch, 0, tokens, 1, scratch.data(), 0);
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::printf("%-7s rope + append, heads %ld/%ld head_dim %ld: %6.2f us a token\n",
                  std::string(isa->name).c_str(), long(p.heads), long(p.kvHeads), long(p.headDim),
                  best * 1e6 / double(tokens));
    }
  }
}

} // namespace
