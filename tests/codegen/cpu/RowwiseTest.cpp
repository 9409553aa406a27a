//===- RowwiseTest.cpp - Row-wise kernels against scalar C++, bit for bit --===//
#include "PanelReference.h"

#include <chrono>
#include <cstdio>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

std::string rows(int64_t n, const char *kind) {
  return "!kernel.activation<" + std::to_string(n) + ", " + kind + ">";
}
std::string vector(int64_t n) { return "!lm.weight<" + std::to_string(n) + ", f32>"; }

BatchView batchOf(int64_t count) {
  BatchView batch{};
  batch.tokens = batch.rows = count;
  return batch;
}

/// Computes a row_stat: 16 partial sums, then repeatedly adds one half to the other.
float mean(const std::vector<float> &values) {
  float part[16] = {};
  for (size_t i = 0; i < values.size(); ++i)
    part[i % 16] += values[i];
  for (int n = 8; n; n /= 2)
    for (int i = 0; i < n; ++i)
      part[i] += part[i + n];
  return part[0] / float(values.size());
}

std::vector<float> rmsNorm(const std::vector<float> &x, const float *w, float eps) {
  std::vector<float> squares(x), y(x);
  for (float &v : squares)
    v = v * v;
  float inverse = 1.0f / std::sqrt(mean(squares) + eps);
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * inverse * w[i];
  return y;
}

/// Returns a kernel that computes x += a and y = rms_norm(x) * w as f32; z is the same as q8.
std::string addNormKernel(int64_t n) {
  std::string f = rows(n, "f32"), q = rows(n, "q8"), w = vector(n);
  return "kernel.func @k(%x: " + f + ", %a: " + f + ", %w: " + w + ", %y: " + f + ", %z: " + q +
         ") {\n kernel.rowwise ins(%x, %a, %w : " + f + ", " + f + ", " + w +
         ") outs(%x, %y, %z : " + f + ", " + f + ", " + q +
         R"() attributes {extent = #kernel.extent<tokens>} {
           ^bb0(%xi: f32, %ai: f32, %wi: f32):
             %eps = arith.constant 1.0e-5 : f32
             %one = arith.constant 1.0 : f32
             %sum = arith.addf %xi, %ai : f32
             %square = arith.mulf %sum, %sum : f32
             %mean = kernel.row_stat mean %square : f32
             %shifted = arith.addf %mean, %eps : f32
             %root = math.sqrt %shifted : f32
             %inverse = arith.divf %one, %root : f32
             %scaled = arith.mulf %sum, %inverse : f32
             %normal = arith.mulf %scaled, %wi : f32
             kernel.yield %sum, %normal, %normal : f32, f32, f32
         }
         kernel.return
         })";
}

TEST(Rowwise, AddAndNormInPlace) {
  for (int64_t n : {7, 20, 97, 576, 640}) {
    int64_t count = 5, width = f32RowBytes(n) / 4;
    Buffer<float> a = randomRows(count, n, 2), w = randomRows(1, n, 3);
    KernelModule module(addNormKernel(n));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> x = randomRows(count, n, 1), before = randomRows(count, n, 1), y(count * width);
      Buffer<char> z(count * q8Row(n).bytes);
      std::memset(y.data(), 0xff, y.bytes());
      for (int64_t thread = 0; thread < 2; ++thread)
        code.call("k", {x.data(), a.data(), w.data(), y.data(), z.data()}, batchOf(count), thread,
                  count, 2);
      EXPECT_TRUE(x.intact() && y.intact() && z.intact());
      for (int64_t t = 0; t < count; ++t) {
        std::vector<float> sum(n);
        for (int64_t i = 0; i < n; ++i)
          sum[i] = before[t * width + i] + a[t * width + i];
        std::vector<float> normal = rmsNorm(sum, w.data(), 1e-5f);
        for (int64_t i = 0; i < width; ++i) {
          ASSERT_EQ(x[t * width + i], i < n ? sum[i] : 0.0f)
              << isa->name << " n " << n << " at " << i;
          ASSERT_EQ(y[t * width + i], i < n ? normal[i] : 0.0f)
              << isa->name << " n " << n << " at " << i;
        }
      }
      EXPECT_TRUE(z == quantizeRows(y, count, n)) << isa->name << " n " << n;
    }
  }
}

