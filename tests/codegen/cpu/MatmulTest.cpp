//===- MatmulTest.cpp - Generated matmuls against scalar C++, bit for bit --===//
#include "PanelReference.h"

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

struct Shape {
  int64_t n, k;
};

std::string typeOf(const char *kind, int64_t n) {
  return "!kernel.activation<" + std::to_string(n) + ", " + kind + ">";
}
std::string weightOf(const RandomWeight &w) {
  return "!lm.weight<" + std::to_string(w.layout.n) + "x" + std::to_string(w.layout.k) + ", " +
         std::string(w.format.name) + ">";
}

/// Returns a kernel with one output, one weight and an identity epilogue.
std::string plainKernel(const RandomWeight &w, const char *kind,
                        const std::string &attributes = "") {
  std::string x = typeOf(kind, w.layout.k), y = typeOf("f32", w.layout.n), weight = weightOf(w);
  return "kernel.func @plain(%x: " + x + ", %w: " + weight + ", %y: " + y +
         ") {\n  kernel.matmul %x : " + x + " weights(%w : " + weight + ") outs(%y : " + y +
         ") attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>" + attributes +
         "} {\n  ^bb0(%acc: f32):\n    kernel.yield %acc : f32\n  }\n  kernel.return\n}\n";
}

BatchView tokensOf(int64_t tokens) {
  BatchView batch{};
  batch.tokens = tokens;
  batch.rows = -1; // must not be used
  return batch;
}

class MatmulFast : public testing::TestWithParam<int> {};
class MatmulExact : public testing::TestWithParam<int> {};

std::string formatName(const testing::TestParamInfo<int> &info) {
  return std::string(numericFormat(WeightFormat(info.param)).name);
}

/// Computes `tokens` tokens in one call and each token by itself, whole and partitioned among threads. All must give
/// the same bits.
Buffer<float> runEveryWay(const LoadedKernels &code, RandomWeight &w, char *x, int64_t xRowBytes,
                          int64_t tokens) {
  int64_t width = f32RowBytes(w.layout.n) / 4, panels = w.layout.panels;
  Buffer<float> whole(tokens * width);
  code.call("plain", {x, w.bytes.data(), whole.data()}, tokensOf(tokens), 0, panels);
  EXPECT_TRUE(whole.intact());
  Buffer<float> alone(tokens * width);
  for (int64_t t = 0; t < tokens; ++t)
    code.call("plain", {x + t * xRowBytes, w.bytes.data(), alone.data() + t * width}, tokensOf(1),
              0, panels);
  EXPECT_TRUE(whole == alone) << "a token alone and in a batch of " << tokens;
  Buffer<float> ahead(width);
  code.call("plain", {x, w.bytes.data(), ahead.data()}, tokensOf(1), 0, panels, 1, 8192);
  EXPECT_TRUE(std::equal(ahead.data(), ahead.data() + width, whole.data()))
      << "each line asked for ahead";
  Buffer<float> shared(tokens * width);
  for (int64_t thread = 0; thread < 3; ++thread)
    code.call("plain", {x, w.bytes.data(), shared.data()}, tokensOf(tokens), thread, panels, 3);
  EXPECT_TRUE(whole == shared) << "items shared out";
  return whole;
}

TEST_P(MatmulFast, EqualsReference) {
  for (Shape shape : {Shape{97, 96}, Shape{40, 612}}) {
    RandomWeight w(WeightFormat(GetParam()), shape.n, shape.k, 3);
    // Enough tokens for three of the largest tiles, for which panels are unpacked.
    int64_t tokens = 27, width = f32RowBytes(shape.n) / 4, rowBytes = q8Row(shape.k).bytes;
    Buffer<char> x = quantizeRows(randomRows(tokens, shape.k, 4), tokens, shape.k);
    KernelModule module(plainKernel(w, "q8"));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> y = runEveryWay(code, w, x.data(), rowBytes, tokens);
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t row = 0; row < width; ++row)
          ASSERT_EQ(y[t * width + row],
                    row < shape.n ? fastProduct(w, row, x.data() + t * rowBytes) : 0.0f)
              << isa->name << " " << shape.n << "x" << shape.k << " token " << t << " row " << row;
    }
  }
}

