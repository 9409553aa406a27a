//===- ArithmeticTest.cpp - Each op's results, worked out by hand ---------===//
#include "compiler/reference/Arithmetic.h"
#include "compiler/reference/Products.h"
#include "compiler/reference/Routes.h"
#include "compiler/reference/Weights.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ingot;
using namespace ingot::reference;

static Matrix rowsOf(int64_t columns, std::vector<float> values) {
  Matrix m(static_cast<int64_t>(values.size()) / columns, columns);
  m.values = std::move(values);
  return m;
}

static void expectValues(const Matrix &found, const std::vector<double> &expected) {
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.values[i], expected[i], 2e-6 * (1 + std::abs(expected[i]))) << i;
}

TEST(Arithmetic, RmsNorm) {
  std::vector<float> weight = {1, 2};
  double r = std::sqrt(12.5 + 0.5);
  expectValues(rmsNorm(rowsOf(2, {3, 4}), weight, 0.5f, 1, 0), {3 / r, 8 / r});
  expectValues(rmsNorm(rowsOf(2, {3, 4}), weight, 0.5f, 1, 1), {6 / r, 12 / r});
}

TEST(Arithmetic, RmsNormOfHeads) {
  std::vector<float> weight = {1, 2};
  double a = std::sqrt(12.5), b = std::sqrt(50.0);
  expectValues(rmsNorm(rowsOf(4, {3, 4, 6, 8}), weight, 0, 2, 0), {3 / a, 8 / a, 6 / b, 16 / b});
  std::vector<float> each = {1, 2, 3, 4};
  expectValues(rmsNorm(rowsOf(4, {3, 4, 6, 8}), each, 0, 2, 0), {3 / a, 8 / a, 18 / b, 32 / b});
}

TEST(Arithmetic, LayerNormOfHeads) { // heads have means 4 and 7 and deviations 1 and 3
  std::vector<float> weight = {1, 2}, each = {1, 2, 3, 4};
  expectValues(layerNorm(rowsOf(4, {3, 5, 4, 10}), weight, {}, 0, 2, 0), {-1, 2, -1, 2});
  expectValues(layerNorm(rowsOf(4, {3, 5, 4, 10}), each, {}, 0, 2, 0), {-1, 2, -3, 4});
}

TEST(Arithmetic, CausalConvRow) {
  // Three taps of two channels; the history advances by a row.
  std::vector<float> weight = {1, 2, 10, 20, 100, 200}, bias = {0.5f, -0.5f}, x = {7, 9};
  std::vector<float> history = {1, 2, 3, 4}, y(2);
  causalConvRow(x, weight, bias, history, y);
  EXPECT_EQ(y, (std::vector<float>{1 + 30 + 700 + 0.5f, 4 + 80 + 1800 - 0.5f}));
  EXPECT_EQ(history, (std::vector<float>{3, 4, 7, 9}));
  std::vector<float> one = {5, 6}; // two taps, no bias
  causalConvRow(x, std::span(weight).first(4), {}, one, y);
  EXPECT_EQ(y, (std::vector<float>{5 + 70, 12 + 180}));
  EXPECT_EQ(one, x);
}

TEST(Arithmetic, LayerNorm) {
  std::vector<float> weight = {1, 2, 1, 2}, bias = {10, 20, 30, 40};
  Matrix x = rowsOf(4, {1, 5, 3, 7}); // mean 4, variance 5
  double r = std::sqrt(5.25);
  expectValues(layerNorm(x, weight, {}, 0.25f, 1, 0), {-3 / r, 2 / r, -1 / r, 6 / r});
  expectValues(layerNorm(x, weight, bias, 0.25f, 1, 0),
               {10 - 3 / r, 20 + 2 / r, 30 - 1 / r, 40 + 6 / r});
  expectValues(layerNorm(x, weight, {}, 0.25f, 1, 1), {-6 / r, 3 / r, -2 / r, 9 / r});
}

