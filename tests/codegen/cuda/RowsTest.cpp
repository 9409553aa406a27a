//===- RowsTest.cpp - Row-wise, gather, rope and argmax kernels on the emulator ----===//
#include "CudaRunner.h"
#include "E4m3Reference.h"
#include "FragmentReference.h"

#include <cmath>
#include <numeric>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

TEST(CudaGather, EveryFormat) {
  std::string text;
  auto widthOf = [](WeightFormat format) { return numericFormat(format).superGroup ? 512 : 101; };
  for (int id = 0; id < kWeightFormatCount; ++id)
    text += gatherKernel("g" + std::to_string(id), WeightFormat(id), 50, widthOf(WeightFormat(id)));
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    std::vector<int32_t> ids{0, 49, 7, 8, 15, 16, 31, 49};
    BatchView batch{};
    batch.tokens = ids.size(), batch.ids = gpu.put(ids);
    for (int id = 0; id < kWeightFormatCount; ++id) {
      int64_t k = widthOf(WeightFormat(id)), width = roundUp(k, 32);
      RandomFragments weight(WeightFormat(id), 50, k, 3);
      float *y = gpu.make<float>(ids.size() * width);
      gpu.launch("g" + std::to_string(id), {gpu.put(weight.bytes), y}, batch);
      std::vector<float> got = gpu.get(y, ids.size() * width);
      for (size_t t = 0; t < ids.size(); ++t)
        for (int64_t i = 0; i < width; ++i)
          ASSERT_EQ(got[t * width + i], i < k ? weight.reader().value(ids[t], i) * 1.25f : 0.0f)
              << numericFormat(WeightFormat(id)).name << " id " << ids[t] << " at " << i;
    }
  });
}

TEST(CudaRowwise, Norms) {
  int64_t n = 100, tokens = 3;
  onEveryBuild(norm("round_0", n, "bf16") + norm("keep_0", n, "f32") +
                   norm("select_0", n, "bf16", true),
               [&](Emulated &gpu, const HostKernels &) {
                 std::vector<float> x = f32Rows(tokens, n, 1), w = f32Rows(1, n, 2);
                 std::vector<int32_t> rowTokens{2, 0};
                 BatchView batch{};
                 batch.tokens = tokens, batch.rows = 2, batch.rowTokens = gpu.put(rowTokens);
                 auto want = [&](int64_t t, int64_t i) {
                   double squares = 0;
                   for (int64_t j = 0; j < n; ++j)
                     squares += double(x[t * 128 + j]) * x[t * 128 + j];
                   return x[t * 128 + i] / std::sqrt(squares / n + 1e-5) * w[i];
                 };
                 auto *xs = gpu.put(x);
                 auto *ws = gpu.put(w);
                 uint16_t *rounded = gpu.make<uint16_t>(tokens * 128),
                          *selected = gpu.make<uint16_t>(2 * 128);
                 float *kept = gpu.make<float>(tokens * 128);
                 gpu.launch("round_0", {xs, ws, rounded}, batch);
                 gpu.launch("keep_0", {xs, ws, kept}, batch);
                 gpu.launch("select_0", {xs, ws, selected}, batch);
                 for (int64_t i = 0; i < 128; ++i) {
                   for (int64_t t = 0; t < tokens; ++t) {
                     float f = gpu.get(kept + t * 128 + i, 1)[0];
                     EXPECT_NEAR(f, i < n ? want(t, i) : 0, 1e-6);
                     EXPECT_EQ(gpu.get(rounded + t * 128 + i, 1)[0], toBf16(f));
                   }
                   for (int64_t r = 0; r < 2; ++r)
                     EXPECT_EQ(gpu.get(selected + r * 128 + i, 1)[0],
                               gpu.get(rounded + rowTokens[r] * 128 + i, 1)[0]);
                 }
               });
}