TEST_P(MatmulExact, EqualsReference) {
  for (Shape shape : {Shape{97, 96}, Shape{40, 613}}) {
    RandomWeight w(WeightFormat(GetParam()), shape.n, shape.k, 5);
    int64_t tokens = 13, width = f32RowBytes(shape.n) / 4, rowBytes = f32RowBytes(shape.k);
    Buffer<float> x = randomRows(tokens, shape.k, 6);
    KernelModule module(plainKernel(w, "f32"));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> y = runEveryWay(code, w, reinterpret_cast<char *>(x.data()), rowBytes, tokens);
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t row = 0; row < width; ++row)
          ASSERT_EQ(y[t * width + row],
                    row < shape.n ? exactProduct(w, row, x.data() + t * rowBytes / 4) : 0.0f)
              << isa->name << " " << shape.n << "x" << shape.k << " token " << t << " row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Quantised, MatmulFast,
                         testing::Range(int(WeightFormat::Q4_0), int(WeightFormat::Fp8Tensor)),
                         formatName);
INSTANTIATE_TEST_SUITE_P(All, MatmulExact, testing::Range(0, kWeightFormatCount), formatName);

//===----------------------------------------------------------------------===//
// Saturation, cuts, float dots
//===----------------------------------------------------------------------===//

/// Extreme codes times extreme activations: int16 partial sums must not saturate.
TEST(Matmul, ExtremesDoNotSaturate) {
  for (int id = int(WeightFormat::Q4_0); id < int(WeightFormat::Fp8Tensor); ++id)
    for (int code : {0xff, 0x00}) {
      RandomWeight w(WeightFormat(id), 32, 256, 1);
      for (int64_t b = 0; b < w.layout.blocks; ++b)
        std::memset(w.bytes.data() + b * w.layout.blockBytes + w.layout.codeOffset, code,
                    size_t(w.layout.blockBytes - w.layout.codeOffset));
      Buffer<float> rows(2 * 256);
      for (int i = 0; i < 512; ++i)
        rows[i] = i < 256 ? 1.0f : -1.0f;
      Buffer<char> x = quantizeRows(rows, 2, 256);
      KernelModule module(plainKernel(w, "q8"));
      for (const Isa *isa : hostIsas()) {
        LoadedKernels code(module, *isa);
        ASSERT_TRUE(code);
        Buffer<float> y(2 * 32);
        code.call("plain", {x.data(), w.bytes.data(), y.data()}, tokensOf(2), 0, 1);
        for (int i = 0; i < 64; ++i)
          ASSERT_EQ(y[i], fastProduct(w, i % 32, x.data() + i / 32 * q8Row(256).bytes))
              << w.format.name << isa->name;
      }
    }
}

/// Every E4M3 code, including subnormals and both zeros, has its exact value at both levels.
TEST(Matmul, EveryFp8Code) {
  RandomWeight w(WeightFormat::Fp8, 32, 256, 1);
  for (int64_t k = 0; k < 256; ++k)
    for (int64_t r = 0; r < 32; ++r)
      w.bytes[k / 128 * w.layout.blockBytes + k % 128 * 32 + r] = char((k & 0x7f) == 0x7f ? 0 : k);
  Buffer<float> x(256 * 256); // token t has 1 at k = t
  for (int64_t t = 0; t < 256; ++t)
    x[t * 256 + t] = 1;
  KernelModule module(plainKernel(w, "f32"));
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    Buffer<float> y(256 * 32);
    code.call("plain", {x.data(), w.bytes.data(), y.data()}, tokensOf(256), 0, 1);
    for (int64_t t = 0; t < 256; ++t)
      ASSERT_EQ(y[t * 32 + 7], w.value(7, t)) << isa->name << " code " << t;
  }
}

/// Rows of two int8 planes.
TEST(Matmul, TwoPlanes) {
  for (WeightFormat format :
       {WeightFormat::Q4_0, WeightFormat::Q4_1, WeightFormat::Q5_1, WeightFormat::Q8_0,
        WeightFormat::Q4_K, WeightFormat::Q6_K, WeightFormat::Q2_K, WeightFormat::Q3_K,
        WeightFormat::IQ4_XS, WeightFormat::Mxfp4, WeightFormat::Nvfp4, WeightFormat::Nf4,
        WeightFormat::Int4ZG128, WeightFormat::Int8ZF}) {
    RandomWeight w(format, 40, 160, 11);
    int64_t tokens = 9, width = 64, rowBytes = q8x2RowBytes(160);
    Buffer<char> x = quantizeRows(randomRows(tokens, 160, 12), tokens, 160, 2);
    KernelModule module(plainKernel(w, "q8x2"));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> y = runEveryWay(code, w, x.data(), rowBytes, tokens);
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t row = 0; row < 40; ++row)
          ASSERT_EQ(y[t * width + row], fastProduct(w, row, x.data() + t * rowBytes, 2))
              << w.format.name << isa->name;
    }
  }
}