TEST(Arithmetic, XieluBendsAtZero) {
  Matrix x = rowsOf(3, {2, -1, 0});
  std::vector<float> linear = {0.25f, 0.5f, 4}, positive = {0.5f, 7, 7}, negative = {9, 2, 9};
  expectValues(xielu(x, linear, positive, negative),
               {0.25 * 2 + 0.5 * 4, -0.5 + 2 * (std::exp(-1.0) - 1 + 1), 0});
}

TEST(Arithmetic, SwigluOaiIsBounded) {
  auto unit = [](double g, double u) { return (u + 1) * g / (1 + std::exp(-1.5 * g)); };
  expectValues(swigluOai(rowsOf(4, {1, 9, -9, 2}), rowsOf(4, {2, -9, 9, 0.5}), 1.5f, 3),
               {unit(1, 2), unit(3, -3), unit(-9, 3), unit(2, 0.5)});
}

TEST(Arithmetic, RowsAreScaledByTheirFactors) {
  expectValues(scaleRows(rowsOf(2, {1, 2, 3, 4}), rowsOf(1, {2, -1})), {2, 4, -3, -4});
}

/// For the first token, the second of three experts ranks best because of its bias, but its weight
/// is its score without the bias.
TEST(Routes, BiasesChooseAndScoresWeigh) {
  const RouteRules rules{
      3, 2, lm::RouteScore::None, lm::RouteNorm::Sum, 1, 1, lm::GroupScore::Max, 0, 0, 3};
  const std::vector<float> logits = {4, 1, 2}, bias = {0, 9, 0}, scale = {1, 10, 100};
  std::vector<int32_t> experts(2);
  std::vector<float> weights(2);
  chooseExperts(rules, logits, bias, scale, experts, weights);
  EXPECT_EQ(experts, (std::vector<int32_t>{0, 1}));
  EXPECT_FLOAT_EQ(weights[0], 3 * 4.0f / 5);
  EXPECT_FLOAT_EQ(weights[1], 10 * 3 * 1.0f / 5);
}

