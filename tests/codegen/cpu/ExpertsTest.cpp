//===- ExpertsTest.cpp - Routing and projections of experts ------------------===//
//
// Choices of experts are checked against compiler/reference. Sums must equal its sums bit for bit. Projections of
// experts must equal those of a single matrix bit for bit, whichever other rows an expert gets.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Experts.h"
#include "PanelReference.h"
#include "compiler/reference/Routes.h"
#include "runtime/abi/Routes.h"

#include <array>
#include <cmath>
#include <random>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;
using reference::Matrix;
using reference::Routes;

namespace {

BatchView batchOf(int64_t tokens) {
  BatchView batch{};
  batch.tokens = tokens;
  return batch;
}

/// A routes buffer as kernel.route leaves it: each token goes to random experts.
struct RandomRoutes {
  Routes routes;
  Buffer<char> bytes;

  RandomRoutes(int64_t experts, int64_t used, int64_t tokens, unsigned seed)
      : routes{experts, used, {}, {}, {}, {}, {}}, bytes(size_t(tokens * routesBytes(used))) {
    std::mt19937 random(seed);
    std::vector<int32_t> all(static_cast<size_t>(experts));
    std::iota(all.begin(), all.end(), 0);
    for (int64_t t = 0; t < tokens; ++t) {
      std::shuffle(all.begin(), all.end(), random);
      // Leave some experts without tokens if enough others remain.
      std::vector<int32_t> some(all.begin(), all.end());
      if (experts > used + 2)
        std::erase_if(some, [](int32_t e) { return e == 1 || e == 2; });
      std::sort(some.begin(), some.begin() + used);
      routes.expert.insert(routes.expert.end(), some.begin(), some.begin() + used);
      for (int64_t i = 0; i < used; ++i)
        routes.weight.push_back(float(random() % 1000) / 1000);
    }
    reference::groupRows(routes);
    std::memcpy(bytes.data(), routes.expert.data(), 4 * routes.expert.size());
    std::memcpy(bytes.data() + layout().weight(), routes.weight.data(), 4 * routes.weight.size());
  }
  RoutesLayout layout() const { return {int64_t(routes.expert.size())}; }
  template <typename T> std::vector<T> read(int64_t at, size_t count) const {
    std::vector<T> list(count);
    std::memcpy(list.data(), bytes.data() + at, count * sizeof(T));
    return list;
  }
  /// Groups the rows with kernel.group_routes.
  void group(const LoadedKernels &code) {
    code.call("group", {bytes.data()}, batchOf(int64_t(routes.expert.size()) / routes.used), 0, 1);
  }
};

std::string groupKernel(int64_t experts, int64_t used) {
  const std::string type =
      "!kernel.routes<" + std::to_string(experts) + ", " + std::to_string(used) + ">";
  return "kernel.func @group(%r: " + type + ") {\n  kernel.group_routes %r : " + type +
         "\n  kernel.return\n}\n";
}

struct RouteCase {
  const char *name;
  int64_t experts, used;
  std::string attributes; ///< attributes of kernel.route
  bool biased = false, scaled = false;
};

std::string attributesOf(const char *score, const char *normalize, const char *rest = "",
                         int groups = 1, int usedGroups = 1, const char *groupScore = "max") {
  return std::string("{score = #lm.score<") + score + ">, normalize = #lm.normalize<" + normalize +
         ">, groups = " + std::to_string(groups) +
         " : i64, used_groups = " + std::to_string(usedGroups) +
         " : i64, group_score = #lm.group_score<" + groupScore + ">, " +
         (*rest ? rest : "norm_eps = 0.0 : f32, norm_floor = 0.0 : f32, scale = 1.0 : f32") + "}";
}

std::string routeKernel(const RouteCase &of) {
  const std::string e = std::to_string(of.experts), vector = "!lm.weight<" + e + ", f32>",
                    routes = "!kernel.routes<" + e + ", " + std::to_string(of.used) + ">";
  return "kernel.func @route(%x: !kernel.activation<" + e + ", f32>" +
         (of.biased ? ", %b: " + vector : "") + (of.scaled ? ", %s: " + vector : "") +
         ", %r: " + routes + ") {\n  kernel.route %x : !kernel.activation<" + e + ", f32>" +
         (of.biased ? " select %b : " + vector : "") +
         (of.scaled ? " expert_scale %s : " + vector : "") + " outs(%r : " + routes + ") " +
         of.attributes + "\n  kernel.return\n}\n";
}

Buffer<float> vectorOf(int64_t n, unsigned seed) {
  Buffer<float> values(static_cast<size_t>(roundUp(n, 32)));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < n; ++i)
    values[size_t(i)] = float(random() % 2001) / 1000 - 1;
  return values;
}

