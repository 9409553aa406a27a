//===- MatmulTest.cpp - Projections on the emulator against scalar C++ ------===//
#include "CudaRunner.h"
#include "Fp8RowsReference.h"
#include "FragmentReference.h"
#include "runtime/formats/E4M3.h"

#include <cmath>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

/// Σ w x in f64, and Σ |w x| as the unit of errors.
struct Product {
  double value = 0, size = 0;
};
Product productOf(const FragmentReader &w, int64_t row, const uint16_t *x, int64_t k) {
  Product p;
  for (int64_t i = 0; i < k; ++i) {
    double term = double(w.value(row, i)) * fromBf16(x[i]);
    p.value += term, p.size += std::abs(term);
  }
  return p;
}

BatchView tokensOf(int64_t tokens) {
  BatchView batch{};
  batch.tokens = tokens;
  batch.rows = -1; // must not be used
  return batch;
}

struct Shape {
  int64_t n, k;
};

/// Checks every variant of y = x w^T, with up to `most` tokens, against the reference's numbers and
/// against the bits of the variants before.
void expectVariants(const HostKernels &kernels, Build run, WeightFormat format, Shape shape,
                    int64_t most) {
  int64_t width = roundUp(shape.n, 32), rowWidth = roundUp(shape.k, 64);
  RandomFragments weight(format, shape.n, shape.k, 5);
  std::vector<uint16_t> x = bf16Rows(most, shape.k, 6);
  Emulated gpu(kernels, run.seed);
  auto *w = gpu.put(weight.bytes, "w");
  // Boxes of tensor copies extend past the step's tokens, and here past everything that was
  // written.
  auto *xs = gpu.putBefore(x, 70 * rowWidth, "x");
  std::vector<float> first;
  const CudaProgram &program = kernels.program("k" + std::to_string(shape.k));
  for (const CudaVariant &variant : program.variants) {
    int64_t tokens = variant.maxCount == kUnlimited ? most : std::min(most, variant.maxCount + 3);
    float *y = gpu.make<float>(tokens * width, "y");
    gpu.launch(variant.symbol, {xs, w, y}, tokensOf(tokens));
    std::vector<float> got = gpu.get(y, tokens * width);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t row = 0; row < width; ++row) {
        float value = got[t * width + row];
        if (row >= shape.n) {
          ASSERT_EQ(value, 0.0f) << variant.symbol << " pads with zeros";
        } else if (first.size() > size_t(t * width + row)) {
          ASSERT_EQ(value, first[t * width + row])
              << nameOf(run) << " " << variant.symbol << " token " << t << " row " << row
              << ": not the bits of " << program.variants.front().symbol;
        } else {
          Product want = productOf(weight.reader(), row, x.data() + t * rowWidth, shape.k);
          ASSERT_NEAR(value, want.value, 2e-6 * want.size + 1e-9)
              << nameOf(run) << " " << variant.symbol << " " << shape.n << "x" << shape.k
              << " token " << t << " row " << row;
        }
      }
    if (got.size() > first.size())
      first = got;
  }
}

class CudaMatmul : public testing::TestWithParam<WeightFormat> {};

/// Checks all builds and schedules. The second build's first schedule gets `most` tokens, and the others get `few`.
void expectEveryBuild(WeightFormat format, const std::vector<Shape> &shapes, EmitOptions options,
                      int64_t most, int64_t few) {
  std::string text;
  for (Shape shape : shapes)
    text += plainMatmul("k" + std::to_string(shape.k), format, shape.n, shape.k);
  std::vector<CudaProgram> programs = emitAll(text, options);
  std::unique_ptr<HostKernels> built; // one build serves several seeds
  for (Build run : {Build{true, 1}, Build{false, 2}, Build{false, 3}}) {
    if (!built || built->checked != run.checked)
      built = std::make_unique<HostKernels>(programs, run.checked);
    ASSERT_TRUE(bool(*built));
    for (Shape shape : shapes)
      expectVariants(*built, run, format, shape, run.seed == 2 ? most : few);
  }
}

/// Token counts around each variant's own.
TEST_P(CudaMatmul, EveryVariantEveryBatch) {
  WeightFormat format = GetParam();
  const NumericFormat &numeric = numericFormat(format);
  // N and K are not multiples of any tile, except that K is a multiple of a super-block. Seven
  // blocks of 64 are split into four parts; groups of 128 are cut in the middle.
  std::vector<Shape> shapes{numeric.superGroup ? Shape{35, 1280} : Shape{35, 420}};
  // One block for four parts: three of the parts are empty.
  if (format == WeightFormat::BF16 || format == WeightFormat::Int4G128)
    shapes.push_back({16, 37});
  if (format == WeightFormat::Q6_K)
    shapes.push_back({16, 256});
  expectEveryBuild(format, shapes, {}, /*most=*/67, /*few=*/11);
}

