//===- Compare.cpp - Checks that a pass preserves semantics ---------------===//
#include "compiler/reference/Compare.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

static lm::LayersOp layersOf(ModuleOp module) {
  lm::LayersOp found;
  module.walk([&](lm::LayersOp op) { found = op; });
  return found;
}

static void addFirstOfKinds(lm::LayersOp op, std::vector<int64_t> &layers) {
  DenseSet<Attribute> seen;
  for (auto [i, kind] : llvm::enumerate(op.getKinds()))
    if (seen.insert(kind).second)
      layers.push_back(int64_t(i));
}

/// Returns the number of past positions. It exceeds each attention window, except windows so long that generating such
/// a past would be slow.
static int64_t pastOf(ModuleOp module) {
  constexpr int64_t kLongest = 1024;
  int64_t past = 19;
  module.walk([&](lm::AttentionOp op) {
    int64_t window = static_cast<int64_t>(op.getWindow());
    if (window <= kLongest)
      past = std::max(past, window + 3);
  });
  auto model = *module.getOps<lm::ModelOp>().begin();
  return std::min(past, model.getMaxPositionsAttr().getInt() / 2);
}

/// Returns the logits of both steps, concatenated, and the rows that each layer returns.
static Result<SliceLogits> runSlice(ModuleOp module, WeightProvider &weights,
                                    const std::vector<int64_t> &layers, int64_t past,
                                    const SliceOptions &options) {
  auto interpreter = Interpreter::create(module, weights);
  if (!interpreter)
    return std::move(interpreter.error());
  (*interpreter)->useLayers(layers);
  auto vocabulary = static_cast<float>((*interpreter)->model().getVocab());
  auto id = [&](uint64_t i) {
    return static_cast<int32_t>(uniform(options.seed, i) * (vocabulary - 1));
  };
  KvState kv(options.kv);
  kv.pretendPast(0, past, options.seed);
  Step first{
      {id(0), id(1), id(2), id(3), id(4)}, {0, 0, 1, 1, 1}, {past, past + 1, 0, 1, 2}, {0, 1, 4}};
  Step second{{id(5), id(6)}, {0, 1}, {past + 2, 3}, {}};
  SliceLogits run{layers, past, {}, {}};
  (*interpreter)->watchLayers([&](int64_t layer, const Matrix &rows) {
    run.carried.push_back({layer, rows});
  });
  for (const Step *step : {&first, &second}) {
    auto rows = (*interpreter)->step(*step, kv);
    if (!rows)
      return std::move(rows.error());
    run.logits.insert(run.logits.end(), rows->values.begin(), rows->values.end());
  }
  return run;
}

/// Returns the layers of the slice: the requested ones, or the first layer of each kind in either program.
static Result<std::vector<int64_t>> chooseLayers(ModuleOp before, ModuleOp after,
                                                 const SliceOptions &options) {
  lm::LayersOp first = layersOf(before), second = layersOf(after);
  size_t layersBefore = first ? first.getKinds().size() : 0;
  size_t layersAfter = second ? second.getKinds().size() : 0;
  if (layersBefore != layersAfter || layersBefore == 0)
    return Error{ExitCode::Internal, "E0456", "the programs cannot be compared",
                 "the first has " + std::to_string(layersBefore) + " layers, the second " +
                     std::to_string(layersAfter),
                 "report this"};
  if (!options.layers.empty())
    return options.layers;
  std::vector<int64_t> layers;
  addFirstOfKinds(first, layers);
  addFirstOfKinds(second, layers);
  std::ranges::sort(layers);
  layers.erase(std::ranges::unique(layers).begin(), layers.end());
  return layers;
}

