//===- KvCaches.cpp - See KvCaches.h --------------------------------------===//
#include "compiler/driver/formats/KvCaches.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static void addWidths(Attribute layout, LayerCache &to) {
  if (auto paged = dyn_cast<lm::PagedAttr>(layout))
    for (lm::StreamAttr stream : paged.getStreams())
      if (!llvm::is_contained(to.widths, stream.getWidth()))
        to.widths.push_back(stream.getWidth());
}

static std::vector<LayerCache> cachesOf(lm::LayersOp op) {
  SymbolTable symbols(SymbolTable::getNearestSymbolTable(op));
  auto windowOf = [&](FlatSymbolRefAttr kind) {
    int64_t window = 0;
    symbols.lookup(kind.getAttr())->walk([&](lm::AttentionOp op) {
      window = int64_t(op.getWindow());
    });
    return window;
  };
  std::vector<LayerCache> layers;
  for (auto [kind, states] :
       llvm::zip(op.getKinds().getAsRange<FlatSymbolRefAttr>(), op.getStates())) {
    LayerCache &cache = layers.emplace_back();
    cache.window = windowOf(kind);
    for (auto ref : cast<ArrayAttr>(states).getAsRange<FlatSymbolRefAttr>())
      addWidths(cast<lm::StateOp>(symbols.lookup(ref.getAttr())).getLayout(), cache);
  }
  return layers;
}

/// Calls visit(layer, state) for each state of each layer's step.
template <typename Visit> static void forStates(plan::ProgramOp program, Visit visit) {
  SymbolTable symbols(program);
  for (plan::StepOp step : program.generateEntry().getBody().getOps<plan::StepOp>())
    if (step.getLayer() && step.getStates())
      for (auto ref : step.getStates()->getAsRange<FlatSymbolRefAttr>())
        visit(size_t(*step.getLayer()), cast<plan::StateOp>(symbols.lookup(ref.getAttr())));
}

static std::vector<LayerCache> cachesOf(plan::ProgramOp program) {
  std::vector<LayerCache> layers;
  for (plan::StepOp step : program.generateEntry().getBody().getOps<plan::StepOp>())
    if (step.getLayer())
      layers.resize(std::max(layers.size(), size_t(*step.getLayer()) + 1));
  forStates(program, [&](size_t layer, plan::StateOp state) {
    addWidths(state.getLayout(), layers[layer]);
    if (state.getWindow())
      layers[layer].window = int64_t(*state.getWindow());
  });
  return layers;
}

/// Returns the widths in the layers with a requested format if `in` is true, else in the layers without one.
static std::vector<int64_t> widthsIn(const std::vector<LayerCache> &layers,
                                     const std::vector<std::optional<KvFormat>> &asked, bool in) {
  std::vector<int64_t> widths;
  for (auto [cache, format] : llvm::zip(layers, asked))
    if (format.has_value() == in)
      widths.insert(widths.end(), cache.widths.begin(), cache.widths.end());
  return widths;
}

Result<KvCaches> KvCaches::of(ModuleOp module, const CompileOptions &options,
                              const ModelSizes &sizes) {
  KvCaches caches;
  if (options.kvLayers.empty()) {
    if (auto ok = checkCompatibility(combinationOf(options, sizes)); !ok)
      return ok.error();
    return caches;
  }
  lm::LayersOp model;
  module.walk([&](lm::LayersOp op) { model = op; });
  const std::vector<LayerCache> layers =
      model ? cachesOf(model) : cachesOf(*module.getOps<plan::ProgramOp>().begin());
  auto asked = askedCaches(options.kvLayers, layers);
  if (!asked)
    return asked.error();
  // Check each format against the layers that have it.
  Combination combination = combinationOf(options, sizes);
  const std::string ofOthers = std::exchange(combination.kv, "");
  if (auto ok = checkCompatibility(combination); !ok)
    return ok.error();
  combination.kv = ofOthers;
  combination.model.headWidths = widthsIn(layers, *asked, false);
  if (auto ok = checkCompatibility(combination); !ok)
    return ok.error();
  for (const KvRule &rule : options.kvLayers) {
    auto own = askedCaches({rule}, layers);
    if (!own)
      return own.error();
    ModelSizes ofRule = sizes;
    ofRule.headWidths = widthsIn(layers, *own, true);
    if (auto ok = checkCompatibility(options, rule, std::move(ofRule)); !ok)
      return ok.error();
  }
  caches.asked = std::move(*asked);
  return caches;
}

StringRef KvCaches::formatOf(size_t layer, const CodeTarget &target,
                             const CompileOptions &options) const {
  if (layer < asked.size() && asked[layer])
    if (const KvFormatInfo &format = kvFormat(*asked[layer]); target.kvFormats()(format))
      return format.name;
  return target.kv(options);
}

std::vector<std::string> KvCaches::runsFor(const CodeTarget &target,
                                           const CompileOptions &options) const {
  std::vector<std::string> runs;
  for (size_t first = 0, end; first < asked.size(); first = end) {
    const StringRef format = formatOf(first, target, options);
    for (end = first + 1; end < asked.size() && formatOf(end, target, options) == format;)
      ++end;
    if (format != target.kv(options))
      runs.push_back(std::to_string(first) + "-" + std::to_string(end - 1) + ":" + format.str());
  }
  return runs;
}

std::optional<std::string> KvCaches::firstOther(ModuleOp module, const CodeTarget &target,
                                                const CompileOptions &options) const {
  std::optional<std::string> other;
  plan::ProgramOp program = *module.getOps<plan::ProgramOp>().begin();
  const bool mixed = kvWords(program).size() > 1 || !asked.empty();
  forStates(program, [&](size_t layer, plan::StateOp state) {
    const StringRef expected = formatOf(layer, target, options);
    if (!other && state.getElement() && *state.getElement() != expected)
      other = "its KV cache " + (mixed ? "in layer " + std::to_string(layer) + " " : "") +
              "has the type " + state.getElement()->str() + "; for " + target.name().str() +
              " it would be " + expected.str();
  });
  return other;
}

std::vector<std::string> compiler::kvWords(plan::ProgramOp program) {
  llvm::MapVector<StringAttr, std::vector<int64_t>> layersOf;
  forStates(program, [&](size_t layer, plan::StateOp state) {
    if (!state.getElement())
      return;
    std::vector<int64_t> &own = layersOf[state.getElementAttr()];
    if (own.empty() || own.back() != int64_t(layer))
      own.push_back(int64_t(layer));
  });
  std::vector<std::string> words;
  StringAttr most;
  for (auto &[format, layers] : layersOf)
    if (!most || layers.size() > layersOf[most].size())
      most = format;
  if (most)
    words.push_back(most.str());
  for (auto &[format, layers] : layersOf)
    if (format != most)
      words.push_back(layersText(layers) + "=" + format.str());
  return words;
}
