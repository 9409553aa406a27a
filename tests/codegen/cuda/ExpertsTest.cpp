//===- ExpertsTest.cpp - Experts on the emulator: choice, rows, products, sums ----===//
#include "CudaRunner.h"
#include "ExpertKernels.h"
#include "Fp8RowsReference.h"
#include "FragmentReference.h"
#include "runtime/abi/Routes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

/// The experts of some tokens, and the routes that follow from them (runtime/abi/Routes.h).
struct Places {
  int64_t experts, used;
  std::vector<int32_t> expert, row, token; ///< per pair, per pair, per row
  std::vector<float> weight;               ///< per pair
  std::vector<RouteSegment> segments;

  Places(int64_t experts, int64_t used, std::vector<int32_t> chosen)
      : experts(experts), used(used), expert(std::move(chosen)) {
    std::vector<int32_t> pairs(expert.size());
    std::iota(pairs.begin(), pairs.end(), 0);
    std::ranges::stable_sort(pairs, {}, [&](int32_t pair) { return expert[size_t(pair)]; });
    row.resize(pairs.size());
    for (int32_t pair : pairs) {
      row[size_t(pair)] = int32_t(token.size());
      if (segments.empty() || segments.back().expert != expert[size_t(pair)])
        segments.push_back({expert[size_t(pair)], row[size_t(pair)], 0});
      token.push_back(int32_t(pair / used));
      segments.back().end = int32_t(token.size());
    }
    Numbers random(11);
    for (size_t i = 0; i < expert.size(); ++i)
      weight.push_back(random.uniform());
  }
  int64_t tokens() const { return int64_t(expert.size()) / used; }
  int64_t rows() const { return int64_t(expert.size()); }
  int32_t expertOfRow(int32_t r) const {
    return std::ranges::find_if(segments, [&](auto &s) { return r < s.end; })->expert;
  }

  /// Returns experts and weights only; `words` returns the whole buffer.
  std::vector<int32_t> pairsOnly() const {
    std::vector<int32_t> words = expert;
    for (float w : weight)
      words.push_back(std::bit_cast<int32_t>(w));
    return words;
  }
  std::vector<int32_t> words() const {
    std::vector<int32_t> words = pairsOnly();
    words.insert(words.end(), row.begin(), row.end());
    words.insert(words.end(), token.begin(), token.end());
    words.insert(words.end(), {int32_t(segments.size()), 0, 0, 0});
    for (const RouteSegment &s : segments)
      words.insert(words.end(), {s.expert, s.first, s.end});
    return words;
  }
  BatchView batch() const {
    BatchView batch{};
    batch.tokens = tokens();
    return batch;
  }
};

/// Chooses random experts for each token; some experts are never chosen.
Places randomPlaces(int64_t experts, int64_t used, int64_t tokens, uint32_t seed) {
  Numbers random(seed);
  std::vector<int32_t> all(size_t(experts - (experts > used + 1))), chosen;
  std::iota(all.begin(), all.end(), 0);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t i = 0; i < used; ++i)
      std::swap(all[size_t(i)], all[size_t(i) + random.bits() % (all.size() - size_t(i))]);
    std::sort(all.begin(), all.begin() + used);
    chosen.insert(chosen.end(), all.begin(), all.begin() + used);
  }
  return Places(experts, used, chosen);
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

const Router kRouters[] = {
    {5, 2, "softmax", "sum"},
    {64, 8, "softmax", "none"},
    {32, 4, "none", "softmax", 1, 1, "max", false, true},
    {256, 8, "sigmoid", "sum", 8, 4, "top2sum", true, false, 1e-20f, 0, 2.5f},
    {160, 6, "softmax", "none", 8, 3, "max", false, false, 0, 0, 16},
    {40, 3, "sqrtsoftplus", "sum", 1, 1, "max", true, true, 0, 0.5f, 1.5f},
    {7, 7, "sigmoid", "none"},
    {3, 1, "softmax", "sum"},
};