/// A head that writes keys only: keys[row] is the largest value and the lowest id that has it. Any
/// combination of partitions gives the same keys. A second head writes the output and the largest value of
/// each panel.
TEST(Matmul, GreedyKeysAndMaxima) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (int64_t n : {1, 31, 64, 97, 200}) {
    RandomWeight w(WeightFormat::F32, n, 1, 3);
    float *logits = reinterpret_cast<float *>(w.bytes.data()); // K = 1: contiguous
    std::string x = typeOf("f32", 1), y = typeOf("f32", n), weight = weightOf(w);
    std::string m = typeOf("f32", w.layout.panels);
    const std::string fusedValue = "!kernel.fused<" + std::to_string(n) + ", f32>",
                      begin = "(%x: " + x + ", %w: " + weight + ", ",
                      product =
                          ") { %f = kernel.matmul %x : " + x + " weights(%w : " + weight + ") -> " +
                          fusedValue +
                          " attributes {aux_counts = array<i64: 0>, extent = "
                          "#kernel.extent<rows>} {\n^bb0(%acc: f32): kernel.yield %acc : f32 }\n",
                      end = "\nkernel.return }\n";
    KernelModule module("kernel.func @keys" + begin + "%keys: !kernel.activation<1, key>" +
                        product + "kernel.argmax %f : " + fusedValue +
                        " keys %keys : !kernel.activation<1, key>" + end + "kernel.func @head" +
                        begin + "%y: " + y + ", %m: " + m + product +
                        "kernel.store %f : " + fusedValue + " into %y : " + y +
                        "\nkernel.panel_maxima %f : " + fusedValue + " into %m : " + m + end);
    std::vector<std::vector<float>> cases = {
        std::vector<float>(n, nan), std::vector<float>(n, -inf), std::vector<float>(n, -3.0f),
        std::vector<float>(n, 0.0f), std::vector<float>(n, -1e-40f)};
    std::mt19937 random(5);
    for (int i = 0; i < 20; ++i) {
      std::vector<float> &made = cases.emplace_back(n);
      for (float &v : made)
        v = float(int(random() % 9) - 12) * (i % 2 ? 1.0f : 0.25f);
      made[random() % n] = i % 5 == 0 ? inf : i % 5 == 1 ? nan : i % 5 == 2 ? -0.0f : 0.0f;
    }
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      for (const std::vector<float> &made : cases) {
        std::copy(made.begin(), made.end(), logits);
        int64_t rows = made[0] == 0 ? kGreedyRows : 11, panels = w.layout.panels;
        Buffer<float> ones(rows * 32), out(rows * f32RowBytes(n) / 4);
        Buffer<float> maxima(rows * f32RowBytes(panels) / 4);
        for (int64_t t = 0; t < rows; ++t)
          ones[t * 32] = 1;
        Buffer<uint64_t> keys(rows);
        BatchView batch{};
        batch.rows = rows;
        for (int64_t part = 0; part < 3; ++part)
          code.call("keys", {ones.data(), w.bytes.data(), keys.data()}, batch, part, panels, 3);
        int64_t want = 0;
        for (int64_t id = 0; id < n; ++id)
          if (made[id] > made[want] || (made[want] != made[want] && made[id] == made[id]))
            want = id;
        for (int64_t t = 0; t < rows; ++t)
          ASSERT_EQ(int64_t(uint32_t(~keys[t])), want) << isa->name << " n " << n << " row " << t;
        for (int64_t part = 0; part < 3; ++part)
          code.call("head", {ones.data(), w.bytes.data(), out.data(), maxima.data()}, batch, part,
                    panels, 3);
        for (int64_t t = 0; t < rows; ++t)
          for (int64_t panel = 0; panel < panels; ++panel) {
            float most = -inf;
            for (int64_t id = panel * 32; id < std::min(n, panel * 32 + 32); ++id) {
              float logit = out[t * f32RowBytes(n) / 4 + id];
              ASSERT_TRUE(logit == made[id] || (std::isnan(logit) && std::isnan(made[id])));
              most = logit > most ? logit : most;
            }
            ASSERT_EQ(maxima[t * f32RowBytes(panels) / 4 + panel], most)
                << isa->name << " n " << n << " row " << t << " panel " << panel;
          }
      }
    }
  }
}