TEST(Routes, RowsGoByExpertThenByToken) {
  Routes routes{5, 2, {1, 4, 0, 1}, {2, 3, 5, 7}, {}, {}, {}};
  groupRows(routes);
  EXPECT_EQ(routes.token, (std::vector<int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(routes.row, (std::vector<int32_t>{1, 3, 0, 2}));
  expectValues(dispatch(rowsOf(1, {10, 20}), routes), {20, 10, 20, 10});
  expectValues(combine(rowsOf(1, {1, 2, 3, 4}), routes), {2 * 2 + 3 * 4, 5 * 1 + 7 * 3});
}

/// Rows of experts 0, 1, 1 and 4, whose permutations of three columns are 32 values apart.
TEST(Routes, RowsAreInTheOrderOfTheirExpert) {
  Routes routes{5, 2, {1, 4, 0, 1}, {2, 3, 5, 7}, {}, {}, {}};
  groupRows(routes);
  std::vector<float> columns(5 * 32);
  const std::array<std::array<float, 3>, 5> orders = {{{2, 0, 1}, {1, 2, 0}, {}, {}, {0, 2, 1}}};
  for (size_t e = 0; e < orders.size(); ++e)
    std::ranges::copy(orders[e], columns.begin() + std::ptrdiff_t(32 * e));
  expectValues(permute(rowsOf(3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), columns, routes),
               {3, 1, 2, 5, 6, 4, 8, 9, 7, 10, 12, 11});
}

TEST(Arithmetic, TheLastFactorHoldsBeyond) {
  std::vector<float> factors = {1, 2, 3};
  EXPECT_EQ(factorAt(factors, 7, 8), 1);
  EXPECT_EQ(factorAt(factors, 8, 8), 2);
  EXPECT_EQ(factorAt(factors, 1000, 8), 3);
}

TEST(Arithmetic, RopeTurnsPairsOfBothStyles) {
  Batch batch{{0}, {3}, {}};
  std::vector<float> f = {0.5f, 0.1f};
  double c0 = std::cos(1.5), s0 = std::sin(1.5), c1 = std::cos(0.3), s1 = std::sin(0.3);
  Matrix x = rowsOf(4, {1, 2, 3, 4});
  expectValues(rope(x, f, batch, 1, lm::RopeStyle::Half, 1),
               {c0 - 3 * s0, 2 * c1 - 4 * s1, 3 * c0 + s0, 4 * c1 + 2 * s1});
  expectValues(rope(x, f, batch, 1, lm::RopeStyle::Interleaved, 1),
               {c0 - 2 * s0, 2 * c0 + s0, 3 * c1 - 4 * s1, 4 * c1 + 3 * s1});
}

TEST(Arithmetic, RopeLeavesTheRestOfAHeadAndScales) {
  Batch batch{{0}, {1}, {}};
  std::vector<float> f = {1.0f};
  double c = 2 * std::cos(1.0), s = 2 * std::sin(1.0);
  expectValues(rope(rowsOf(6, {1, 0, 5, 0, 1, 7}), f, batch, 2, lm::RopeStyle::Half, 2),
               {c, s, 5, -s, c, 7});
}

TEST(Arithmetic, Activations) {
  Matrix x = rowsOf(3, {-2, 0, 1.5});
  auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  auto gelu = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  auto tanhGelu = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  expectValues(activation(x, lm::ActivationKind::Silu), {silu(-2), 0, silu(1.5)});
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  expectValues(activation(x, lm::ActivationKind::Sigmoid), {sigmoid(-2), 0.5, sigmoid(1.5)});
  expectValues(activation(x, lm::ActivationKind::Gelu), {gelu(-2), 0, gelu(1.5)});
  expectValues(activation(x, lm::ActivationKind::GeluTanh), {tanhGelu(-2), 0, tanhGelu(1.5)});
  auto quickGelu = [](double v) { return v / (1 + std::exp(-1.702 * v)); };
  auto mish = [](double v) { return v * std::tanh(std::log1p(std::exp(v))); };
  expectValues(activation(x, lm::ActivationKind::QuickGelu), {quickGelu(-2), 0, quickGelu(1.5)});
  expectValues(activation(x, lm::ActivationKind::Relu), {0, 0, 1.5});
  expectValues(activation(x, lm::ActivationKind::Relu2), {0, 0, 2.25});
  expectValues(activation(x, lm::ActivationKind::Mish), {mish(-2), 0, mish(1.5)});
  expectValues(activation(rowsOf(2, {90, -90}), lm::ActivationKind::Mish), {90, 0});
}

TEST(Arithmetic, Elementwise) {
  Matrix a = rowsOf(2, {1, -2}), b = rowsOf(2, {3, 5});
  expectValues(add(a, b), {4, 3});
  expectValues(multiplyElements(a, b), {3, -10});
  expectValues(scale(a, 2.5f), {2.5, -5});
  expectValues(softcap(b, 4), {4 * std::tanh(0.75), 4 * std::tanh(1.25)});
  addBias(a, std::vector<float>{10, 20});
  expectValues(a, {11, 18});
}

TEST(Arithmetic, SelectRowsInTheAskedOrder) {
  expectValues(permute(rowsOf(3, {1, 2, 3, 4, 5, 6}), std::vector<float>{2, 0, 1}),
               {3, 1, 2, 6, 4, 5});
  expectValues(selectRows(rowsOf(1, {7, 8, 9}), std::vector<int32_t>{2, 0}), {9, 7});
}

namespace {

/// One sequence of three positions, two KV heads of one value each.
struct Attention : ::testing::Test {
  Attention() {
    for (int64_t p = 0; p < 3; ++p)
      kv.append(0, 5, p, keys.row(p), values.row(p));
  }
  Matrix run(const Matrix &q, int64_t position, AttentionParameters parameters, int64_t held = 3) {
    return attention(q, kv, 0, {{5, held}}, Batch{{5}, {position}, {}}, parameters);
  }
  Matrix keys = rowsOf(2, {1, -1, 2, 0.5, -1, 3}), values = rowsOf(2, {10, 1, 20, 2, 40, 4});
  KvState kv;
};

double mean(std::vector<std::pair<double, double>> scoresAndValues) {
  double total = 0, sum = 0;
  for (auto [score, value] : scoresAndValues) {
    total += std::exp(score);
    sum += std::exp(score) * value;
  }
  return sum / total;
}

} // namespace

TEST_F(Attention, HeadsShareKvHeadsAndTheFutureIsHidden) {
  // Heads 0, 1 read KV head 0; heads 2, 3 read KV head 1.
  expectValues(run(rowsOf(4, {1, 2, 1, 2}), 1, {4, 2, 0.5f, 0, 0}),
               {mean({{0.5, 10}, {1, 20}}), mean({{1, 10}, {2, 20}}), mean({{-0.5, 1}, {0.25, 2}}),
                mean({{-1, 1}, {0.5, 2}})});
}

TEST_F(Attention, WindowHidesThePast) {
  expectValues(run(rowsOf(2, {1, 1}), 2, {2, 2, 1, 2, 0}),
               {mean({{2, 20}, {-1, 40}}), mean({{0.5, 2}, {3, 4}})});
  expectValues(run(rowsOf(2, {1, 1}), 2, {2, 2, 1, 1, 0}), {40, 4});
}

TEST_F(Attention, SinksTakeAShareAndAddNothing) {
  const std::vector<float> sinks = {1.5f, -1};
  expectValues(run(rowsOf(2, {1, 1}), 2, {2, 2, 1, 2, 0, sinks}),
               {mean({{2, 20}, {-1, 40}, {1.5, 0}}), mean({{0.5, 2}, {3, 4}, {-1, 0}})});
}

TEST_F(Attention, SoftcapBendsScores) {
  auto bend = [](double s) { return 2 * std::tanh(s / 2); };
  expectValues(run(rowsOf(2, {1, 1}), 1, {2, 2, 1, 0, 2}),
               {mean({{bend(1), 10}, {bend(2), 20}}), mean({{bend(-1), 1}, {bend(0.5), 2}})});
}

TEST_F(Attention, WeightsInBytesLoseWhatIsSmallBesideTheLargest) {
  // Scores 1 and 2 weigh values 10 and 20, and scores -1 and 0.5 weigh values 1 and 2. Products with codes of V are
  // multiples of a 255th of the larger one.
  auto rounded = [](double small, double large, double sum) {
    const double unit = large / 255;
    return (std::nearbyint(small / unit) * unit + large) / sum;
  };
  const double e = std::numbers::e;
  AttentionParameters inBytes{2, 2, 1, 0, 0};
  inBytes.weightsInBytes = true;
  expectValues(run(rowsOf(2, {1, 1}), 1, inBytes),
               {rounded(10 * e, 20 * e * e, e + e * e),
                rounded(std::exp(-1), 2 * std::exp(0.5), std::exp(-1) + std::exp(0.5))});
}

TEST_F(Attention, AValueSeesWhatItHeldWhenItWasMade) {
  expectValues(run(rowsOf(2, {1, 1}), 2, {2, 2, 1, 0, 0}, /*held=*/1), {10, 1});
}

TEST(KvState, RowsAreRoundedToTheCachesType) {
  std::vector<float> k = {1.00390625f}, v = {1.0001f}; // 1 + 2^-8 is a tie and is rounded to even
  KvState bf16(KvFormat::BF16), f16(KvFormat::F16);
  bf16.append(0, 0, 0, k, v);
  f16.append(0, 0, 0, k, v);
  EXPECT_EQ(bf16.find(0, 0)->k[0], 1.0f);
  EXPECT_EQ(bf16.find(0, 0)->v[0], 1.0f);
  EXPECT_EQ(f16.find(0, 0)->k[0], 1.00390625f);
  EXPECT_EQ(f16.find(0, 0)->v[0], 1.0f);
}

TEST(KvState, Fp8HasAScaleForEachHead) {
  KvState fp8(KvFormat::FP8);
  // The scale is 1. Codes have 4 bits of significand, ties go to even, and steps are 2^-9 below 2^-6.
  std::vector<float> k = {448, 17, 19, 0.0009765625f, 0.0029296875f, -433, 431, 15};
  std::vector<float> v = {0, 0, 0, 0, -896, 0.1f, 30, 34};
  fp8.append(0, 0, 0, k, v, 2);
  float second = 433.0f / 448;
  std::vector<float> got = fp8.find(0, 0)->k;
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 4), (std::vector<float>{448, 16, 20, 0}));
  EXPECT_EQ(got[4],
            0.00390625f * second); // 0.0030 of it: the code above 0.00293 / 0.967 is 2 * 2^-9
  EXPECT_EQ(got[5], -448 * second);
  EXPECT_EQ(fp8.find(0, 0)->v, (std::vector<float>{0, 0, 0, 0, -896, 0.1015625f, 30, 32}));
}