struct Choice {
  std::vector<int32_t> experts;
  std::vector<double> weights;
};
/// Computes the choice in f64, except for the order, which compares numbers as the kernel's f32 does.
Choice choiceOf(const Router &r, const float *logits, const float *bias, const float *scales) {
  const auto softmax = [](std::vector<double> &v) {
    const double most = *std::ranges::max_element(v);
    double sum = 0;
    for (double &x : v)
      sum += x = std::exp(x - most);
    for (double &x : v)
      x /= sum;
  };
  const std::string score = r.score, normalize = r.normalize;
  std::vector<double> scores(logits, logits + r.experts), ranks;
  if (score == "softmax")
    softmax(scores);
  for (double &x : scores)
    x = score == "sigmoid"        ? 1 / (1 + std::exp(-x))
        : score == "sqrtsoftplus" ? std::sqrt(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))))
                                  : x;
  for (int64_t e = 0; e < r.experts; ++e)
    ranks.push_back(scores[size_t(e)] + (r.bias ? bias[e] : 0));
  const double out = -std::numeric_limits<double>::infinity();
  auto best = [](const std::vector<double> &v) { return std::ranges::max_element(v) - v.begin(); };
  if (r.groups > 1) {
    const int64_t size = r.experts / r.groups;
    std::vector<double> groups;
    std::vector<bool> kept(size_t(r.groups));
    for (int64_t g = 0; g < r.groups; ++g) {
      std::vector<double> of(ranks.begin() + g * size, ranks.begin() + (g + 1) * size);
      std::ranges::sort(of, std::greater());
      groups.push_back(std::string(r.groupScore) == "max" ? of[0] : of[0] + of[1]);
    }
    for (int64_t i = 0; i < r.usedGroups; ++i) {
      const auto g = best(groups);
      kept[size_t(g)] = true, groups[size_t(g)] = out;
    }
    for (int64_t e = 0; e < r.experts; ++e)
      if (!kept[size_t(e / size)])
        ranks[size_t(e)] = out;
  }
  Choice choice;
  for (int64_t i = 0; i < r.used; ++i) {
    choice.experts.push_back(int32_t(best(ranks)));
    ranks[size_t(choice.experts.back())] = out;
  }
  std::ranges::sort(choice.experts);
  for (int32_t e : choice.experts)
    choice.weights.push_back(scores[size_t(e)]);
  if (normalize == "softmax")
    softmax(choice.weights);
  if (normalize == "sum") {
    const double sum = std::accumulate(choice.weights.begin(), choice.weights.end(), 0.0);
    for (double &w : choice.weights)
      w /= std::max(sum + r.normEps, double(r.normFloor));
  }
  for (size_t i = 0; i < choice.weights.size(); ++i)
    choice.weights[i] *= r.scale * (r.scales ? scales[choice.experts[i]] : 1);
  return choice;
}

TEST(CudaRoute, ChoosesAndWeighs) {
  std::string text;
  for (size_t i = 0; i < std::size(kRouters); ++i)
    text += kRouters[i].kernel("r" + std::to_string(i));
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    for (size_t i = 0; i < std::size(kRouters); ++i)
      for (int64_t tokens : {1, 9}) {
        const Router &r = kRouters[i];
        const int64_t width = roundUp(r.experts, 32);
        std::vector<float> logits = f32Rows(tokens, r.experts, 20 + uint32_t(i));
        for (float &v : logits)
          v *= 4;
        std::vector<float> bias = f32Rows(1, r.experts, 3), scales = f32Rows(1, r.experts, 4);
        if (tokens > 2) // ties: the lowest index wins
          std::fill_n(logits.begin() + width, r.experts, 0.25f);
        BatchView batch{};
        batch.tokens = tokens;
        std::vector<const void *> operands{gpu.put(logits)};
        if (r.bias)
          operands.push_back(gpu.put(bias));
        if (r.scales)
          operands.push_back(gpu.put(scales));
        const int64_t pairs = tokens * r.used;
        int32_t *routes = gpu.make<int32_t>(size_t(tokens * routesBytes(r.used) / 4), "routes");
        operands.push_back(routes);
        gpu.launch("r" + std::to_string(i), operands, batch, /*wait=*/true, /*more=*/2);
        std::vector<int32_t> got = gpu.get(routes, size_t(2 * pairs));
        for (int64_t t = 0; t < tokens; ++t) {
          const Choice want = choiceOf(r, logits.data() + t * width, bias.data(), scales.data());
          for (int64_t p = 0; p < r.used; ++p) {
            ASSERT_EQ(got[size_t(t * r.used + p)], want.experts[size_t(p)])
                << "router " << i << " token " << t << " pair " << p;
            const double weight = want.weights[size_t(p)];
            ASSERT_NEAR(std::bit_cast<float>(got[size_t(pairs + t * r.used + p)]), weight,
                        2e-6 * std::abs(weight) + 1e-12)
                << "router " << i << " token " << t << " pair " << p;
          }
        }
      }
  });
}