class Route : public testing::TestWithParam<RouteCase> {};

TEST_P(Route, ChoosesAsTheReference) {
  const RouteCase &of = GetParam();
  constexpr int64_t kTokens = 37;
  KernelModule module(routeKernel(of) + groupKernel(of.experts, of.used));
  auto op = mlir::cast<kernel::RouteOp>(module.anchor());
  const reference::RouteRules rules = reference::RouteRules::of(op);
  Buffer<float> logits = randomRows(kTokens, of.experts, 7, 4), bias = vectorOf(of.experts, 8),
                scale = vectorOf(of.experts, 9);
  const size_t stride = size_t(f32RowBytes(of.experts) / 4);
  for (int64_t e = 0; e < of.experts; ++e)
    logits[2 * stride + size_t(e)] = 0.25f; // ties: the lowest index wins
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    RandomRoutes made(of.experts, of.used, kTokens, 1);
    std::memset(made.bytes.data(), 0xff, made.bytes.bytes());
    std::vector<void *> args{logits.data()};
    if (of.biased)
      args.push_back(bias.data());
    if (of.scaled)
      args.push_back(scale.data());
    args.push_back(made.bytes.data());
    for (int64_t thread = 0; thread < 2; ++thread)
      code.call("route", args, batchOf(kTokens), thread, kTokens, 2);
    Routes &expected = made.routes;
    const auto used = size_t(of.used);
    for (size_t t = 0; t < size_t(kTokens); ++t)
      chooseExperts(rules, {&logits[t * stride], size_t(of.experts)},
                    of.biased ? std::span(bias.data(), size_t(of.experts)) : std::span<float>(),
                    of.scaled ? std::span(scale.data(), size_t(of.experts)) : std::span<float>(),
                    std::span(expected.expert).subspan(t * used, used),
                    std::span(expected.weight).subspan(t * used, used));
    EXPECT_EQ(made.read<int32_t>(made.layout().expert(), expected.expert.size()), expected.expert)
        << isa->name;
    const auto weights = made.read<float>(made.layout().weight(), expected.weight.size());
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], expected.weight[i], 2e-6 * std::max(1.0f, std::fabs(weights[i])))
          << isa->name << ", pair " << i;
    EXPECT_TRUE(made.bytes.intact());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Route,
    testing::Values(
        RouteCase{"mixtral", 8, 2, attributesOf("none", "softmax")},
        RouteCase{"qwen2", 60, 4, attributesOf("softmax", "none")},
        RouteCase{"qwen3", 128, 8, attributesOf("softmax", "sum")},
        RouteCase{"five", 5, 3, attributesOf("softmax", "sum"), false, true},
        RouteCase{"sixteen", 16, 16, attributesOf("softmax", "none")},
        RouteCase{"ernie", 64, 6,
                  attributesOf("softmax", "sum",
                               "norm_eps = 0.0 : f32, norm_floor = 0.5 : f32, scale = 1.0 : f32"),
                  true},
        RouteCase{
            "deepseek", 64, 8,
            attributesOf("sigmoid", "sum",
                         "norm_eps = 1.0e-20 : f32, norm_floor = 0.0 : f32, scale = 2.5 : f32", 8,
                         4, "top2sum"),
            true},
        RouteCase{"groups", 20, 5, attributesOf("softmax", "none", "", 4, 2)},
        RouteCase{"softplus", 33, 4, attributesOf("sqrtsoftplus", "sum"), true}),
    [](const auto &info) { return info.param.name; });

TEST(Route, TakesWhatIsNoNumberLast) {
  const RouteCase of{"", 20, 3, attributesOf("none", "none")};
  KernelModule module(routeKernel(of));
  Buffer<float> logits(2 * 32);
  for (size_t e = 0; e < 20; ++e) {
    logits[e] = NAN;                                 // all logits of the first token
    logits[32 + e] = e == 7 || e == 19 ? 1.0f : NAN; // all but two of the second token
  }
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    Buffer<char> routes(size_t(2 * routesBytes(3)));
    code.call("route", {logits.data(), routes.data()}, batchOf(2), 0, 2);
    const auto *experts = reinterpret_cast<const int32_t *>(routes.data());
    EXPECT_EQ(std::vector(experts, experts + 6), (std::vector<int32_t>{0, 1, 2, 0, 7, 19}));
  }
}