static Result<Comparison> compareLogits(const std::vector<float> &a, const std::vector<float> &b) {
  if (a.size() != b.size())
    return Error{ExitCode::Internal, "E0456", "the programs cannot be compared",
                 "the first outputs " + std::to_string(a.size()) + " logits, the second " +
                     std::to_string(b.size()),
                 "report this"};
  Comparison result;
  result.values = static_cast<int64_t>(a.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double x = a[i], y = b[i];
    if (!std::isfinite(x) || !std::isfinite(y))
      return Error{ExitCode::Internal, "E0457", "a program computes NaN or infinity",
                   "logit " + std::to_string(i) + " is " + std::to_string(x) + " before, " +
                       std::to_string(y) + " after",
                   "report this"};
    largest = std::max(largest, std::abs(x));
    result.maxAbsolute = std::max(result.maxAbsolute, std::abs(x - y));
  }
  result.maxRelative = largest > 0 ? result.maxAbsolute / largest : 0;
  return result;
}

/// Describes the first value in which the rows differ by more than a pass may change. Returns "" if there is none.
static std::string firstDifference(const Matrix &a, const Matrix &b, const std::string &where) {
  if (a.rows != b.rows || a.columns != b.columns)
    return where + " has a different shape";
  float largest = 0;
  for (float value : a.values)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (std::abs(a.values[i] - b.values[i]) <= kLargestRelativeError * largest)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << where << " of token " << i / static_cast<size_t>(a.columns)
                                   << " in value " << i % static_cast<size_t>(a.columns) << ": "
                                   << llvm::format("%.6g, before %.6g", b.values[i], a.values[i]);
    return text;
  }
  return "";
}

static std::string firstDifference(const SliceLogits &before, const SliceLogits &after) {
  for (auto [a, b] : llvm::zip(before.carried, after.carried))
    if (std::string text =
            firstDifference(a.rows, b.rows, "the output of layer " + std::to_string(a.layer));
        !text.empty())
      return text;
  return "only the logits differ: the cause is after the last layer";
}

/// Compares two programs. `known` may hold logits of `before`, which are reused if they belong to the same slice.
/// Afterwards `known` holds the logits of `after`.
static Result<Comparison> compareWith(SliceLogits &known, ModuleOp before, ModuleOp after,
                                      WeightProvider &weights, const SliceOptions &options) {
  auto layers = chooseLayers(before, after, options);
  if (!layers)
    return std::move(layers.error());
  int64_t past = pastOf(before);
  if (known.layers != *layers || known.past != past) {
    auto run = runSlice(before, weights, *layers, past, options);
    if (!run)
      return std::move(run.error());
    known = std::move(*run);
  }
  auto run = runSlice(after, weights, *layers, past, options);
  if (!run)
    return std::move(run.error());
  auto result = compareLogits(known.logits, run->logits);
  if (result) {
    result->layers = static_cast<int64_t>(layers->size());
    if (result->maxRelative > kLargestRelativeError)
      result->first = firstDifference(known, *run);
  }
  known = std::move(*run);
  return result;
}

Result<Comparison> reference::comparePrograms(ModuleOp before, ModuleOp after,
                                              WeightProvider &weights,
                                              const SliceOptions &options) {
  SliceLogits nothing;
  return compareWith(nothing, before, after, weights, options);
}

PassChecker::PassChecker(ModuleOp module, uint64_t seed)
    : weights(seed), last(cast<ModuleOp>(module->clone())) {
  options.seed = seed;
}

PassChecker::~PassChecker() = default;

/// Returns the formats of all weights, in program order.
static std::vector<WeightFormat> formatsOf(ModuleOp module) {
  std::vector<WeightFormat> formats;
  module.walk([&](lm::WeightOp weight) { formats.push_back(weight.getType().getFormat()); });
  return formats;
}

Result<PassChange> PassChecker::check(ModuleOp module) {
  auto result = compareWith(known, *last, module, weights, options);
  if (!result)
    known = {};
  beforeLast = std::exchange(last, cast<ModuleOp>(module->clone()));
  if (!result)
    return std::move(result.error());
  PassChange change{*result, std::nullopt};
  if (formatsOf(*beforeLast) != formatsOf(module)) {
    SeededWeights rounded(options.seed, Rounding::ToFormat);
    auto cost = comparePrograms(*beforeLast, module, rounded, options);
    if (!cost)
      return std::move(cost.error());
    change.rounding = *cost;
  }
  return change;
}

Result<Comparison> PassChecker::compare(ModuleOp module) {
  return comparePrograms(before(), module, weights, options);
}