/// With NaN and infinities, no expert is chosen twice and none is out of range.
TEST(CudaRoute, AnyLogitsChooseExpertsThatAreThere) {
  const Router &r = kRouters[0];
  onEveryBuild(r.kernel("r"), [&](Emulated &gpu, const HostKernels &) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    const std::vector<std::vector<float>> rows{{nan, nan, nan, nan, nan},
                                               {-inf, -inf, -inf, -inf, -inf},
                                               {inf, 0, inf, 1, inf},
                                               {nan, -inf, 2, nan, 1}};
    std::vector<float> logits(rows.size() * 32);
    for (size_t t = 0; t < rows.size(); ++t)
      std::ranges::copy(rows[t], logits.begin() + int64_t(t) * 32);
    BatchView batch{};
    batch.tokens = int64_t(rows.size());
    int32_t *routes = gpu.make<int32_t>(rows.size() * size_t(routesBytes(2)) / 4, "routes");
    gpu.launch("r", {gpu.put(logits), routes}, batch);
    const std::vector<int32_t> got = gpu.get(routes, 2 * rows.size());
    for (size_t t = 0; t < rows.size(); ++t) {
      EXPECT_GE(got[2 * t], 0);
      EXPECT_LT(got[2 * t], got[2 * t + 1]);
      EXPECT_LT(got[2 * t + 1], 5);
    }
  });
}

TEST(CudaGroupRoutes, RowsGoByExpertThenByToken) {
  const std::pair<int64_t, int64_t> kinds[] = {{5, 2}, {64, 8}, {300, 1}, {40, 32}, {6, 6}};
  std::string text;
  for (auto [experts, used] : kinds)
    text += groupRoutes("g" + std::to_string(experts), experts, used);
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    auto expectPlaces = [&](const Places &places) {
      std::vector<int32_t> want = places.words(), words = places.pairsOnly();
      int32_t *routes = gpu.putBefore(
          words, size_t(places.tokens() * routesBytes(places.used)) / 4 - words.size(), "routes");
      gpu.launch("g" + std::to_string(places.experts), {routes}, places.batch());
      std::vector<int32_t> got = gpu.get(routes, want.size());
      const RoutesLayout layout{places.rows()};
      for (size_t i = 1; i < 4; ++i) // the words after the count are padding that no kernel reads
        got[size_t(layout.count()) / 4 + i] = 0;
      EXPECT_EQ(got, want) << places.experts << " experts, " << places.tokens() << " tokens";
    };
    for (auto [experts, used] : kinds)
      for (int64_t tokens : {1, 2, 33, 300})
        expectPlaces(randomPlaces(experts, used, tokens, uint32_t(tokens)));
    expectPlaces(Places(300, 1, std::vector<int32_t>(77, 299)));
  });
}

//===----------------------------------------------------------------------===//
// Rows to experts and back
//===----------------------------------------------------------------------===//