/// Tests wgmma. K wraps around the ring of stages twice and ends in half a group of 128. There are two blocks in each
/// direction: a cluster whose second block has few rows, and 256 tokens for a float weight. The last shape has fewer
/// runs than there are stages, and a block without rows.
TEST_P(CudaMatmul, Wgmma) {
  WeightFormat format = GetParam();
  bool super = numericFormat(format).superGroup;
  std::vector<Shape> shapes{super ? Shape{147, 1280} : Shape{147, 557}};
  if (format == WeightFormat::BF16 || format == WeightFormat::Int4G128)
    shapes.push_back({16, 37});
  if (format == WeightFormat::Q6_K)
    shapes.push_back({16, 256});
  EmitOptions options;
  options.wgmma = true;
  expectEveryBuild(format, shapes, options, /*most=*/numericFormat(format).isFloat() ? 259 : 131,
                   /*few=*/73);
}

/// A kernel that reads the same weight as 4-bit codes of a table must give the same bits.
TEST(CudaMatmulGrids, SumsAreThoseOfCodes) {
  const int64_t n = 19, k = 512, tokens = 8;
  const std::vector<uint16_t> x = bf16Rows(tokens, k, 6);
  for (int id = 0; id < kWeightFormatCount; ++id) {
    NumericFormat format = numericFormat(WeightFormat(id));
    if (!format.grid)
      continue;
    const RandomFragments grid(format.id, n, k, 5);
    const std::string plain = plainMatmul("k", format.id, n, k);
    std::vector<CudaProgram> programs =
        emitAll(counted(plain, "grid", 1, 8) + counted(plain, "codes", 1, 8));
    std::string &text = programs[1].source;
    const size_t from = text.find("GridFormat<"), table = text.find("Table<", from),
                 end = text.find("Entries_", table);
    text.replace(from, text.find('>', end) + 1 - from,
                 "CodeFormat<4, " + std::to_string(format.group) + ", " +
                     std::to_string(format.zeroPoint) + ", false, true, Scale::F32, false, " +
                     text.substr(table, text.find('>', table) + 1 - table) + ">");

    format.grid = nullptr, format.packing = NumericFormat::Packing::Planes;
    FragmentLayout layout = grid.layout;
    layout.runBytes = codeBytesOfGroup(4);
    layout.scaleOffset = 4 * layout.runBytes;
    layout.subScaleOffset = layout.scaleOffset + 4 * kFragmentRows;
    layout.blockBytes = roundUp(layout.subScaleOffset + 256 / format.group * kFragmentRows, 64);
    std::vector<uint8_t> codes(size_t(layout.bytes()));
    for (int64_t row = 0; row < n; ++row)
      for (int64_t i = 0; i < k; ++i) {
        putCode(codePlace(layout, format, row, i), 4, codes.data(), grid.reader().code(row, i));
        const ScalePlaces places = scalePlaces(layout, format, row, i);
        const float d = grid.reader().d(row, i);
        std::memcpy(&codes[size_t(places.d)], &d, sizeof d);
        codes[size_t(places.s)] = uint8_t(grid.reader().s(row, i));
      }
    HostKernels kernels(programs, /*checked=*/false);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, 2);
    std::vector<float> sums[2];
    for (bool coded : {false, true}) {
      float *y = gpu.make<float>(tokens * 32, "y");
      gpu.launch(coded ? "codes_t8" : "grid_t8",
                 {gpu.put(x), gpu.put(coded ? codes : grid.bytes), y}, tokensOf(tokens));
      sums[coded] = gpu.get(y, tokens * 32);
    }
    EXPECT_EQ(sums[0], sums[1]) << format.name;
  }
}

/// Uses more tokens than one square of blocks holds, so that the last blocks start another, lower square, and an odd
/// number of row blocks.
TEST(CudaMatmulWgmma, EveryBlockHasItsPlace) {
  EmitOptions options;
  options.wgmma = true;
  HostKernels kernels(emitAll(plainMatmul("k37", WeightFormat::BF16, 600, 37), options), false);
  ASSERT_TRUE(bool(kernels));
  expectVariants(kernels, {false, 2}, WeightFormat::BF16, {600, 37}, 2048 + 300);
}