TEST(CudaRowwise, PermutesColumns) {
  const int64_t n = 70, tokens = 3;
  const std::string rows = activationType("f32", n), rounded = activationType("bf16", n),
                    columns = "!lm.weight<" + std::to_string(n) + ", f32>";
  const std::string text = "kernel.func @ordered(%x: " + rows + ", %c: " + columns +
                           ", %y: " + rounded + ") {\n  kernel.rowwise ins(%x : " + rows +
                           ") outs(%y : " + rounded + ") by %c : " + columns +
                           " attributes {extent = #kernel.extent<tokens>} {\n  ^bb0(%a: f32):\n"
                           "    kernel.yield %a : f32\n  }\n  kernel.return\n}\n";
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    const std::vector<float> x = f32Rows(tokens, n, 1);
    std::vector<float> order(96);
    for (int64_t i = 0; i < n; ++i)
      order[i] = float((i * 3 + 1) % n);
    BatchView batch{};
    batch.tokens = tokens;
    auto *y = gpu.make<uint16_t>(tokens * 128);
    gpu.launch("ordered", {gpu.put(x), gpu.put(order), y}, batch);
    const std::vector<uint16_t> got = gpu.get(y, tokens * 128);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(got[t * 128 + i], toBf16(x[t * 96 + int64_t(order[i])])) << t << ", " << i;
  });
}

/// Every op that a region may contain, in place.
TEST(CudaRowwise, RegionOps) {
  int64_t n = 70, tokens = 2;
  std::string rows = activationType("f32", n);
  std::string text =
      "kernel.func @ops(%x: " + rows + ", %y: " + rows + ") {\n  kernel.rowwise ins(%x : " + rows +
      ") outs(%y : " + rows +
      ") attributes {extent = #kernel.extent<tokens>} {\n  ^bb0(%a: f32):\n    %e = math.erf %a : f32\n    %t = "
      "math.tanh %a : f32\n"
      "    %c = arith.constant 0.1 : f32\n    %s = arith.subf %e, %c : f32\n    %f = math.fma %s, "
      "%t, %a : f32\n"
      "    %m = arith.maximumf %f, %c : f32\n    kernel.yield %m : f32\n  }\n  kernel.return\n}\n";
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    std::vector<float> x = f32Rows(tokens, n, 1);
    for (float &v : x)
      v *= 4;
    BatchView batch{};
    batch.tokens = tokens;
    float *y = gpu.put(x, "y", false);
    gpu.launch("ops", {y, y}, batch);
    std::vector<float> got = gpu.get(y, x.size());
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < n; ++i) {
        double a = x[t * 96 + i];
        EXPECT_NEAR(got[t * 96 + i], std::max((std::erf(a) - 0.1) * std::tanh(a) + a, 0.1), 2e-6);
      }
  });
}

/// The ops that passes/select/ScalarOps.cpp emits for mish, quick_gelu and relu2, each
/// result added to the next.
TEST(CudaRowwise, Activations) {
  int64_t n = 96, tokens = 2;
  std::string rows = activationType("f32", n);
  std::string text = "kernel.func @ops(%x: " + rows + ", %y: " + rows +
                     ") {\n  kernel.rowwise ins(%x : " + rows + ") outs(%y : " + rows +
                     R"() attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    %0 = arith.constant 0.0 : f32
    %1 = arith.constant 1.0 : f32
    %2 = arith.constant 2.0 : f32
    %20 = arith.constant 20.0 : f32
    %k = arith.constant 1.702 : f32
    %least = arith.minimumf %a, %20 : f32
    %e = math.exp %least : f32
    %e2 = arith.addf %e, %2 : f32
    %m = arith.mulf %e, %e2 : f32
    %m2 = arith.addf %m, %2 : f32
    %q = arith.divf %m, %m2 : f32
    %mish = arith.mulf %a, %q : f32
    %ka = arith.mulf %k, %a : f32
    %negative = arith.negf %ka : f32
    %f = math.exp %negative : f32
    %f1 = arith.addf %f, %1 : f32
    %quick = arith.divf %a, %f1 : f32
    %r = arith.maximumf %a, %0 : f32
    %r2 = arith.mulf %r, %r : f32
    %s = arith.addf %mish, %quick : f32
    %all = arith.addf %s, %r2 : f32
    kernel.yield %all : f32
  }
  kernel.return
}
)";
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    std::vector<float> x = f32Rows(tokens, n, 1);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = i % 7 ? x[i] * 8 : float(i) - 90; // far into both tails as well
    BatchView batch{};
    batch.tokens = tokens;
    float *y = gpu.put(x, "y", false);
    gpu.launch("ops", {y, y}, batch);
    std::vector<float> got = gpu.get(y, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      double a = x[i], mish = a * std::tanh(std::log1p(std::exp(a))),
             quick = a / (1 + std::exp(-1.702 * a)), relu = std::max(a, 0.0);
      EXPECT_NEAR(got[i], mish + quick + relu * relu, 1e-5 * std::max(1.0, relu * relu)) << a;
    }
  });
}