/// y[r] = x[token of r] * factor[token of r], in f32 and bf16.
TEST(CudaRowwise, RowsOfExperts) {
  const int64_t n = 70, experts = 6, used = 3;
  const std::string x = activationType("f32", n), f = activationType("f32", 1),
                    b = activationType("bf16", n), r = routesType(experts, used);
  const std::string region = "{\n  ^bb0(%a: f32, %b: f32):\n    %c = arith.mulf %a, %b : f32\n"
                             "    kernel.yield %c, %c : f32, f32\n  }\n  kernel.return\n}\n";
  const std::string text =
      "kernel.func @to(%x: " + x + ", %f: " + f + ", %y: " + x + ", %z: " + b + ", %r: " + r +
      ") {\n  kernel.rowwise ins(%x, %f : " + x + ", " + f + ") outs(%y, %z : " + x + ", " + b +
      ") to %r : " + r + " attributes {extent = #kernel.extent<tokens>, rows_of_token = 3 : i64} " +
      region + "kernel.func @there(%x: " + x + ", %f: " + f + ", %y: " + x + ", %z: " + b +
      ") {\n  kernel.rowwise ins(%x, %f : " + x + ", " + f + ") outs(%y, %z : " + x + ", " + b +
      ") attributes {extent = #kernel.extent<tokens>, rows_of_token = 3 : i64} " + region;
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    const Places places = randomPlaces(experts, used, 5, 1);
    auto expectRows = [&](const std::string &name, int64_t inputRows, auto sourceOf) {
      std::vector<float> in = f32Rows(inputRows, n, 2), factors = f32Rows(inputRows, 1, 3);
      float *y = gpu.make<float>(size_t(places.rows() * 96));
      uint16_t *z = gpu.make<uint16_t>(size_t(places.rows() * 128));
      std::vector<const void *> operands{gpu.put(in), gpu.put(factors), y, z};
      if (name == "to")
        operands.push_back(gpu.put(places.words()));
      gpu.launch(name, operands, places.batch(), /*wait=*/true, /*more=*/4);
      std::vector<float> got = gpu.get(y, size_t(places.rows() * 96));
      std::vector<uint16_t> rounded = gpu.get(z, size_t(places.rows() * 128));
      for (int64_t row = 0; row < places.rows(); ++row)
        for (int64_t i = 0; i < 128; ++i) {
          const int64_t from = sourceOf(row);
          const float want = i < n ? in[size_t(from * 96 + i)] * factors[size_t(from * 32)] : 0.0f;
          if (i < 96)
            ASSERT_EQ(got[size_t(row * 96 + i)], want) << name << " row " << row << " at " << i;
          ASSERT_EQ(rounded[size_t(row * 128 + i)], toBf16(want));
        }
    };
    expectRows("to", places.tokens(), [&](int64_t row) { return places.token[size_t(row)]; });
    expectRows("there", places.rows(), [](int64_t row) { return row; });
  });
}