INSTANTIATE_TEST_SUITE_P(All, CudaMatmul, eachKindOfFormat(), nameOfFormat);
INSTANTIATE_TEST_SUITE_P(DISABLED_Long, CudaMatmul, otherFormats(), nameOfFormat);

//===----------------------------------------------------------------------===//
// Rows of f32
//===----------------------------------------------------------------------===//

struct F32Problem {
  int64_t k;
  std::vector<std::pair<WeightFormat, int64_t>> outputs;
  std::string name() const { return "k" + std::to_string(k); }
};

/// Tests projections with biases. Results must match f64 within the error of f32 sums of that many products, which is
/// far smaller than the error of bf16 rows. A token's bits must be the same in both variants and in every batch.
void expectF32(const HostKernels &kernels, Build run, const F32Problem &problem) {
  constexpr int64_t kMost = 35;
  const int64_t k = problem.k, rowWidth = roundUp(k, 32);
  const std::vector<float> x = f32Rows(kMost, k, 6);
  Emulated gpu(kernels, run.seed);
  std::vector<RandomPanels> weights;
  std::vector<std::vector<float>> biases;
  std::vector<const void *> inputs{gpu.putBefore(x, rowWidth, "x")};
  for (auto [format, n] : problem.outputs) {
    weights.emplace_back(format, n, k, uint32_t(5 + n));
    inputs.push_back(gpu.put(weights.back().bytes, "w"));
  }
  for (auto [format, n] : problem.outputs) {
    biases.push_back(f32Rows(1, n, uint32_t(n)));
    inputs.push_back(gpu.put(biases.back(), "bias"));
  }
  std::map<std::tuple<size_t, int64_t, int64_t>, float> first; // by segment, token, row
  for (const CudaVariant &variant : kernels.program(problem.name()).variants)
    for (int64_t tokens : {int64_t(1), int64_t(11), kMost}) {
      std::vector<float *> outputs;
      std::vector<const void *> operands = inputs;
      for (auto [format, n] : problem.outputs) {
        outputs.push_back(gpu.make<float>(tokens * roundUp(n, 32), "y"));
        operands.push_back(outputs.back());
      }
      gpu.launch(variant.symbol, operands, tokensOf(tokens));
      for (size_t s = 0; s < outputs.size(); ++s) {
        const int64_t n = problem.outputs[s].second, width = roundUp(n, 32);
        const std::vector<float> got = gpu.get(outputs[s], tokens * width);
        for (int64_t t = 0; t < tokens; ++t)
          for (int64_t row = 0; row < width; ++row) {
            const float value = got[t * width + row];
            if (row >= n) {
              ASSERT_EQ(value, 0.0f) << variant.symbol << " pads with zeros";
              continue;
            }
            auto [known, fresh] = first.try_emplace({s, t, row}, value);
            ASSERT_EQ(value, known->second)
                << nameOf(run) << " " << variant.symbol << " segment " << s << " token " << t
                << " row " << row << " of " << tokens << ": not the bits of before";
            if (!fresh)
              continue;
            double want = biases[s][size_t(row)], size = std::abs(want);
            for (int64_t i = 0; i < k; ++i) {
              const double term = double(weights[s].value(row, i)) * x[t * rowWidth + i];
              want += term, size += std::abs(term);
            }
            ASSERT_NEAR(value, want, 5e-7 * size)
                << nameOf(run) << " " << variant.symbol << " segment " << s << " token " << t
                << " row " << row;
          }
      }
    }
}

/// The problems have a K that is or is not a multiple of four or of four quarters, and a K so small that most quarters
/// are empty. They also have an N that is not a multiple of any tile, and two formats in one launch.
TEST(CudaMatmulF32, BothVariantsEveryBatch) {
  using enum WeightFormat;
  const F32Problem problems[] = {{1100, {{F32, 70}, {F32, 1}}},
                                 {1030, {{BF16, 37}, {F32, 5}}},
                                 {43, {{F16, 32}, {BF16, 1}}},
                                 {1024, {{F16, 9}}}};
  std::string text;
  for (const F32Problem &problem : problems)
    text += projections(problem.name(), problem.k, problem.outputs, /*bias=*/true, "f32");
  const std::vector<CudaProgram> programs = emitAll(text);
  for (Build run : {Build{true, 1}, Build{false, 2}}) {
    HostKernels built(programs, run.checked);
    ASSERT_TRUE(bool(built));
    for (const F32Problem &problem : problems)
      expectF32(built, run, problem);
  }
}