/// The rows have groups of zeros, groups of numbers too small to be scaled, numbers halfway between two codes, and
/// random numbers.
TEST(Rowwise, TwoPlanes) {
  int64_t n = 160, count = 3;
  KernelModule module("kernel.func @k(%x: " + rows(n, "f32") + ", %y: " + rows(n, "q8x2") +
                      ") {\n kernel.rowwise ins(%x : " + rows(n, "f32") + ") outs(%y : " +
                      rows(n, "q8x2") + R"() attributes {extent = #kernel.extent<tokens>} {
                        ^bb0(%xi: f32): kernel.yield %xi : f32
                      }
                      kernel.return
                      })");
  Buffer<float> x = randomRows(count, n, 5, 3);
  for (int64_t i = 0; i < 32; ++i) {
    x[i] = 0;
    x[32 + i] = i % 2 ? 1e-40f : -1e-41f;
    x[64 + i] = i ? float(i) + 0.5f : 127.0f;
    x[96 + i] = i == 7 ? 1e-36f : 3e-38f * float(i);
  }
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    Buffer<char> y(count * q8x2RowBytes(n));
    code.call("k", {x.data(), y.data()}, batchOf(count), 0, count);
    EXPECT_TRUE(y == quantizeRows(x, count, n, 2)) << isa->name;
  }
}

TEST(Rowwise, StatisticsFollowEachOther) { // in a layer norm the second statistic needs the first
  int64_t n = 83, count = 3, width = f32RowBytes(n) / 4;
  std::string f = rows(n, "f32");
  KernelModule module("kernel.func @k(%x: " + f + ", %y: " + f +
                      ") {\n kernel.rowwise ins(%x : " + f + ") outs(%y : " + f +
                      R"() attributes {extent = #kernel.extent<tokens>} {
                        ^bb0(%xi: f32):
                          %mean = kernel.row_stat mean %xi : f32
                          %d = arith.subf %xi, %mean : f32
                          %square = arith.mulf %d, %d : f32
                          %variance = kernel.row_stat mean %square : f32
                          %root = math.sqrt %variance : f32
                          %v = arith.divf %d, %root : f32
                          kernel.yield %v : f32
                      }
                      kernel.return
                      })");
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    Buffer<float> x = randomRows(count, n, 5), y(count * width);
    code.call("k", {x.data(), y.data()}, batchOf(count), 0, count);
    for (int64_t t = 0; t < count; ++t) {
      std::vector<float> row(x.data() + t * width, x.data() + t * width + n), squares(n);
      float m = mean(row);
      for (int64_t i = 0; i < n; ++i)
        squares[i] = (row[i] - m) * (row[i] - m);
      float root = std::sqrt(mean(squares));
      for (int64_t i = 0; i < width; ++i)
        ASSERT_EQ(y[t * width + i], i < n ? (row[i] - m) / root : 0.0f) << isa->name << " at " << i;
    }
  }
}

TEST(Rowwise, GathersRowsOfLogits) {
  int64_t n = 40, count = 6, width = f32RowBytes(n) / 4;
  std::string f = rows(n, "f32");
  KernelModule module("kernel.func @k(%x: " + f + ", %y: " + f +
                      ") {\n kernel.rowwise ins(%x : " + f + ") outs(%y : " + f +
                      R"() attributes {extent = #kernel.extent<rows>, gather} {
                        ^bb0(%xi: f32):
                          %one = arith.constant 1.0 : f32
                          %v = arith.addf %xi, %one : f32
                          kernel.yield %v : f32
                      }
                      kernel.return
                      })");
  int32_t rowTokens[] = {5, 0, 3};
  BatchView batch = batchOf(count);
  batch.rows = 3, batch.rowTokens = rowTokens;
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    Buffer<float> x = randomRows(count, n, 6), y(3 * width);
    code.call("k", {x.data(), y.data()}, batch, 0, 3);
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t i = 0; i < width; ++i) // the region turns padding into 1: it must stay 0
        ASSERT_EQ(y[r * width + i], i < n ? x[rowTokens[r] * width + i] + 1 : 0.0f)
            << isa->name << " at " << i;
    EXPECT_TRUE(y.intact());
  }
}