TEST(GroupRoutes, FindsTheRowsOfEachExpert) {
  for (auto [experts, used, tokens] : {std::array{5, 2, 1}, {5, 2, 40}, {64, 8, 3}, {300, 1, 70}}) {
    KernelModule module(groupKernel(experts, used));
    LoadedKernels code(module, *hostIsas().front());
    RandomRoutes made(experts, used, tokens, 3);
    made.group(code);
    const Routes &expected = made.routes;
    const size_t pairs = expected.expert.size();
    EXPECT_EQ(made.read<int32_t>(made.layout().row(), pairs), expected.row);
    EXPECT_EQ(made.read<int32_t>(made.layout().token(), pairs), expected.token);
    const int32_t count = made.read<int32_t>(made.layout().count(), 1).front();
    int32_t end = 0, last = -1;
    for (const RouteSegment &one :
         made.read<RouteSegment>(made.layout().segments(), size_t(count))) {
      EXPECT_EQ(one.first, end);
      EXPECT_GT(one.expert, last);
      for (int32_t row = one.first; row < one.end; ++row)
        EXPECT_EQ(expected.expertOf(row), one.expert);
      end = one.end, last = one.expert;
    }
    EXPECT_EQ(end, int32_t(pairs));
    EXPECT_TRUE(made.bytes.intact());
  }
}

TEST(Combine, AddsInOrderOfTheExperts) {
  constexpr int64_t kTokens = 11, kWidth = 70, kUsed = 3;
  KernelModule module(R"(
kernel.func @combine(%x: !kernel.activation<70, f32>, %r: !kernel.routes<7, 3>, %y: !kernel.activation<70, f32>) {
  kernel.combine %x by %r : !kernel.activation<70, f32>, !kernel.routes<7, 3> outs(%y : !kernel.activation<70, f32>)
  kernel.return
}
)" + groupKernel(7, 3));
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    RandomRoutes made(7, kUsed, kTokens, 4);
    made.group(code);
    Buffer<float> x = randomRows(kTokens * kUsed, kWidth, 5), y(size_t(kTokens) * 96);
    code.call("combine", {x.data(), made.bytes.data(), y.data()}, batchOf(kTokens), 0, kTokens);
    for (size_t t = 0; t < size_t(kTokens); ++t)
      for (size_t i = 0; i < 96; ++i) {
        float sum = 0;
        for (size_t pair = t * kUsed; pair < (t + 1) * kUsed; ++pair)
          sum = std::fma(made.routes.weight[pair], x[size_t(made.routes.row[pair]) * 96 + i], sum);
        EXPECT_EQ(y[t * 96 + i], sum) << t << ", " << i;
      }
  }
}

TEST(Rowwise, BringsRowsToTheirExperts) {
  constexpr int64_t kTokens = 9, kUsed = 2;
  KernelModule module(R"(
kernel.func @dispatch(%x: !kernel.activation<40, f32>, %f: !kernel.activation<1, f32>, %y: !kernel.activation<40, f32>, %r: !kernel.routes<5, 2>) {
  kernel.rowwise ins(%x, %f : !kernel.activation<40, f32>, !kernel.activation<1, f32>) outs(%y : !kernel.activation<40, f32>) to %r : !kernel.routes<5, 2>
      attributes {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    kernel.yield %p : f32
  }
  kernel.return
}
)" + groupKernel(5, 2));
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    RandomRoutes made(5, kUsed, kTokens, 6);
    made.group(code);
    Buffer<float> x = randomRows(kTokens, 40, 5), f = randomRows(kTokens, 1, 9),
                  y(size_t(kTokens * kUsed) * 64);
    code.call("dispatch", {x.data(), f.data(), y.data(), made.bytes.data()}, batchOf(kTokens), 0,
              kTokens * kUsed);
    for (size_t row = 0; row < size_t(kTokens * kUsed); ++row)
      for (size_t i = 0; i < 40; ++i) {
        const auto token = size_t(made.routes.token[row]);
        EXPECT_EQ(y[row * 64 + i], x[token * 64 + i] * f[token * 32]) << row << ", " << i;
      }
  }
}