//===----------------------------------------------------------------------===//
// Products in fp8
//===----------------------------------------------------------------------===//

/// Checks that the rows equal the reference's, and that the sums equal those of the rows in f64. `error` accumulates
/// the squared distance from the sums of bf16 rows.
void expectFp8(const HostKernels &kernels, uint32_t seed, WeightFormat format, Shape shape,
               int64_t tokens, double (&error)[2]) {
  int64_t k = shape.k, width = roundUp(shape.n, 32), stride = fp8RowBytes(k);
  RandomFragments weight(format, shape.n, k, 5);
  std::vector<uint16_t> x = bf16Rows(tokens, k, 6);
  for (int64_t i = 0; i < roundUp(k, 64); ++i)
    x[i] = 0; // a token of zeros
  std::vector<uint8_t> rows = fp8Of(x, tokens, k);
  std::string name = "k" + std::to_string(k);
  Emulated gpu(kernels, seed);
  auto *w = gpu.put(weight.bytes, "w");
  auto *xs = gpu.put(x, "x");
  auto *e = gpu.make<uint8_t>(tokens * stride, "fp8");
  float *y = gpu.make<float>(tokens * width, "y");
  gpu.launch("rows" + name, {xs, e}, tokensOf(tokens));
  std::vector<uint8_t> made = gpu.get(e, tokens * stride);
  std::vector<double> numbers(shape.n * k), xNumbers(tokens * k);
  for (int64_t row = 0; row < shape.n; ++row)
    for (int64_t i = 0; i < k; ++i)
      numbers[row * k + i] = weight.reader().value(row, i);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < k; ++i)
      xNumbers[t * k + i] = numberOf(&rows[t * stride], i, k);
  int64_t used = roundUp(k, 128) / 128 * 132;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < used; ++i)
      ASSERT_EQ(made[t * stride + i], rows[t * stride + i]) << "token " << t << " byte " << i;
  gpu.launch(name + "_wgmma_fp8", {xs, w, y, e}, tokensOf(tokens));
  std::vector<float> got = gpu.get(y, tokens * width);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t row = 0; row < width; ++row) {
      Product want;
      double exact = 0;
      for (int64_t i = 0; i < k && row < shape.n; ++i) {
        double w = numbers[row * k + i], term = w * xNumbers[t * k + i];
        want.value += term, want.size += std::abs(term);
        exact += w * fromBf16(x[t * roundUp(k, 64) + i]);
      }
      ASSERT_NEAR(got[t * width + row], want.value, 2e-6 * want.size)
          << shape.n << "x" << k << " token " << t << " row " << row;
      error[0] += (want.value - exact) * (want.value - exact);
      error[1] += exact * exact;
    }
}

/// In one shape, K wraps around the ring twice and ends inside a group; in the other, K is a part of one group. There
/// are more tokens than a block holds, and rows that are not a multiple of any tile.
TEST(CudaMatmulFp8, RowsAndSums) {
  EmitOptions options;
  options.wgmma = true;
  const Shape shapes[] = {{147, 1100}, {16, 37}};
  std::string text;
  for (Shape shape : shapes)
    text += plainMatmul("k" + std::to_string(shape.k), WeightFormat::Fp8Block128, shape.n, shape.k,
                        "f32", 0, true) +
            fp8Rows("rowsk" + std::to_string(shape.k), shape.k);
  std::vector<CudaProgram> programs = emitAll(text, options);
  std::unique_ptr<HostKernels> built;
  double error[2] = {};
  for (Build run : {Build{true, 1}, Build{false, 2}, Build{false, 3}}) {
    if (!built || built->checked != run.checked)
      built = std::make_unique<HostKernels>(programs, run.checked);
    ASSERT_TRUE(bool(*built));
    for (Shape shape : shapes)
      expectFp8(*built, run.seed, WeightFormat::Fp8Block128, shape, run.seed == 2 ? 131 : 70,
                error);
  }
  // This is the cost of rounding x to 3 bits of mantissa. docs/numerics.md has the figure.
  double relative = std::sqrt(error[0] / error[1]);
  RecordProperty("relative_error", std::to_string(relative));
  EXPECT_LT(relative, 0.04);
  EXPECT_GT(relative, 0.01) << "activations should have been rounded to E4M3";
}