TEST(CudaRope, Tables) {
  onEveryBuild(ropeTable("a10", 10) + ropeTable("a40", 40),
               [&](Emulated &gpu, const HostKernels &) {
                 std::vector<int32_t> positions{0, 1, 7, 511, 131071, 1000003};
                 BatchView batch{};
                 batch.tokens = positions.size(), batch.positions = gpu.put(positions);
                 for (int64_t count : {10, 40}) {
                   int64_t width = roundUp(2 * count, 32);
                   std::vector<float> f(roundUp(count, 32));
                   for (int64_t i = 0; i < count; ++i)
                     f[i] = std::pow(10000.0f, -float(i) / float(count));
                   float *table = gpu.make<float>(positions.size() * width);
                   gpu.launch("a" + std::to_string(count), {gpu.put(f), table}, batch);
                   std::vector<float> got = gpu.get(table, positions.size() * width);
                   for (size_t t = 0; t < positions.size(); ++t)
                     for (int64_t i = 0; i < width; ++i) {
                       double angle = float(positions[t]) * f[i % count];
                       float want = i < count       ? float(std::cos(angle)) * 1.25f
                                    : i < 2 * count ? float(std::sin(angle)) * 1.25f
                                                    : 0;
                       EXPECT_NEAR(got[t * width + i], want, 1.2e-7) << positions[t] << " at " << i;
                     }
                 }
               });
}

void normalise(double *x, const float *w, int64_t n, bool centred) {
  double squares = 0, mean = centred ? std::accumulate(x, x + n, 0.0) / double(n) : 0;
  for (int64_t i = 0; i < n; ++i)
    x[i] -= mean;
  for (int64_t i = 0; i < n; ++i)
    squares += x[i] * x[i];
  for (int64_t i = 0; i < n; ++i)
    x[i] = x[i] / std::sqrt(squares / n + 1e-6) * (w[i] + 1.0);
}
void rotate(double *x, const float *table, int64_t rotary, bool interleaved) {
  for (int64_t i = 0; i < rotary / 2; ++i) {
    double &a = x[interleaved ? 2 * i : i], &b = x[interleaved ? 2 * i + 1 : i + rotary / 2];
    double c = table[i], s = table[rotary / 2 + i], first = a * c - b * s;
    b = b * c + a * s, a = first;
  }
}