/// Permutes the columns of each row in its expert's order, for rows in token order and for rows
/// already grouped by expert, as f32 and as codes.
TEST(Rowwise, OrdersColumnsByExpert) {
  constexpr int64_t kTokens = 9, kUsed = 2, kExperts = 5;
  for (int64_t n : {7, 40, 96}) {
    const int64_t stride = orderStride(n), width = f32RowBytes(n) / 4;
    const std::string f = "!kernel.activation<" + std::to_string(n) + ", f32>",
                      q = "!kernel.activation<" + std::to_string(n) + ", q8>",
                      c = "!lm.weight<" + std::to_string(kExperts * stride) + ", f32>",
                      r = "!kernel.routes<5, 2>";
    auto kernel = [&](const std::string &name, const char *dispatched) {
      return "kernel.func @" + name + "(%x: " + f + ", %c: " + c + ", %y: " + f + ", %z: " + q +
             ", %r: " + r + ") {\n  kernel.rowwise ins(%x : " + f + ") outs(%y, %z : " + f + ", " +
             q + ") to %r : " + r + " by %c : " + c + " attributes {" + dispatched +
             "extent = #kernel.extent<tokens>, rows_of_token = 2 : i64} {\n  ^bb0(%a: f32):\n"
             "    kernel.yield %a, %a : f32, f32\n  }\n  kernel.return\n}\n";
    };
    KernelModule module(kernel("tokens", "") + kernel("rows", "dispatched, ") +
                        groupKernel(kExperts, kUsed));
    Buffer<float> orders(size_t(kExperts * stride));
    for (int64_t e = 0; e < kExperts; ++e)
      for (int64_t k = 0; k < n; ++k)
        orders[size_t(e * stride + k)] = float((k * 11 + 3 * e + 1) % n);
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      RandomRoutes made(kExperts, kUsed, kTokens, 8);
      made.group(code);
      for (const char *name : {"tokens", "rows"}) {
        const bool ofTokens = name[0] == 't';
        const int64_t rows = kTokens * kUsed;
        Buffer<float> x = randomRows(ofTokens ? kTokens : rows, n, 5), y(size_t(rows * width));
        Buffer<char> z(size_t(rows * q8Row(n).bytes));
        for (int64_t thread = 0; thread < 2; ++thread)
          code.call(name, {x.data(), orders.data(), y.data(), z.data(), made.bytes.data()},
                    batchOf(kTokens), thread, rows, 2);
        EXPECT_TRUE(y.intact() && z.intact());
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t i = 0; i < width; ++i) {
            const int64_t from = ofTokens ? made.routes.token[size_t(row)] : row;
            const float *order = &orders[size_t(made.routes.expertOf(row) * stride)];
            ASSERT_EQ(y[size_t(row * width + i)],
                      i < n ? x[size_t(from * width + int64_t(order[i]))] : 0.0f)
                << isa->name << " " << name << " row " << row << " at " << i;
          }
        EXPECT_TRUE(z == quantizeRows(y, rows, n)) << isa->name << " " << name << " n " << n;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

struct ExpertsCase {
  const char *name, *format;
  int64_t experts, used, n, k;
  bool quantised; ///< whether rows of x are quantised
  bool pair = false, biased = false;
};

/// Returns a projection of experts, @experts, or of one of their matrices, @one.
std::string projection(const ExpertsCase &of, bool routed) {
  auto text = [](int64_t n) { return std::to_string(n); };
  const std::string shape = (routed ? text(of.experts) + "x" : "") + text(of.n) + "x" + text(of.k),
                    weight = "!lm.weight<" + shape + ", " + of.format + ", panel32>",
                    bias = routed ? "!lm.weight<" + text(of.experts) + "x" + text(of.n) +
                                        "x1, f32, panel32>"
                                  : "!lm.weight<" + text(of.n) + ", f32>",
                    x = "!kernel.activation<" + text(of.k) + (of.quantised ? ", q8>" : ", f32>"),
                    y = "!kernel.activation<" + text(of.n) + ", f32>",
                    routes = "!kernel.routes<" + text(of.experts) + ", " + text(of.used) + ">";
  return std::string("kernel.func @") + (routed ? "experts" : "one") + "(%x: " + x +
         ", %w: " + weight + (of.pair ? ", %u: " + weight : "") +
         (of.biased ? ", %b: " + bias : "") + ", %y: " + y + (routed ? ", %r: " + routes : "") +
         ") {\n  kernel.matmul %x : " + x + " weights(" +
         (of.pair ? "%w, %u : " + weight + ", " + weight : "%w : " + weight) + ")" +
         (of.biased ? " aux(%b : " + bias + ")" : "") + " outs(%y : " + y + ")" +
         (routed ? " of %r : " + routes : "") +
         " attributes {aux_counts = array<i64: " + (of.biased ? "1" : "0") +
         ">, extent = #kernel.extent<tokens>" + (of.pair ? ", gated" : "") + "} {\n  ^bb0(%a: f32" +
         (of.pair ? ", %c: f32" : "") + (of.biased ? ", %d: f32" : "") + "):\n" +
         (of.pair     ? "    %s = arith.mulf %a, %c : f32\n"
          : of.biased ? "    %s = arith.addf %a, %d : f32\n"
                      : "    %s = arith.negf %a : f32\n") +
         "    kernel.yield %s : f32\n  }\n  kernel.return\n}\n";
}

class MatmulOfExperts : public testing::TestWithParam<ExpertsCase> {};

TEST_P(MatmulOfExperts, IsThatOfEachMatrix) {
  const ExpertsCase &of = GetParam();
  KernelModule module(projection(of, true) + projection(of, false) +
                      groupKernel(of.experts, of.used));
  const WeightFormat format = *weightFormatNamed(of.format);
  const PanelLayout one = panelLayout(format, of.n, of.k);
  Buffer<char> stacks[2]{Buffer<char>(size_t(of.experts * one.bytes())),
                         Buffer<char>(size_t(of.experts * one.bytes()))};
  for (int s = 0; s < 2; ++s)
    for (int64_t e = 0; e < of.experts; ++e) {
      RandomWeight matrix(format, of.n, of.k, unsigned(1 + s * of.experts + e));
      std::memcpy(stacks[s].data() + e * one.bytes(), matrix.bytes.data(), size_t(one.bytes()));
    }
  const int64_t biasBytes = f32RowBytes(of.n);
  Buffer<float> biases(size_t(of.experts * biasBytes / 4));
  for (int64_t e = 0; e < of.experts; ++e)
    std::memcpy(reinterpret_cast<char *>(biases.data()) + e * biasBytes,
                vectorOf(of.n, unsigned(70 + e)).data(), size_t(biasBytes));
  const int64_t xBytes = of.quantised ? q8Row(of.k).bytes : f32RowBytes(of.k),
                yBytes = f32RowBytes(of.n);
  for (const Isa *isa : hostIsas()) {
    LoadedKernels code(module, *isa);
    ASSERT_TRUE(code);
    for (int64_t tokens : {1, 3, 50, 150}) {
      RandomRoutes made(of.experts, of.used, tokens, unsigned(tokens));
      made.group(code);
      const int64_t rows = tokens * of.used;
      Buffer<float> numbers = randomRows(rows, of.k, 3);
      Buffer<char> q8 = quantizeRows(numbers, rows, of.k);
      char *x = of.quantised ? q8.data() : reinterpret_cast<char *>(numbers.data());
      Buffer<float> y(size_t(rows * yBytes / 4)), expected(size_t(rows * yBytes / 4));
      auto args = [&](char *x, int64_t expert, float *y) {
        std::vector<void *> list{x, stacks[0].data() + expert * one.bytes()};
        if (of.pair)
          list.push_back(stacks[1].data() + expert * one.bytes());
        if (of.biased)
          list.push_back(reinterpret_cast<char *>(biases.data()) + expert * biasBytes);
        list.push_back(y);
        return list;
      };
      std::vector<void *> all = args(x, 0, y.data());
      all.push_back(made.bytes.data());
      // Partitions with arbitrary boundaries.
      const int64_t items = of.experts * one.panels, cuts[] = {0, items / 3, items / 3 + 1, items};
      for (int part = 2; part >= 0; --part)
        code.call("experts", all, batchOf(tokens), cuts[part], cuts[part + 1]);
      for (int64_t row = 0; row < rows; ++row) // each row by itself
        code.call(
            "one",
            args(x + row * xBytes, made.routes.expertOf(row), expected.data() + row * yBytes / 4),
            batchOf(1), 0, one.panels);
      EXPECT_TRUE(y == expected) << isa->name << ", " << tokens << " tokens";
      EXPECT_TRUE(y.intact());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, MatmulOfExperts,
    testing::Values(ExpertsCase{"q4_1", "q4_1", 5, 2, 14, 64, true},
                    ExpertsCase{"pair", "q4_k", 9, 3, 96, 256, true, true},
                    ExpertsCase{"biased", "mxfp4", 6, 2, 64, 96, true, false, true},
                    ExpertsCase{"exact", "q8_0", 5, 2, 40, 64, false},
                    ExpertsCase{"floats", "f32", 5, 2, 14, 24, false, false, true},
                    ExpertsCase{"bf16", "bf16", 8, 2, 33, 50, false, true}),
    [](const auto &info) { return info.param.name; });

} // namespace