/// Permutes the columns of each row in its expert's order, for rows in token order and for rows
/// already grouped by expert.
TEST(CudaRowwise, OrdersColumnsByExpert) {
  const int64_t n = 70, experts = 6, used = 3, stride = orderStride(n);
  const std::string x = activationType("f32", n), b = activationType("bf16", n),
                    r = routesType(experts, used), c = vectorType(experts * stride);
  auto kernel = [&](const std::string &name, const char *dispatched) {
    return "kernel.func @" + name + "(%x: " + x + ", %c: " + c + ", %y: " + x + ", %z: " + b +
           ", %r: " + r + ") {\n  kernel.rowwise ins(%x : " + x + ") outs(%y, %z : " + x + ", " +
           b + ") to %r : " + r + " by %c : " + c + " attributes {" + dispatched +
           "extent = #kernel.extent<tokens>, rows_of_token = 3 : i64} {\n  ^bb0(%a: f32):\n"
           "    kernel.yield %a, %a : f32, f32\n  }\n  kernel.return\n}\n";
  };
  onEveryBuild(kernel("tokens", "") + kernel("rows", "dispatched, "), [&](Emulated &gpu,
                                                                          const HostKernels &) {
    const Places places = randomPlaces(experts, used, 5, 1);
    std::vector<float> orders(size_t(experts * stride));
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t k = 0; k < n; ++k)
        orders[size_t(e * stride + k)] = float((k * 11 + 3 * e + 1) % n);
    for (const std::string name : {"tokens", "rows"}) {
      const bool ofTokens = name == "tokens";
      std::vector<float> in = f32Rows(ofTokens ? places.tokens() : places.rows(), n, 2);
      float *y = gpu.make<float>(size_t(places.rows() * 96));
      uint16_t *z = gpu.make<uint16_t>(size_t(places.rows() * 128));
      gpu.launch(name, {gpu.put(in), gpu.put(orders), y, z, gpu.put(places.words())},
                 places.batch(), /*wait=*/true, /*more=*/4);
      const std::vector<float> got = gpu.get(y, size_t(places.rows() * 96));
      const std::vector<uint16_t> rounded = gpu.get(z, size_t(places.rows() * 128));
      for (int64_t row = 0; row < places.rows(); ++row)
        for (int64_t i = 0; i < 128; ++i) {
          const int64_t from = ofTokens ? places.token[size_t(row)] : row;
          const float *order = &orders[size_t(places.expertOfRow(int32_t(row)) * stride)];
          const float want = i < n ? in[size_t(from * 96 + int64_t(order[i]))] : 0.0f;
          if (i < 96)
            ASSERT_EQ(got[size_t(row * 96 + i)], want) << name << " row " << row << " at " << i;
          ASSERT_EQ(rounded[size_t(row * 128 + i)], toBf16(want));
        }
    }
  });
}

TEST(CudaCombine, IsOneChainOfFusedProducts) {
  const std::tuple<int64_t, int64_t, int64_t> kinds[] = {{5, 2, 14}, {64, 8, 2100}, {9, 1, 96}};
  std::string text;
  for (auto [experts, used, n] : kinds)
    text += combine("c" + std::to_string(n), n, experts, used);
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    for (auto [experts, used, n] : kinds)
      for (int64_t tokens : {1, 7}) {
        const Places places = randomPlaces(experts, used, tokens, 5);
        const int64_t width = roundUp(n, 32);
        std::vector<float> x = f32Rows(places.rows(), n, 6);
        float *y = gpu.make<float>(size_t(tokens * width));
        gpu.launch("c" + std::to_string(n), {gpu.put(x), gpu.put(places.words()), y},
                   places.batch(), /*wait=*/true, /*more=*/3);
        std::vector<float> got = gpu.get(y, size_t(tokens * width));
        for (int64_t t = 0; t < tokens; ++t)
          for (int64_t i = 0; i < width; ++i) {
            float want = 0;
            for (int64_t pair = t * used; pair < (t + 1) * used; ++pair)
              want = std::fma(places.weight[size_t(pair)],
                              x[size_t(places.row[size_t(pair)] * width + i)], want);
            ASSERT_EQ(got[size_t(t * width + i)], want) << "token " << t << " at " << i;
          }
      }
  });
}

//===----------------------------------------------------------------------===//
// Projections of experts
//===----------------------------------------------------------------------===//

/// A weight per expert, stored contiguously as in a stack.
struct RandomStack {
  std::vector<RandomFragments> matrices;
  std::vector<uint8_t> bytes;

  RandomStack(const Stack &s, uint32_t seed) {
    for (int64_t e = 0; e < s.experts; ++e) {
      matrices.emplace_back(s.format, s.n, s.k, seed + uint32_t(e));
      bytes.insert(bytes.end(), matrices.back().bytes.begin(), matrices.back().bytes.end());
    }
    EXPECT_EQ(int64_t(bytes.size()), fragmentLayout(s.format, s.n, s.k, s.experts).bytes());
  }
};