TEST(CudaRope, Append) {
  const RopeProblem problems[] = {{9, 3, 64, 64, false, false},
                                  {4, 1, 256, 256, false, true},
                                  {4, 2, 80, 32, true, false},
                                  {3, 1, 80, 20, true, true},
                                  {2, 2, 7, 6, false, true},
                                  {2, 1, 72, 0, false, false},
                                  {2, 1, 72, 0, false, true},
                                  {4, 2, 64, 64, false, true, true},
                                  {3, 1, 20, 0, true, false, true},
                                  {4, 2, 64, 32, false, true, false, true, true},
                                  {3, 1, 20, 20, true, true, true, true, true},
                                  {2, 2, 7, 6, false, true, false, true, false},
                                  {2, 1, 72, 0, false, true, false, false, true}};
  std::string text;
  for (size_t i = 0; i < std::size(problems); ++i)
    text += ropeAppend("r" + std::to_string(i), problems[i]);
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    std::vector<int32_t> positions{31, 32, 0, 64, 65}, sequenceOf{0, 0, 1, 1, 1},
        blockTable{4, 2, 6, 0, 1, 5};
    int64_t tokens = 5, pages = 7;
    BatchView batch{};
    batch.tokens = tokens, batch.positions = gpu.put(positions),
    batch.sequenceOf = gpu.put(sequenceOf);
    batch.blockTable = gpu.put(blockTable), batch.blockTableStride = 3;
    for (size_t number = 0; number < std::size(problems); ++number) {
      const RopeProblem &p = problems[number];
      int64_t d = p.headDim, qWidth = roundUp(p.heads * d, 32), kWidth = roundUp(p.kvHeads * d, 32),
              tWidth = roundUp(p.rotary, 32);
      int64_t vectors = 2 * p.kvHeads * 32; // per page
      int64_t pageBytes = roundUp(vectors * (p.fp8 ? d + 4 : 2 * d), 64);
      std::vector<float> q = f32Rows(tokens, p.heads * d, 1), k = f32Rows(tokens, p.kvHeads * d, 2),
                         v = f32Rows(tokens, p.kvHeads * d, 3),
                         table = f32Rows(tokens, p.rotary, 4),
                         qn = f32Rows(1, d * (p.own ? p.heads : 1), 5),
                         kn = f32Rows(1, d * (p.own ? p.kvHeads : 1), 6);
      float *qs = gpu.put(q, "q", false);
      std::vector<uint8_t> empty(pages * pageBytes, 0xee);
      uint8_t *pool = gpu.put(empty, "pool", false);
      gpu.holds(pool, p.fp8 ? replay::Element::E4M3 : replay::Element::BF16, 0,
                vectors * d * (p.fp8 ? 1 : 2), pageBytes);
      if (p.fp8)
        gpu.holds(pool, replay::Element::F32, vectors * d, vectors * 4, pageBytes);
      std::vector<const void *> operands{qs, gpu.put(k), gpu.put(v), pool};
      if (p.rotary)
        operands.push_back(gpu.put(table));
      if (p.norm)
        operands.push_back(gpu.put(qn)), operands.push_back(gpu.put(kn));
      if (p.fp8 && !p.rotary) { // token 0: zeros; token 1: largest 448 at scale 1, with ties
        std::fill_n(v.begin(), kWidth, 0.0f);
        const float ties[] = {448, -17, 19, 0.0009765625f, 0.0029296875f, 300, -0.0f, 432, 433, 15};
        std::copy(std::begin(ties), std::end(ties), v.begin() + kWidth);
        v[2 * kWidth + 3] = INFINITY, v[3 * kWidth + 1] = NAN;
        operands[2] = gpu.put(v);
      }
      gpu.launch("r" + std::to_string(number), operands, batch);
      std::vector<float> gotQ = gpu.get(qs, q.size());
      std::vector<uint8_t> gotPool = gpu.get(pool, empty.size());
      size_t written = 0;
      for (int64_t t = 0; t < tokens; ++t) {
        auto head = [&](const std::vector<float> &rows, int64_t width, int64_t h,
                        const std::vector<float> &norm) {
          std::vector<double> x(rows.begin() + t * width + h * d,
                                rows.begin() + t * width + (h + 1) * d);
          if (p.norm)
            normalise(x.data(), norm.data() + (p.own ? h * d : 0), d, p.centred);
          if (p.rotary)
            rotate(x.data(), table.data() + t * tWidth, p.rotary, p.interleaved);
          return x;
        };
        for (int64_t h = 0; h < p.heads; ++h) {
          std::vector<double> want = head(q, qWidth, h, qn);
          for (int64_t i = 0; i < d; ++i)
            ASSERT_NEAR(gotQ[t * qWidth + h * d + i], want[i], 1e-5) << number << " token " << t;
        }
        int64_t page = blockTable[sequenceOf[t] * 3 + positions[t] / 32], slot = positions[t] % 32;
        const uint8_t *base = gotPool.data() + page * pageBytes;
        const uint16_t *keys = reinterpret_cast<const uint16_t *>(base),
                       *values = keys + p.kvHeads * 32 * d;
        for (int64_t h = 0; h < p.kvHeads && p.fp8; ++h, written += 2 * d + 8)
          for (bool value : {false, true}) {
            int64_t index = ((value ? p.kvHeads : 0) + h) * 32 + slot;
            float scale = reinterpret_cast<const float *>(base + vectors * d)[index], most = 0;
            std::vector<double> want = head(k, kWidth, h, kn);
            if (value)
              want.assign(v.begin() + t * kWidth + h * d, v.begin() + t * kWidth + (h + 1) * d);
            bool finite = std::ranges::all_of(want, [](double x) { return std::isfinite(x); });
            for (double x : want)
              most = std::max(most, float(std::abs(x)));
            EXPECT_EQ(std::isnan(scale), !finite) << number << " token " << t;
            if (!finite)
              continue;
            EXPECT_NEAR(scale, most == 0 ? 1 : most / 448, 1e-5 * scale);
            for (int64_t i = 0; i < d; ++i) {
              uint8_t code = base[index * d + i];
              if (value) // exact inputs have exact codes
                ASSERT_EQ(code, toE4m3(float(want[i]) / scale))
                    << number << " token " << t << " " << i;
              else
                ASSERT_NEAR(fromE4m3(code) * scale, want[i],
                            std::max(std::abs(want[i]) / 15.9, 0.0011 * scale));
            }
          }
        for (int64_t h = 0; h < p.kvHeads && !p.fp8; ++h) {
          std::vector<double> want = head(k, kWidth, h, kn);
          for (int64_t i = 0; i < d; ++i, written += 4) {
            ASSERT_NEAR(fromBf16(keys[(h * 32 + slot) * d + i]), want[i],
                        1e-5 + std::abs(want[i]) / 255)
                << number << " token " << t;
            ASSERT_EQ(values[(h * 32 + slot) * d + i], toBf16(v[t * kWidth + h * d + i]));
          }
        }
      }
      EXPECT_GE(size_t(std::count(gotPool.begin(), gotPool.end(), 0xee)), empty.size() - written)
          << "wrote elsewhere";
    }
  });
}

