//===- FewTokensTest.cpp - Kernels with ops fused for steps of few tokens --------===//
//
// In steps of few tokens, a projection also computes the norm before it, the projection of q, k and
// v also rotates and appends them, and the projection of the logits also finds the largest of each
// row. Their results must be bit-identical to those of the separate kernels.
//===----------------------------------------------------------------------===//
#include "CudaRunner.h"
#include "FragmentReference.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

struct Case {
  WeightFormat format;
  int64_t n, k, few;
  bool pair = false, rows = false; ///< rows: of logits, gathered
  bool lowBits = true;             ///< test the statistic's low bits, which bf16 rows would hide
};

/// The widths are not multiples of any tile. The statistic uses four warps below 1024 values and eight otherwise, and a
/// block has four or eight warps. All three possible combinations occur.
const Case kCases[] = {{WeightFormat::BF16, 35, 100, 8, false, false, /*lowBits=*/false},
                       {WeightFormat::Int4G128, 24, 1100, 4},
                       {WeightFormat::Q4_1, 40, 420, 8, /*pair=*/true},
                       {WeightFormat::BF16, 20, 2111, 2, false, /*rows=*/true},
                       {WeightFormat::IQ3_XXS, 24, 512, 4}};

/// Replaces the normed x with x times the lower half of the mean's bits (Dekker's split).
std::string withLowBits(std::string text) {
  const std::string normed = "%v = arith.mulf %u, %b : f32\n";
  const std::string lower =
      "%split = arith.constant 4097.0 : f32\n    %p = arith.mulf %m, %split : f32\n"
      "    %q = arith.subf %p, %m : f32\n    %high = arith.subf %p, %q : f32\n"
      "    %low = arith.subf %m, %high : f32\n    %v = arith.mulf %a, %low : f32\n";
  for (size_t at = 0; (at = text.find(normed, at)) != text.npos; at += lower.size())
    text.replace(at, normed.size(), lower);
  return text;
}

std::string textOf(const Case &c, size_t number) {
  const std::string n = std::to_string(number),
                    plain = c.pair ? gateUp("k" + n, c.format, c.n, c.k, true)
                                   : plainMatmul("k" + n, c.format, c.n, c.k, "f32", c.rows);
  std::string text = norm("n" + n, c.k, "bf16", c.rows) + plain +
                     counted(withNorm(plain, c.k, c.rows), "f" + n, 1, c.few);
  return c.lowBits ? withLowBits(text) : text;
}

void expectNorms(std::initializer_list<size_t> numbers) {
  std::string text;
  for (size_t i : numbers)
    text += textOf(kCases[i], i);
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &kernels) {
    for (size_t number : numbers) {
      const Case &c = kCases[number];
      const std::string name = "f" + std::to_string(number),
                        plain = "k" + std::to_string(number) + "_t8";
      const std::vector<CudaVariant> &variants = kernels.program(name).variants;
      ASSERT_EQ(variants.size(), 1u);
      EXPECT_EQ(variants[0].symbol, name + "_few");
      EXPECT_EQ(variants[0].grid[1](c.few, c.few, 0), 1);
      RandomFragments gate(c.format, c.n, c.k, 5), up(c.format, c.n, c.k, 8);
      const void *w0 = gpu.put(gate.bytes), *w1 = gpu.put(up.bytes);
      // One more token than the kernel is meant for: it is correct for every count.
      for (int64_t count = 1; count <= c.few + 1; ++count) {
        std::vector<float> rows = f32Rows(c.rows ? 12 : count, c.k, uint32_t(count)),
                           weight = f32Rows(1, c.k, 3);
        const void *in = gpu.put(rows), *inw = gpu.put(weight);
        BatchView batch{};
        (c.rows ? batch.rows : batch.tokens) = count;
        std::vector<int32_t> rowTokens;
        for (int64_t r = 0; r < count; ++r)
          rowTokens.push_back(int32_t((7 * r + 2) % 12));
        batch.rowTokens = gpu.put(rowTokens);

        auto run = [&](const std::string &symbol, const void *x) {
          size_t size = count * roundUp(c.n, c.pair ? 64 : 32) * (c.pair ? 2 : 4);
          uint8_t *y = gpu.make<uint8_t>(size, "y");
          gpu.holds(y, c.pair ? replay::Element::BF16 : replay::Element::F32);
          std::vector<const void *> operands{w0};
          if (c.pair)
            operands.push_back(w1);
          operands.push_back(y);
          if (x)
            operands.insert(operands.begin(), x);
          else
            operands.insert(operands.end(), {in, inw});
          gpu.launch(symbol, operands, batch);
          return gpu.get(y, size);
        };
        uint16_t *x = gpu.make<uint16_t>(count * roundUp(c.k, 64), "x");
        gpu.launch("n" + std::to_string(number), {in, inw, x}, batch);
        std::vector<uint8_t> want = run(plain, x);
        EXPECT_NE(std::count(want.begin(), want.end(), 0), ptrdiff_t(want.size()));
        ASSERT_EQ(run(name + "_few", nullptr), want) << name << ", " << count << " tokens";
      }
    }
  });
}

