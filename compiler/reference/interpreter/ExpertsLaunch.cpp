//===- ExpertsLaunch.cpp - Routing, and sums of experts' rows ---------------===//
#include "compiler/reference/interpreter/Launch.h"
#include "dialects/kernel/ops/Experts.h"
#include "runtime/abi/Routes.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

template <typename T>
static std::vector<T> values(Launch &launch, Value routes, int64_t at, int64_t count) {
  std::vector<T> list(static_cast<size_t>(count));
  if (count)
    std::memcpy(list.data(), launch.part(routes, at, 4 * count, /*reads=*/true, /*writes=*/false),
                4 * static_cast<size_t>(count));
  return list;
}
template <typename T>
static void put(Launch &launch, Value routes, int64_t at, const std::vector<T> &list) {
  if (!list.empty())
    std::memcpy(launch.part(routes, at, 4 * int64_t(list.size()), /*reads=*/false, /*writes=*/true),
                list.data(), 4 * list.size());
}

/// Returns the experts and weights of all pairs.
static Routes pairsOf(Launch &launch, Value operand) {
  auto type = cast<kernel::RoutesType>(operand.getType());
  const RoutesLayout layout{launch.units(/*perRow=*/false) * type.getUsed()};
  return {type.getExperts(), type.getUsed(),
          values<int32_t>(launch, operand, layout.expert(), layout.pairs),
          values<float>(launch, operand, layout.weight(), layout.pairs)};
}

Routes Launch::routes(Value operand) {
  Routes found = pairsOf(*this, operand);
  const RoutesLayout layout{int64_t(found.expert.size())};
  found.row = values<int32_t>(*this, operand, layout.row(), layout.pairs);
  found.token = values<int32_t>(*this, operand, layout.token(), layout.pairs);
  found.pair.resize(found.row.size());
  for (size_t pair = 0; pair < found.row.size(); ++pair)
    found.pair[size_t(found.row[pair])] = int32_t(pair);
  return found;
}

Result<void> interpreter::run(Launch &launch, kernel::RouteOp op) {
  std::vector<float> vectors[2];
  for (auto [numbers, operand] : llvm::zip(vectors, std::array{op.getBias(), op.getExpertScale()}))
    if (operand) {
      auto read = launch.vector(operand);
      if (!read)
        return std::move(read.error());
      numbers = std::move(*read);
    }
  const RouteRules rules = RouteRules::of(op);
  const int64_t tokens = launch.units(/*perRow=*/false);
  const RoutesLayout layout{tokens * rules.used};
  std::vector<int32_t> experts(static_cast<size_t>(layout.pairs));
  std::vector<float> weights(experts.size());
  const auto used = size_t(rules.used);
  for (int64_t t = 0; t < tokens; ++t)
    chooseExperts(rules, launch.read(op.getLogits(), t, Items::one(0)), vectors[0], vectors[1],
                  std::span(experts).subspan(size_t(t) * used, used),
                  std::span(weights).subspan(size_t(t) * used, used));
  put(launch, op.getRoutes(), layout.expert(), experts);
  put(launch, op.getRoutes(), layout.weight(), weights);
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::GroupRoutesOp op) {
  Routes routes = pairsOf(launch, op.getRoutes());
  groupRows(routes);
  const RoutesLayout layout{int64_t(routes.expert.size())};
  std::vector<int32_t> segments;
  for (int32_t row = 0; row < int32_t(layout.pairs); ++row) {
    const int32_t expert = routes.expertOf(row);
    if (segments.empty() || segments[segments.size() - 3] != expert)
      segments.insert(segments.end(), {expert, row, row});
    ++segments.back();
  }
  put(launch, op.getRoutes(), layout.row(), routes.row);
  put(launch, op.getRoutes(), layout.token(), routes.token);
  put(launch, op.getRoutes(), layout.count(),
      std::vector<int32_t>{int32_t(segments.size() / 3), 0, 0, 0});
  put(launch, op.getRoutes(), layout.segments(), segments);
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::CombineOp op) {
  const Routes routes = launch.routes(op.getRoutes());
  for (int64_t t = 0; t < launch.units(/*perRow=*/false); ++t) {
    std::vector<float> sum(size_t(op.getOutput().getType().getN()));
    for (int64_t pair = t * routes.used; pair < (t + 1) * routes.used; ++pair) {
      const std::vector<float> row =
          launch.read(op.getX(), routes.row[size_t(pair)], Items::every());
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] = std::fma(routes.weight[size_t(pair)], row[i], sum[i]);
    }
    launch.write(op.getOutput(), t, sum, Items::one(t));
  }
  return {};
}