TEST(KvState, Int8HasAScaleForEachHeadAndTransformsK) {
  KvState int8(KvFormat::Int8);
  // The heads have 4 values. K (1, 0, 0, 0) transforms to (1, 1, 1, 1), whose codes of 127 decode to the original.
  // (127, 1, 0.4, 0) transforms to (128.4, 126.4, 127.6, 125.6), whose codes 127, 125, 126, 124 decode to multiples of
  // scale / 4.
  std::vector<float> k = {1, 0, 0, 0, 127, 1, 0.4f, 0}, v = {0, 0, 0, 0, -127, 0.4f, 63.6f, 1.5f};
  int8.append(0, 0, 0, k, v, 2);
  std::vector<float> got = int8.find(0, 0)->k;
  float scale = 128.4f / 127;
  const float want[] = {1, 0, 0, 0, 502 * scale / 4, 4 * scale / 4, 2 * scale / 4, 0};
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(got[i], want[i], 2e-5) << i;
  EXPECT_EQ(int8.find(0, 0)->v, (std::vector<float>{0, 0, 0, 0, -127, 0, 64, 2}));
}

TEST(KvState, AppendingAnEarlierPositionForgetsWhatFollowed) {
  KvState kv;
  std::vector<float> one = {1}, two = {2};
  for (int64_t p = 0; p < 3; ++p)
    kv.append(0, 0, p, one, one);
  kv.append(0, 0, 1, two, two);
  EXPECT_EQ(kv.find(0, 0)->k, (std::vector<float>{1, 2}));
  kv.forget(0);
  EXPECT_EQ(kv.find(0, 0), nullptr);
}

// Computes the order of additions that Products.h promises in the simplest way.
TEST(Products, EveryTileGivesThePromisedBits) {
  for (int64_t k : {1, 7, 8, 61, 256}) {
    Matrix x(7, k), w(37, k), y(7, 37);
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = uniform(1, i) - 0.5f;
    for (size_t i = 0; i < w.values.size(); ++i)
      w.values[i] = uniform(2, i) - 0.5f;
    multiplyRows(x, w.values.data(), w.rows, y.values.data(), w.rows);
    for (int64_t t = 0; t < x.rows; ++t)
      for (int64_t n = 0; n < w.rows; ++n) {
        float lane[8] = {};
        for (int64_t i = 0; i < k; ++i)
          lane[i % 8] += x.row(t)[i] * w.row(n)[i];
        float expected = ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
                         ((lane[2] + lane[6]) + (lane[3] + lane[7]));
        ASSERT_EQ(y.row(t)[n], expected) << "k " << k << ", row " << t << ", column " << n;
      }
  }
}