TEST(CudaFewTokens, NormInTheProjection) { expectNorms({1, 3, 4}); }
TEST(DISABLED_LongCudaFewTokens, NormInTheProjection) { expectNorms({0, 2}); }

/// The head's keys must equal those of the kernel that reads its logits: argmax_finish finds the same ids, and the
/// lower id among equal logits. Tile 1 of the weight repeats tile 0, so that there are ties. Row 1 has a zero input.
TEST(CudaFewTokens, KeysOfTheHead) {
  int64_t n = 43, k = 70, most = 35;
  const std::string head = plainMatmul("head", WeightFormat::BF16, n, k, "f32", 1);
  std::vector<CudaProgram> programs = emitAll(
      norm("select_norm", k, "bf16", true) + counted(withKeys(head, n), "head_keys", 3, 32) +
      counted(withKeys(withNorm(head, k, /*gather=*/true), n), "head", 1, 2) + samplingKernels(n));
  for (Build build : {Build{true, 1}, Build{false, 2}}) {
    SCOPED_TRACE(nameOf(build));
    HostKernels kernels(programs, build.checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, build.seed);
    RandomFragments weight(WeightFormat::BF16, n, k, 5);
    std::copy_n(weight.bytes.begin(), weight.layout.tileBytes(),
                weight.bytes.begin() + weight.layout.tileBytes());
    std::vector<float> in = f32Rows(most, k, 6);
    std::fill_n(in.begin() + roundUp(k, 32), k, 0.0f);
    std::vector<int32_t> rowTokens;
    for (int64_t r = 0; r < most; ++r)
      rowTokens.push_back(int32_t(r));
    const void *w = gpu.put(weight.bytes), *rows = gpu.put(in), *inw = gpu.put(f32Rows(1, k, 7));
    uint16_t *x = gpu.make<uint16_t>(most * roundUp(k, 64), "x");
    BatchView batch{};
    batch.rowTokens = gpu.put(rowTokens);
    batch.rows = most;
    gpu.launch("select_norm", {rows, inw, x}, batch);
    std::vector<CudaVariant> variants = kernels.program("head").variants;
    const size_t few = variants.size();
    llvm::append_range(variants, kernels.program("head_keys").variants);
    ASSERT_EQ(variants.size(), 4u) << "few, t8, t16, t32";
    for (const CudaVariant &variant : variants) {
      const bool computes = &variant < &variants[few];
      batch.rows = computes ? 2 : std::min<int64_t>(32, variant.maxCount);
      int64_t stride = roundUp(n, 32);
      float *logits = gpu.make<float>(batch.rows * stride, "logits");
      uint64_t *keys = gpu.put(std::vector<uint64_t>(batch.rows), "keys", false),
               *wantedKeys = gpu.put(std::vector<uint64_t>(batch.rows), "wanted", false);
      gpu.holds(keys, replay::Element::Key);
      gpu.launch(variant.symbol,
                 computes ? std::vector<const void *>{w, logits, rows, inw, keys}
                          : std::vector<const void *>{x, w, logits, keys},
                 batch);
      gpu.launch("argmax", {logits, wantedKeys}, batch);
      ASSERT_EQ(gpu.get(keys, batch.rows), gpu.get(wantedKeys, batch.rows)) << variant.symbol;
      int32_t *ids = gpu.make<int32_t>(batch.rows);
      gpu.launch("argmax_finish", {keys, ids}, batch);
      std::vector<float> values = gpu.get(logits, batch.rows * stride);
      for (int64_t r = 0; r < batch.rows; ++r) {
        auto row = values.begin() + r * stride;
        ASSERT_EQ(gpu.get(ids + r, 1)[0], std::max_element(row, row + n) - row)
            << variant.symbol << " row " << r;
      }
      if (batch.rows > 1)
        EXPECT_EQ(gpu.get(ids + 1, 1)[0], 0) << "all are equal";
      EXPECT_EQ(gpu.get(keys, batch.rows), std::vector<uint64_t>(batch.rows));
    }
  }
}

struct AppendCase {
  RopeProblem heads;
  WeightFormat qk, v;
  int64_t k, few; ///< few: largest token count with a fused norm; 0 if none
  bool bias;
};
/// The cases have rotation partners one and two tiles apart, and neighbouring partners in heads that end inside a tile
/// and rotate partly, with two main loops. Norms are fused for all few-token counts, for some, or for none.
const AppendCase kAppendCases[] = {
    {{3, 1, 64, 64, false, false}, WeightFormat::BF16, WeightFormat::BF16, 100, 4, false},
    {{4, 2, 32, 32, false, false}, WeightFormat::Q4_1, WeightFormat::Q4_1, 420, 8, true},
    {{2, 2, 40, 24, true, false}, WeightFormat::Q4_K, WeightFormat::Q6_K, 256, 0, true},
    {{3, 1, 64, 64, false, false}, WeightFormat::IQ2_XXS, WeightFormat::IQ1_M, 512, 4, false}};