TEST(CudaSample, Argmax) {
  int64_t width = 5003, stride = roundUp(width, 32), rows = 7;
  std::vector<CudaProgram> programs = emitAll(samplingKernels(width));
  for (bool checked : {true, false}) {
    HostKernels kernels(programs, checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, 5);
    std::vector<float> logits = f32Rows(rows, width, 3);
    logits[17] = logits[4999] = 2.0f; // a tie: the first wins
    for (int64_t i = 0; i < width; ++i)
      logits[stride + i] = -5.0f - float(i % 7);
    logits[stride + 2500] = -1.0f;
    logits[2 * stride] = NAN;
    logits[2 * stride + 5002] = 1.5f;
    auto fill = [&](int64_t row, float value) {
      std::fill_n(logits.begin() + row * stride, width, value);
    };
    fill(3, NAN);
    fill(4, -INFINITY), logits[4 * stride] = NAN;
    fill(5, -1.0f), logits[5 * stride + 70] = -0.0f, logits[5 * stride + 90] = 0.0f;
    fill(6, -0.0f), logits[6 * stride + 4000] = INFINITY, logits[6 * stride + 4001] = INFINITY;
    uint64_t *keys = gpu.put(std::vector<uint64_t>(rows), "keys", false);
    int32_t *ids = gpu.make<int32_t>(rows);
    BatchView batch{};
    batch.rows = rows;
    for (int step = 0; step < 2; ++step) { // the keys are reset for the next step
      gpu.launch("argmax", {gpu.put(logits), keys}, batch);
      gpu.launch("argmax_finish", {keys, ids}, batch);
      EXPECT_EQ(gpu.get(ids, rows), (std::vector<int32_t>{17, 2500, 5002, 0, 1, 70, 4000}));
    }
  }
}

} // namespace