TEST(CudaMatmulFp8, Pair) {
  int64_t n = 88, k = 320, tokens = 70;
  EmitOptions options;
  options.wgmma = true;
  std::vector<CudaProgram> programs =
      emitAll(gateUp("pair", WeightFormat::Fp8, n, k, false, true), options);
  RandomFragments gate(WeightFormat::Fp8, n, k, 5), up(WeightFormat::Fp8, n, k, 8);
  std::vector<uint16_t> x = bf16Rows(tokens, k, 6);
  std::vector<uint8_t> rows = fp8Of(x, tokens, k);
  for (bool checked : {true, false}) {
    HostKernels kernels(programs, checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, 4);
    uint16_t *y = gpu.make<uint16_t>(tokens * 128, "y");
    gpu.launch("pair_wgmma_fp8",
               {gpu.put(x), gpu.put(gate.bytes), gpu.put(up.bytes), y, gpu.put(rows)},
               tokensOf(tokens));
    std::vector<uint16_t> got = gpu.get(y, tokens * 128);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t row = 0; row < n; ++row) {
        double g = 0, u = 0;
        for (int64_t i = 0; i < k; ++i) {
          float number = numberOf(&rows[t * fp8RowBytes(k)], i, k);
          g += double(gate.reader().value(row, i)) * number;
          u += double(up.reader().value(row, i)) * number;
        }
        ASSERT_NEAR(fromBf16(got[t * 128 + row]), g * u, std::abs(g * u) / 200 + 1e-5)
            << "token " << t << " row " << row;
      }
  }
}

/// Architectures without wgmma generate no code for the fp8 rows.
TEST(CudaMatmulFp8, NobodyMakesRowsThatNobodyReads) {
  for (bool wgmma : {true, false}) {
    EmitOptions options;
    options.wgmma = wgmma;
    std::vector<CudaProgram> programs = emitAll(fp8Rows("rows", 256), options);
    EXPECT_EQ(programs[0].variants.size(), wgmma ? 1u : 0u);
  }
}

/// A kernel has only the variants that its counts can select; the last variant takes all larger
/// counts.
TEST(CudaMatmul, CountsChooseVariants) {
  auto suffixes = [](int64_t least, int64_t most) {
    EmitOptions options;
    options.wgmma = true;
    std::string text;
    const std::vector<CudaProgram> programs =
        emitAll(counted(plainMatmul("k", WeightFormat::BF16, 32, 64), "k", least, most), options);
    for (const CudaVariant &variant : programs[0].variants)
      text += variant.symbol.substr(1) +
              (variant.maxCount == kUnlimited ? "" : std::to_string(variant.maxCount));
    return text;
  };
  EXPECT_EQ(suffixes(1, 8), "_t8");
  EXPECT_EQ(suffixes(2, 9), "_t88_t16");
  EXPECT_EQ(suffixes(9, 1 << 20), "_t1616_t3232_t6464_wgmma128128_wgmma");
  EXPECT_EQ(suffixes(65, 100), "_wgmma128");
}

/// Returns one program with decode, prefill and wgmma loops. Each is correct for every batch.
std::vector<CudaProgram> everyLoop(const std::string &text) {
  EmitOptions options;
  options.wgmma = true;
  return emitAll(text, options);
}

TEST(CudaMatmulFusion, ResidualInPlace) {
  int64_t n = 144, k = 192, tokens = 9;
  for (WeightFormat format : {WeightFormat::Q4_0, WeightFormat::BF16}) {
    std::vector<CudaProgram> programs = everyLoop(residualMatmul("residual", format, n, k));
    for (bool checked : {true, false}) {
      HostKernels kernels(programs, checked);
      ASSERT_TRUE(bool(kernels));
      RandomFragments weight(format, n, k, 5);
      std::vector<uint16_t> x = bf16Rows(tokens, k, 6);
      std::vector<float> rows = f32Rows(tokens, n, 7);
      int64_t width = roundUp(n, 32);
      for (const CudaVariant &variant : kernels.programs[0].variants) {
        Emulated gpu(kernels);
        float *y = gpu.put(rows, "y", false);
        gpu.launch(variant.symbol, {gpu.put(x), gpu.put(weight.bytes), y, y}, tokensOf(tokens));
        std::vector<float> got = gpu.get(y, rows.size());
        for (int64_t t = 0; t < tokens; ++t)
          for (int64_t row = 0; row < n; ++row) {
            Product want = productOf(weight.reader(), row, x.data() + t * roundUp(k, 64), k);
            ASSERT_NEAR(got[t * width + row], want.value + rows[t * width + row],
                        2e-6 * (want.size + 1))
                << variant.symbol;
          }
      }
    }
  }
}