/// Returns Σ w x in f64, and Σ |w x|.
std::pair<double, double> productOf(const RandomFragments &w, int64_t row, const float *x) {
  double value = 0, size = 0;
  for (int64_t i = 0; i < w.layout.k; ++i) {
    const double term = double(w.reader().value(row, i)) * x[i];
    value += term, size += std::abs(term);
  }
  return {value, size};
}

/// Tokens are the same in every step: token t has row t of x and the experts of places[t]. An expert must
/// compute the same bits for a token in every variant and in every batch.
class Steps {
public:
  /// With `fp8`, the products use rows of E4M3, which the kernel "rows" makes.
  Steps(const Stack &s, Emulated &gpu, const HostKernels &kernels, bool fp8 = false)
      : s(s), gpu(gpu), kernels(kernels), fp8(fp8), w0(s, 5), w1(s, 500),
        width(roundUp(s.n, s.pair ? 64 : 32)), bias(f32Rows(s.experts, s.n, 9)) {
    weights.push_back(gpu.put(w0.bytes, "w0"));
    if (s.pair)
      weights.push_back(gpu.put(w1.bytes, "w1")), weights.push_back(gpu.put(bias, "bias"));
  }

  /// Runs a step over the tokens starting at firstToken. Rows of the expert `hurt` are NaN, which
  /// must not affect other rows.
  void expectVariants(const std::string &name, const Places &places, int64_t firstToken,
                      bool allValues, int32_t hurt = -1) {
    const int64_t inWidth = roundUp(s.k, 64);
    const std::vector<uint16_t> ofTokens = bf16Rows(firstToken + places.tokens(), s.k, 6);
    const std::vector<float> residuals = f32Rows(firstToken + places.tokens(), s.n, 7);
    std::vector<uint16_t> x;
    std::vector<float> rest;
    for (int32_t t : places.token) {
      const int64_t from = firstToken + t;
      x.insert(x.end(), ofTokens.begin() + from * inWidth, ofTokens.begin() + (from + 1) * inWidth);
      const int64_t w = roundUp(s.n, 32);
      rest.insert(rest.end(), residuals.begin() + from * w, residuals.begin() + (from + 1) * w);
    }
    for (int64_t r = 0; r < places.rows(); ++r)
      if (places.expertOfRow(int32_t(r)) == hurt)
        std::fill_n(x.begin() + r * inWidth, s.k, toBf16(std::nanf("")));
    auto *xs = gpu.putBefore(x, size_t(100 * inWidth), "x"); // boxes of copies extend past the rows
    auto *routes = gpu.put(places.words(), "routes");
    std::vector<float> numbers(size_t(places.rows() * s.k));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = fromBf16(x[i / size_t(s.k) * size_t(inWidth) + i % size_t(s.k)]);
    const uint8_t *codes = fp8 ? codesOf(places, xs, x, numbers) : nullptr;
    const size_t count = size_t(places.rows() * width);
    for (const CudaVariant &variant : kernels.program(name).variants) {
      void *y = s.pair ? static_cast<void *>(gpu.make<uint16_t>(count, "y"))
                       : gpu.make<float>(count, "y");
      std::vector<const void *> operands{xs};
      operands.insert(operands.end(), weights.begin(), weights.end());
      if (!s.pair)
        operands.push_back(gpu.put(rest, "residual"));
      operands.push_back(y), operands.push_back(routes);
      if (fp8)
        operands.push_back(codes);
      gpu.launch(variant.symbol, operands, places.batch());
      std::vector<float> got;
      if (s.pair)
        for (uint16_t bits : gpu.get(static_cast<uint16_t *>(y), count))
          got.push_back(fromBf16(bits));
      else
        got = gpu.get(static_cast<float *>(y), count);
      for (int64_t r = 0; r < places.rows(); ++r)
        for (int64_t i = 0; i < width; ++i) {
          const float value = got[size_t(r * width + i)];
          const int64_t token = firstToken + places.token[size_t(r)],
                        expert = places.expertOfRow(int32_t(r));
          if (i >= s.n) {
            ASSERT_EQ(value, 0.0f) << variant.symbol << " pads with zeros";
            continue;
          }
          if (expert == hurt) {
            ASSERT_TRUE(std::isnan(value)) << variant.symbol << " row " << r << " at " << i;
            continue;
          }
          auto [known, fresh] = first.try_emplace({token, expert, i}, value);
          ASSERT_EQ(value, known->second)
              << variant.symbol << " token " << token << " expert " << expert << " at " << i
              << ": not the bits of another variant or step";
          if (!fresh || (!allValues && (r + i) % 7))
            continue;
          const float *row = &numbers[size_t(r * s.k)];
          auto [gate, size] = productOf(w0.matrices[size_t(expert)], i, row);
          if (s.pair) {
            auto [up, upSize] = productOf(w1.matrices[size_t(expert)], i, row);
            gate += bias[size_t(expert * roundUp(s.n, 32) + i)];
            ASSERT_NEAR(value, gate * up,
                        std::abs(gate * up) / 256 +
                            4e-6 * (size * std::abs(up) + upSize * std::abs(gate)) + 1e-9)
                << variant.symbol << " token " << token << " expert " << expert << " at " << i;
          } else {
            ASSERT_NEAR(value, gate + rest[size_t(r * roundUp(s.n, 32) + i)], 2e-6 * size + 1e-6)
                << variant.symbol << " token " << token << " expert " << expert << " at " << i;
          }
        }
    }
  }

private:
  /// Makes rows of E4M3 from x on the device, checks them against the reference (except rows of NaN), and
  /// returns them and their numbers.
  const uint8_t *codesOf(const Places &places, const uint16_t *xs, const std::vector<uint16_t> &x,
                         std::vector<float> &numbers) {
    const int64_t stride = fp8RowBytes(s.k), used = roundUp(s.k, 128) / 128 * 132;
    auto *codes = gpu.make<uint8_t>(size_t(places.rows() * stride), "fp8");
    gpu.launch("rows", {xs, codes}, places.batch());
    const std::vector<uint8_t> made = gpu.get(codes, size_t(places.rows() * stride)),
                               want = fp8Of(x, places.rows(), s.k);
    for (int64_t r = 0; r < places.rows(); ++r) {
      if (std::isnan(numbers[size_t(r * s.k)]))
        continue;
      for (int64_t i = 0; i < used; ++i)
        EXPECT_EQ(made[size_t(r * stride + i)], want[size_t(r * stride + i)]) << r << " byte " << i;
      for (int64_t i = 0; i < s.k; ++i)
        numbers[size_t(r * s.k + i)] = numberOf(&want[size_t(r * stride)], i, s.k);
    }
    return codes;
  }