TEST(Matmul, SchedulesChangeNoBits) {
  RandomWeight w(WeightFormat::Q4_1, 97, 160, 7);
  int64_t tokens = 31, width = f32RowBytes(97) / 4;
  Buffer<char> x = quantizeRows(randomRows(tokens, 160, 8), tokens, 160);
  for (const Isa *isa : hostIsas()) {
    std::vector<Buffer<float>> results;
    for (const char *schedule :
         {"tiles = [1], block = 1, prefetch = 0", "tiles = [8, 3], block = 11, prefetch = 512",
          "tiles = [5, 2, 1], block = 100, prefetch = 4096"}) {
      KernelModule module(
          plainKernel(w, "q8", std::string(", schedule = #kernel.schedule<") + schedule + ">"));
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      results.emplace_back(tokens * width);
      code.call("plain", {x.data(), w.bytes.data(), results.back().data()}, tokensOf(tokens), 0, 4);
      EXPECT_TRUE(results.back() == results.front()) << isa->name << " " << schedule;
    }
    EXPECT_EQ(results.front()[5], fastProduct(w, 5, x.data()));
  }
}

TEST(Matmul, FastFloat) {
  RandomWeight w(WeightFormat::BF16, 97, 101, 9);
  int64_t tokens = 13, width = f32RowBytes(97) / 4;
  Buffer<float> x = randomRows(tokens, 101, 10);
  KernelModule module(plainKernel(w, "f32", ", fast_float"));
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    Buffer<float> y =
        runEveryWay(code, w, reinterpret_cast<char *>(x.data()), f32RowBytes(101), tokens);
    double worst = 0;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t row = 0; row < 97; ++row) {
        double want = 0, size = 0;
        for (int64_t k = 0; k < 101; ++k) {
          double product = double(w.value(row, k)) * x[t * 128 + k];
          want += product, size += std::fabs(product);
        }
        worst = std::max(worst, std::fabs(y[t * width + row] - want) / size);
      }
    EXPECT_LT(worst, isa->bf16Dot ? 0x1p-9 : 0x1p-20)
        << isa->name; // half an ulp of bf16 per product
    if (isa->bf16Dot)
      EXPECT_GT(worst, 0x1p-16) << "activations should have been rounded to bf16";
  }
}

/// Returns row `row` of w times `x` in the order of tdpbf16ps (MatmulAmx.cpp).
float tileProduct(const RandomWeight &w, int64_t row, const float *x) {
  float sum = 0;
  for (int64_t k = 0; k < w.layout.k; k += kAmxK) {
    float parts[2] = {};
    for (int64_t i = 0; i < kAmxK; ++i)
      parts[i % 2] = std::fma(w.value(row, k + i), fromBf16(toBf16(x[k + i])), parts[i % 2]);
    sum += parts[0] + parts[1];
  }
  return sum;
}

/// Tests sums in AMX tiles, on this machine if it has AMX, and emulated. The token counts include fewer tokens than one
/// tile register holds, and all combinations of one and two such tiles.
TEST(Matmul, AmxTiles) {
  const Isa written = emulated(kAmx);
  const int64_t n = 97, k = 96, width = f32RowBytes(n) / 4;
  RandomWeight w(WeightFormat::BF16, n, k, 13);
  KernelModule module(plainKernel(w, "f32", ", fast_float"));
  for (const Isa *isa : {&kAmx, &written}) {
    if (!hostRuns(*isa))
      continue;
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    for (int64_t tokens : {1, 5, 16, 17, 33, 150}) {
      Buffer<float> x = randomRows(tokens, k, 14);
      Buffer<float> y =
          runEveryWay(code, w, reinterpret_cast<char *>(x.data()), f32RowBytes(k), tokens);
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t row = 0; row < width; ++row)
          ASSERT_EQ(y[t * width + row], row < n ? tileProduct(w, row, x.data() + t * k) : 0.0f)
              << (isa->emulated ? "emulated, " : "") << tokens << " tokens: token " << t << " row "
              << row;
    }
  }
}

//===----------------------------------------------------------------------===//
// Segments, gated pairs, epilogues, quantised outputs
//===----------------------------------------------------------------------===//