/// Tests gated pairs with bf16 outputs where N is not a multiple of 64, and the effect of SiLU on them.
void expectPairs(std::initializer_list<WeightFormat> formats) {
  int64_t n = 88, tokens = 10;
  for (WeightFormat format : formats) {
    const int64_t k = numericFormat(format).superGroup ? 5 * 256 : 320;
    std::vector<CudaProgram> programs = everyLoop(gateUp("pair", format, n, k, true));
    for (bool checked : {true, false}) {
      HostKernels kernels(programs, checked);
      ASSERT_TRUE(bool(kernels));
      RandomFragments gate(format, n, k, 5), up(format, n, k, 8);
      std::vector<uint16_t> x = bf16Rows(tokens, k, 6), first;
      for (const CudaVariant &variant : kernels.programs[0].variants) {
        Emulated gpu(kernels);
        uint16_t *y = gpu.make<uint16_t>(tokens * 128, "y");
        gpu.launch(variant.symbol, {gpu.put(x), gpu.put(gate.bytes), gpu.put(up.bytes), y},
                   tokensOf(tokens));
        std::vector<uint16_t> got = gpu.get(y, tokens * 128);
        if (!first.empty())
          ASSERT_EQ(got, first) << variant.symbol;
        first = got;
        for (int64_t t = 0; t < tokens; ++t)
          for (int64_t row = 0; row < 128; ++row) {
            if (row >= n) {
              ASSERT_EQ(got[t * 128 + row], 0) << variant.symbol;
              continue;
            }
            Product g = productOf(gate.reader(), row, x.data() + t * roundUp(k, 64), k);
            Product u = productOf(up.reader(), row, x.data() + t * roundUp(k, 64), k);
            double want = g.value / (1 + std::exp(-g.value)) * u.value;
            ASSERT_NEAR(fromBf16(got[t * 128 + row]), want,
                        std::abs(want) / 200 + 1e-5 * (g.size * std::abs(u.value) + u.size))
                << variant.symbol;
          }
      }
    }
  }
}

TEST(CudaMatmulFusion, PairToBf16) { expectPairs({WeightFormat::BF16, WeightFormat::Q4_1}); }
TEST(DISABLED_LongCudaMatmulFusion, PairToBf16) {
  expectPairs({WeightFormat::Int4G128, WeightFormat::Q4_K});
}

/// Segments of several widths and formats in one launch.
TEST(CudaMatmulFusion, Segments) {
  int64_t k = 256, tokens = 5;
  std::vector<std::pair<WeightFormat, int64_t>> outputs = {
      {WeightFormat::Q4_K, 40}, {WeightFormat::Q6_K, 24}, {WeightFormat::Q4_K, 17}};
  std::vector<CudaProgram> programs = everyLoop(projections("qkv", k, outputs));
  for (bool checked : {true, false}) {
    HostKernels kernels(programs, checked);
    ASSERT_TRUE(bool(kernels));
    std::vector<uint16_t> x = bf16Rows(tokens, k, 6);
    for (const CudaVariant &variant : kernels.programs[0].variants) {
      Emulated gpu(kernels);
      std::vector<RandomFragments> weights;
      std::vector<const void *> operands{gpu.put(x)};
      std::vector<float *> ys;
      for (auto [format, n] : outputs) {
        weights.emplace_back(format, n, k, 10 + n);
        operands.push_back(gpu.put(weights.back().bytes));
      }
      for (auto [format, n] : outputs) {
        ys.push_back(gpu.make<float>(tokens * roundUp(n, 32)));
        operands.push_back(ys.back());
      }
      gpu.launch(variant.symbol, operands, tokensOf(tokens));
      for (size_t s = 0; s < outputs.size(); ++s) {
        int64_t n = outputs[s].second, width = roundUp(n, 32);
        std::vector<float> got = gpu.get(ys[s], tokens * width);
        for (int64_t t = 0; t < tokens; ++t)
          for (int64_t row = 0; row < width; ++row) {
            Product want =
                row < n ? productOf(weights[s].reader(), row, x.data() + t * k, k) : Product();
            ASSERT_NEAR(got[t * width + row], want.value, 2e-6 * want.size)
                << variant.symbol << " segment " << s << " row " << row;
          }
      }
    }
  }
}

} // namespace