  const Stack &s;
  Emulated &gpu;
  const HostKernels &kernels;
  const bool fp8;
  RandomStack w0, w1;
  int64_t width;
  std::vector<float> bias;
  std::vector<const void *> weights;
  std::map<std::tuple<int64_t, int64_t, int64_t>, float> first;
};

Places part(const Places &all, int64_t from, int64_t tokens) {
  return Places(
      all.experts, all.used,
      {all.expert.begin() + from * all.used, all.expert.begin() + (from + tokens) * all.used});
}

/// Returns the programs for sm_90a with the projection variants that only it has.
std::vector<CudaProgram> wgmmaPrograms(const std::string &text) {
  EmitOptions options;
  options.wgmma = true;
  std::vector<CudaProgram> programs = emitAll(text, options);
  for (CudaProgram &program : programs)
    if (program.variants.size() > 1)
      std::erase_if(program.variants, [](const CudaVariant &v) {
        return v.symbol.find("wgmma") == std::string::npos;
      });
  return programs;
}
/// Returns the programs. "m" has the variants of any GPU, and "w" those that only sm_90a has. On the emulator both give
/// the same bits.
std::vector<CudaProgram> programsOf(const Stack &s) {
  std::vector<CudaProgram> programs = emitAll(s.kernel("m")), more = wgmmaPrograms(s.kernel("w"));
  EXPECT_EQ(more[0].variants.size(), numericFormat(s.format).isFloat() ? 2u : 1u);
  programs.push_back(std::move(more[0]));
  return programs;
}