/// q (with a bias), k (plain) and v (with an in-place residual) in one launch, with mixed formats.
TEST(Matmul, SegmentsWithAux) {
  RandomWeight q(WeightFormat::Q4_K, 70, 96, 1), kk(WeightFormat::Q6_K, 33, 96, 2),
      v(WeightFormat::Q8_0, 64, 96, 3);
  KernelModule module(R"(
    kernel.func @qkv(%x: !kernel.activation<96, q8>, %wq: !lm.weight<70x96, q4_k>, %wk: !lm.weight<33x96, q6_k>,
                     %wv: !lm.weight<64x96, q8_0>, %bias: !lm.weight<70, f32>, %q: !kernel.activation<70, f32>,
                     %k: !kernel.activation<33, f32>, %v: !kernel.activation<64, f32>) {
      kernel.matmul %x : !kernel.activation<96, q8>
        weights(%wq, %wk, %wv : !lm.weight<70x96, q4_k>, !lm.weight<33x96, q6_k>, !lm.weight<64x96, q8_0>)
        aux(%bias, %v : !lm.weight<70, f32>, !kernel.activation<64, f32>)
        outs(%q, %k, %v : !kernel.activation<70, f32>, !kernel.activation<33, f32>, !kernel.activation<64, f32>)
        attributes {aux_counts = array<i64: 1, 0, 1>, extent = #kernel.extent<rows>} {
      ^bb0(%acc: f32, %b: f32):
        %0 = arith.addf %acc, %b : f32
        kernel.yield %0 : f32
      }, {
      ^bb0(%acc: f32):
        kernel.yield %acc : f32
      }, {
      ^bb0(%acc: f32, %r: f32):
        %two = arith.constant 2.0 : f32
        %0 = arith.mulf %acc, %two : f32
        %1 = arith.addf %0, %r : f32
        kernel.yield %1 : f32
      }
      kernel.return
    })");
  int64_t rows = 9;
  Buffer<char> x = quantizeRows(randomRows(rows, 96, 4), rows, 96);
  Buffer<float> bias = randomRows(1, 70, 5), residual = randomRows(rows, 64, 6);
  BatchView batch{};
  batch.tokens = -1;
  batch.rows = rows; // extent = rows
  for (const Isa *isa : hostIsas())
    for (int64_t step : {1, 2, 4}) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> yq(rows * 96), yk(rows * 64), yv(rows * 64);
      std::memcpy(yv.data(), residual.data(), residual.bytes());
      for (int64_t begin = 0; begin < step; ++begin) // 3 + 2 + 2 panels
        code.call("qkv",
                  {x.data(), q.bytes.data(), kk.bytes.data(), v.bytes.data(), bias.data(),
                   yq.data(), yk.data(), yv.data()},
                  batch, begin, 7, step);
      EXPECT_TRUE(yq.intact() && yk.intact() && yv.intact());
      for (int64_t t = 0; t < rows; ++t) {
        const char *row = x.data() + t * q8Row(96).bytes;
        for (int64_t i = 0; i < 70; ++i)
          ASSERT_EQ(yq[t * 96 + i], fastProduct(q, i, row) + bias[i]);
        for (int64_t i = 0; i < 33; ++i)
          ASSERT_EQ(yk[t * 64 + i], fastProduct(kk, i, row));
        for (int64_t i = 0; i < 64; ++i)
          ASSERT_EQ(yv[t * 64 + i], fastProduct(v, i, row) * 2 + residual[t * 64 + i]);
      }
    }
}

std::string pairKernel(const RandomWeight &w, const char *kind,
                       const std::string &attributes = "") {
  std::string y = typeOf(kind, 97), weight = weightOf(w);
  return "kernel.func @pair(%x: !kernel.activation<96, q8>, %gate: " + weight + ", %up: " + weight +
         ", %y: " + y +
         ") {\n kernel.matmul %x : !kernel.activation<96, q8> weights(%gate, %up : " + weight +
         ", " + weight + ") outs(%y : " + y +
         ") attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated" +
         attributes + R"(} {
      ^bb0(%g: f32, %u: f32):
        %one = arith.constant 1.0 : f32
        %n = arith.negf %g : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %s = arith.divf %g, %d : f32
        %0 = arith.mulf %s, %u : f32
        kernel.yield %0 : f32
      }
      kernel.return
    })";
}

/// The formats are one whose codes are read from panels, and one that unpacks two panels for several tokens.
class MatmulPair : public testing::TestWithParam<WeightFormat> {};