/// Checks that q and the pool equal those of the separate norm, projections and rope_append, byte for byte.
void expectAppends(std::initializer_list<size_t> numbers) {
  std::string text;
  for (size_t i : numbers) {
    const AppendCase &c = kAppendCases[i];
    std::string n = std::to_string(i);
    int64_t d = c.heads.headDim;
    std::string qkv = projections(
        "qkv" + n, c.k,
        {{c.qk, c.heads.heads * d}, {c.qk, c.heads.kvHeads * d}, {c.v, c.heads.kvHeads * d}},
        c.bias);
    text += norm("norm" + n, c.k, "bf16") + ropeAppend("rope" + n, c.heads) + qkv +
            counted(withAppend(qkv, c.heads), "append" + n, 1, 8);
    if (c.few)
      text += counted(withAppend(withNorm(qkv, c.k), c.heads), "both" + n, 1, c.few);
  }
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &kernels) {
    const std::vector<int32_t> positions{31, 0, 3, 32, 64, 40, 65, 41, 70},
        sequenceOf{0, 1, 2, 0, 1, 2, 1, 2, 2}, blockTable{4, 2, 6, 0, 1, 5, 3, 7, 8};
    BatchView batch{};
    batch.positions = gpu.put(positions), batch.sequenceOf = gpu.put(sequenceOf);
    batch.blockTable = gpu.put(blockTable), batch.blockTableStride = 3;
    for (size_t number : numbers) {
      const AppendCase &c = kAppendCases[number];
      std::string n = std::to_string(number);
      int64_t d = c.heads.headDim, most = positions.size();
      int64_t widths[] = {c.heads.heads * d, c.heads.kvHeads * d, c.heads.kvHeads * d};
      std::vector<const void *> weights, biases;
      for (int s = 0; s < 3; ++s) {
        weights.push_back(
            gpu.put(RandomFragments(s < 2 ? c.qk : c.v, widths[s], c.k, 5 + s).bytes));
        if (c.bias)
          biases.push_back(gpu.put(f32Rows(1, widths[s], 9 + s)));
      }
      const void *in = gpu.put(f32Rows(most, c.k, 1)), *inw = gpu.put(f32Rows(1, c.k, 2)),
                 *table = gpu.put(f32Rows(most, c.heads.rotary, 3));
      const std::vector<uint8_t> empty(9 * roundUp(4 * c.heads.kvHeads * d * 32, 64), 0xee);
      using Made = std::pair<std::vector<float>, std::vector<uint8_t>>;
      auto run = [&](const std::string &symbol, const void *x, bool alone) { // null x: fused
        float *ys[3];
        for (int s = 0; s < 3; ++s)
          ys[s] = gpu.make<float>(batch.tokens * roundUp(widths[s], 32), "y");
        uint8_t *pool = gpu.put(empty, "pool", false);
        gpu.holds(pool, replay::Element::BF16);
        std::vector<const void *> operands;
        if (x)
          operands.push_back(x);
        operands.insert(operands.end(), weights.begin(), weights.end());
        operands.insert(operands.end(), biases.begin(), biases.end());
        operands.insert(operands.end(), ys, ys + (alone ? 1 : 3));
        if (!x)
          operands.insert(operands.end(), {in, inw});
        if (alone)
          operands.insert(operands.end(), {pool, table});
        gpu.launch(symbol, operands, batch);
        if (!alone)
          gpu.launch("rope" + n, {ys[0], ys[1], ys[2], pool, table}, batch);
        return Made(gpu.get(ys[0], batch.tokens * roundUp(widths[0], 32)),
                    gpu.get(pool, empty.size()));
      };
      for (batch.tokens = 1; batch.tokens <= most; batch.tokens += batch.tokens < 4 ? 1 : 2) {
        uint16_t *x = gpu.make<uint16_t>(batch.tokens * roundUp(c.k, 64), "x");
        gpu.launch("norm" + n, {in, inw, x}, batch);
        Made want = run("qkv" + n + "_t16", x, /*alone=*/false);
        EXPECT_NE(want.second, empty);
        ASSERT_EQ(run("append" + n + "_t8", x, /*alone=*/true), want) << batch.tokens << " tokens";
        if (c.few)
          ASSERT_EQ(run("both" + n + "_few", nullptr, /*alone=*/true), want)
              << batch.tokens << " tokens";
      }
    }
  });
}

TEST(CudaFewTokens, AppendInTheProjection) { expectAppends({0, 2, 3}); }
TEST(DISABLED_LongCudaFewTokens, AppendInTheProjection) { expectAppends({1}); }

} // namespace