/// Gives all tokens the same experts, which are the last ones.
Places withLast(const Stack &s, int64_t tokens) {
  std::vector<int32_t> last;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < s.used; ++i)
      last.push_back(int32_t(s.experts - s.used + i));
  return Places(s.experts, s.used, last);
}

void expectSteps(const Stack &s, int64_t most) {
  std::vector<CudaProgram> programs = programsOf(s);
  for (Build build : {Build{true, 1}, Build{false, 2}}) {
    SCOPED_TRACE(nameOf(build));
    HostKernels kernels(programs, build.checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, build.seed);
    Steps steps(s, gpu, kernels);
    const Places all = randomPlaces(s.experts, s.used, most, 3);
    for (const std::string name : {"m", "w"}) {
      steps.expectVariants(name, part(all, 0, 1), 0, true);
      steps.expectVariants(name, part(all, 1, 3), 1, true);
      if (build.checked) { // slow
        steps.expectVariants(name, part(all, 0, 11), 0, false, all.expert[0]);
        continue;
      }
      steps.expectVariants(name, part(all, 0, 37), 0, false);
      steps.expectVariants(name, all, 0, false, all.expert[0]);
      // All tokens go to the same experts; where there are few experts, these are all of them.
      steps.expectVariants(name, withLast(s, name == "w" ? 150 : 75), 0, false);
    }
  }
}

/// Tests products of fp8 where K wraps around the ring twice and ends inside a group of scales.
void expectFp8Steps(const Stack &s) {
  std::vector<CudaProgram> programs =
      wgmmaPrograms(s.kernel("e", /*fp8=*/true) + fp8Rows("rows", s.k, s.used));
  EXPECT_EQ(programs[0].variants.size(), 1u);
  for (Build build : {Build{true, 1}, Build{false, 2}}) {
    SCOPED_TRACE(nameOf(build));
    HostKernels kernels(programs, build.checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, build.seed);
    Steps steps(s, gpu, kernels, /*fp8=*/true);
    const Places all = randomPlaces(s.experts, s.used, 100, 3);
    steps.expectVariants("e", part(all, 0, 1), 0, true);
    steps.expectVariants("e", part(all, 0, 11), 0, false, all.expert[0]);
    if (build.checked) // slow
      continue;
    steps.expectVariants("e", all, 0, false);
    steps.expectVariants("e", withLast(s, 150), 0, false);
  }
}

TEST(CudaExperts, FewNarrowOnes) { expectSteps({WeightFormat::Q4_0, 5, 2, 14, 420, false}, 300); }
TEST(CudaExperts, PairsOfMany) { expectSteps({WeightFormat::Int4G128, 64, 8, 70, 130, true}, 90); }
TEST(CudaExperts, OneForEachToken) { expectSteps({WeightFormat::BF16, 5, 1, 35, 100, true}, 150); }
TEST(CudaExperts, SuperBlocks) { expectSteps({WeightFormat::Q4_K, 6, 2, 40, 512, true}, 100); }
TEST(CudaExperts, Fp8) { expectSteps({WeightFormat::Fp8, 6, 2, 33, 200, false}, 100); }
TEST(CudaExperts, Fp8Products) { expectFp8Steps({WeightFormat::Fp8, 6, 2, 33, 1100, false}); }
TEST(CudaExperts, Fp8ProductsOfPairs) {
  expectFp8Steps({WeightFormat::Fp8Block128, 40, 3, 70, 200, true});
}
TEST(CudaExperts, Grids) { expectSteps({WeightFormat::IQ2_S, 6, 2, 40, 512, true}, 100); }
TEST(CudaExperts, Mxfp4) { expectSteps({WeightFormat::Mxfp4, 9, 4, 48, 96, true}, 70); }

} // namespace