TEST_P(MatmulPair, WithSilu) {
  RandomWeight gate(GetParam(), 97, 96, 1), up(GetParam(), 97, 96, 2);
  int64_t tokens = 13, width = 128;
  Buffer<char> x = quantizeRows(randomRows(tokens, 96, 4, 8), tokens, 96);
  KernelModule module(pairKernel(gate, "f32"));
  // Also use a tile with more tokens than an AVX2 register has lanes.
  KernelModule quantised(pairKernel(
      gate, "q8", ", schedule = #kernel.schedule<tiles = [11, 2, 1], block = 11, prefetch = 0>"));
  std::vector<Buffer<float>> results;
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa), q8Code(quantised, *isa);
    ASSERT_TRUE(code && q8Code);
    Buffer<float> &y = results.emplace_back(tokens * width);
    code.call("pair", {x.data(), gate.bytes.data(), up.bytes.data(), y.data()}, tokensOf(tokens), 0,
              4);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < width; ++i) {
        const char *row = x.data() + t * q8Row(96).bytes;
        double g = i < 97 ? fastProduct(gate, i, row) : 0, u = i < 97 ? fastProduct(up, i, row) : 0;
        double want = g / (1 + std::exp(-g)) * u;
        ASSERT_NEAR(y[t * width + i], want, 1e-6 * std::fabs(want) + 1e-9);
      }
    EXPECT_TRUE(y == results.front()) << "levels differ";
    // In every field, the quantised output is the quantisation of the f32 output.
    Buffer<char> want = quantizeRows(y, tokens, 97), got(want.bytes());
    q8Code.call("pair", {x.data(), gate.bytes.data(), up.bytes.data(), got.data()},
                tokensOf(tokens), 0, 4);
    EXPECT_TRUE(got.intact());
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < 128 + 20 * 4; ++i)
        ASSERT_EQ(got[t * q8Row(97).bytes + i], want[t * q8Row(97).bytes + i])
            << isa->name << " token " << t << " byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MatmulPair,
                         testing::Values(WeightFormat::Q4_0, WeightFormat::IQ2_XS));

/// Grid indices are looked up with permutes where the level has them, and gathered elsewhere.
TEST(MatmulGrid, LooksUpAsItsLevelCan) {
  KernelModule module(plainKernel(RandomWeight(WeightFormat::IQ2_XS, 32, 256, 1), "q8"));
  const auto counted = [&](const Isa &isa, const char *instruction) {
    auto text = printKernel(module, isa, CodeText::Assembly);
    return succeeded(text) && text->find(instruction) != std::string::npos;
  };
  for (const char *instruction : {"vpermt2b", "vpmultishiftqb", "vpermb"})
    EXPECT_TRUE(counted(kAvx512, instruction)) << instruction;
  EXPECT_FALSE(counted(kAvx512, "gather"));
  EXPECT_TRUE(counted(kAvx512Vnni, "vpgatherdd"));
  EXPECT_FALSE(counted(kAvx512Vnni, "vpermt2b"));
}

TEST(Matmul, QuantisesZerosAndDenormals) {
  RandomWeight w(WeightFormat::F32, 32, 1, 1);
  for (int r = 0; r < 32; ++r) {
    float value = 1;
    std::memcpy(w.bytes.data() + r * 4, &value, 4);
  }
  KernelModule module(R"(
    kernel.func @k(%x: !kernel.activation<1, f32>, %w: !lm.weight<32x1, f32>, %y: !kernel.activation<32, q8>) {
      kernel.matmul %x : !kernel.activation<1, f32> weights(%w : !lm.weight<32x1, f32>) outs(%y : !kernel.activation<32, q8>)
        attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
      ^bb0(%acc: f32):
        kernel.yield %acc : f32
      }
      kernel.return
    })");
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    for (float value : {0.0f, 1e-40f, -3.0f}) {
      Buffer<float> x(32);
      x[0] = value;
      Buffer<char> y(q8Row(32).bytes);
      code.call("k", {x.data(), w.bytes.data(), y.data()}, tokensOf(1), 0, 1);
      EXPECT_EQ(int(y[7]), value == -3.0f ? -127 : 0) << isa->name << " " << value;
      EXPECT_EQ(readAs<int32_t>(y.data() + q8Row(32).negSumOffset), value == -3.0f ? 32 * 127 : 0);
    }
  }
}

} // namespace