/// Permuted columns, as f32 and as codes.
TEST(Rowwise, PermutesColumns) {
  for (int64_t n : {7, 40, 97, 576}) {
    const int64_t count = 3, width = f32RowBytes(n) / 4;
    const std::string f = rows(n, "f32"), q = rows(n, "q8"), w = vector(n);
    KernelModule module("kernel.func @k(%x: " + f + ", %c: " + w + ", %y: " + f + ", %z: " + q +
                        ") {\n kernel.rowwise ins(%x : " + f + ") outs(%y, %z : " + f + ", " + q +
                        ") by %c : " + w + R"( attributes {extent = #kernel.extent<tokens>} {
                          ^bb0(%xi: f32): kernel.yield %xi, %xi : f32, f32
                        }
                        kernel.return
                        })");
    Buffer<float> x = randomRows(count, n, 7), columns(roundUp(n, 32));
    for (int64_t i = 0; i < n; ++i)
      columns[i] =
          float((i * 5 + 3) % n); // 5 is coprime to every width except 40, where columns repeat
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> y(count * width);
      Buffer<char> z(count * q8Row(n).bytes);
      code.call("k", {x.data(), columns.data(), y.data(), z.data()}, batchOf(count), 0, count);
      EXPECT_TRUE(y.intact() && z.intact());
      for (int64_t t = 0; t < count; ++t)
        for (int64_t i = 0; i < width; ++i)
          ASSERT_EQ(y[t * width + i], i < n ? x[t * width + int64_t(columns[i])] : 0.0f)
              << isa->name << " n " << n << " at " << i;
      EXPECT_TRUE(z == quantizeRows(y, count, n)) << isa->name << " n " << n;
    }
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Evaluates one function over x at every level of this machine; the levels must agree.
std::vector<float> evaluate(const std::string &function, const std::vector<float> &x) {
  int64_t n = x.size();
  std::string f = rows(n, "f32");
  KernelModule module(
      "kernel.func @k(%x: " + f + ", %y: " + f + ") {\n kernel.rowwise ins(%x : " + f +
      ") outs(%y : " + f +
      ") attributes {extent = #kernel.extent<tokens>} {\n ^bb0(%a: f32):\n %v = math." + function +
      " %a : f32\n kernel.yield %v : f32\n }\n kernel.return\n }");
  Buffer<float> in(roundUp(n, 32)), first(0);
  std::copy(x.begin(), x.end(), in.data());
  std::vector<float> y(n);
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    EXPECT_TRUE(code);
    Buffer<float> out(roundUp(n, 32));
    code.call("k", {in.data(), out.data()}, batchOf(1), 0, 1);
    if (isa != hostIsas().front())
      EXPECT_FALSE(std::memcmp(y.data(), out.data(), n * 4))
          << function << " differs between levels";
    std::copy_n(out.data(), n, y.begin());
  }
  return y;
}

std::vector<float> spread(double from, double to, int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i)
    x.push_back(float(from + (to - from) * i / (count - 1)));
  return x;
}

/// Returns the largest error in ulps of the true value.
double worstUlps(const std::vector<float> &x, const std::vector<float> &y,
                 double (*truth)(double)) {
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double want = truth(double(x[i]));
    double ulp = std::ldexp(1.0, std::max(std::ilogb(want), -126) - 23);
    worst = std::max(worst, std::abs(y[i] - want) / ulp);
  }
  return worst;
}

TEST(MathApproximation, Exp) {
  std::vector<float> x = spread(-87.33, 88.72, 40000);
  EXPECT_LE(worstUlps(x, evaluate("exp", x), std::exp), 1.0);
  float inf = std::numeric_limits<float>::infinity();
  std::vector<float> y = evaluate("exp", {0, -0.0f, -inf, -1e30f, -88, inf, 89, 1e30f, NAN});
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  for (int i : {2, 3, 4})
    EXPECT_EQ(y[i], 0) << i;
  for (int i : {5, 6, 7})
    EXPECT_EQ(y[i], inf) << i;
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST(MathApproximation, TanhErfSinCos) {
  std::vector<float> x = spread(-12, 12, 40001), angles = spread(-1e6, 1e6, 40000);
  EXPECT_LE(worstUlps(x, evaluate("tanh", x), std::tanh), 2.0);
  EXPECT_LE(worstUlps(x, evaluate("erf", x), std::erf), 2.0);
  EXPECT_LE(worstUlps(angles, evaluate("sin", angles), std::sin), 0.51);
  EXPECT_LE(worstUlps(angles, evaluate("cos", angles), std::cos), 0.51);
  float inf = std::numeric_limits<float>::infinity();
  for (const char *function : {"tanh", "erf"}) {
    std::vector<float> y = evaluate(function, {inf, -inf, 50, -50, 0, NAN});
    EXPECT_EQ(y[0], 1) << function;
    EXPECT_EQ(y[1], -1) << function;
    EXPECT_EQ(y[2], 1) << function;
    EXPECT_EQ(y[3], -1) << function;
    EXPECT_EQ(y[4], 0) << function;
    EXPECT_TRUE(std::isnan(y[5])) << function;
  }
}

// --gtest_also_run_disabled_tests --gtest_filter=*Speed*
TEST(RowwiseSpeed, DISABLED_AddNormQuantise) {
  for (int64_t n : {576, 2048}) {
    int64_t count = 64, width = f32RowBytes(n) / 4;
    Buffer<float> x = randomRows(count, n, 1), a(count * width), w = randomRows(1, n, 3),
                  y(count * width);
    Buffer<char> z(count * q8Row(n).bytes);
    KernelModule module(addNormKernel(n));
    BatchView batch = batchOf(count);
    void *args[] = {x.data(), a.data(), w.data(), y.data(), z.data()};
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      double best = 1e9;
      for (int round = 0; round < 200; ++round) {
        auto start = std::chrono::steady_clock::now();
        code["k"](args, &batch, 0, count, 1, nullptr, 0);
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::printf("%-7s add + norm + quantise, n %ld: %6.2f us a row\n",
                  std::string(isa->name).c_str(), long(n), best * 1e6 / double(count));
    }
  }
}

} // namespace
