//===- ModelPhases.cpp - From a checkpoint to fused lm ----------------------===//
#include "compiler/driver/Compilation.h"
#include "compiler/driver/checks/VerifyOnWeights.h"
#include "compiler/driver/formats/ScaleRange.h"
#include "compiler/driver/inputs/OpenModel.h"
#include "compiler/driver/inputs/PhaseText.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "models/Family.h"
#include "runtime/engine/Inspect.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<void> Compilation::open() {
  progress.phase("read");
  TimingScope scope = timing.nest("reading the checkpoint");
  auto opened = openModel(options, diagnostics);
  if (!opened)
    return opened.error();
  checkpoint = std::move(*opened);
  uint64_t bytes = 0;
  for (const import::Tensor &tensor : checkpoint->tensors)
    bytes += tensor.bytes();
  progress.note(runtime::humanBytes(bytes) + " in " + std::to_string(checkpoint->tensors.size()) +
                " tensors");
  auto built = buildEngineText(*checkpoint, options.chatTemplate, options.chatTemplateName);
  if (!built)
    return built.error();
  text = std::move(*built);
  if (!text.warning.empty())
    diagnostics.warn(text.warning);
  if (options.from == Phase::Checkpoint)
    return {};
  auto ir = readPhase(context, options, *checkpoint, diagnostics);
  if (!ir)
    return ir.error();
  module = std::move(*ir);
  return {};
}

/// Returns the sizes of the model that have limits.
static ModelSizes sizesOf(ModuleOp module) {
  ModelSizes sizes;
  module.walk([&](lm::StateOp state) {
    if (auto paged = dyn_cast<lm::PagedAttr>(state.getLayout()))
      for (lm::StreamAttr stream : paged.getStreams())
        if (!llvm::is_contained(sizes.headWidths, stream.getWidth()))
          sizes.headWidths.push_back(stream.getWidth());
  });
  module.walk([&](lm::RouteOp route) {
    const lm::RoutesType routes = route.routesType();
    sizes.experts = std::max<int64_t>(sizes.experts, routes.getExperts());
    sizes.expertsUsed = std::max<int64_t>(sizes.expertsUsed, routes.getUsed());
    sizes.expertGroups = std::max<int64_t>(sizes.expertGroups, route.getGroups());
  });
  return sizes;
}

Result<void> Compilation::importModel() {
  TimingScope scope = timing.nest("import");
  Error why;
  auto imported = models::importModel(context, *checkpoint, why);
  if (failed(imported))
    return why;
  module = std::move(*imported);
  if (const std::string keys = models::passedOver(*checkpoint); options.verbose && !keys.empty())
    diagnostics.note("keys: ignored, since they do not affect the result: " + keys);
  return {};
}

Result<void> Compilation::chooseFormats() {
  if (options.from > Phase::Lm)
    return {};
  lm::ModelOp whole = *module->getOps<lm::ModelOp>().begin();
  if (auto ok = recipe.holdAgainst(whole, options, diagnostics); !ok)
    return ok;
  if (hasDummyWeights() || (options.quantize.empty() && options.recipe.empty()))
    return {};
  auto found = matricesOutOfRange(whole, *checkpoint, options, threads);
  if (!found)
    return found.error();
  std::vector<std::string> rules; // placed before the user's rules, because the first match decides
  for (const OutOfRange &matrix : *found) {
    diagnostics.warn(matrix.weight + " stays bf16: " + matrix.why);
    rules.push_back(matrix.weight + ":bf16");
  }
  pipeline.recipe.insert(pipeline.recipe.begin(), rules.begin(), rules.end());
  return {};
}

Result<void> Compilation::chooseCaches() {
  auto chosen = KvCaches::of(*module, options, sizesOf(*module));
  if (!chosen)
    return chosen.error();
  caches = std::move(*chosen);
  return {};
}

Result<void> Compilation::fuse() {
  if (auto ok = chooseCaches(); !ok)
    return ok;
  if (auto ok = chooseFormats(); !ok)
    return ok;
  progress.phase("fuse");
  OwningOpRef<ModuleOp> imported;
  if (options.verify)
    imported = module->clone();
  intermediates.begin(*module, "lm");
  auto build = [&](OpPassManager &pm) {
    extensions.addAt("import", pm);
    buildImportPipeline(pm, pipeline);
    extensions.addAt("pre-fusion", pm);
    buildFusionPipeline(pm, pipeline);
    extensions.addAt("post-fusion", pm);
  };
  if (auto ok = passes.overModel(*module, build, evidence); !ok)
    return ok;
  std::optional<double> roundingCost;
  if (options.verify) {
    auto again = [&](ModuleOp from, std::unique_ptr<PassInstrumentation> watch) {
      passes.again(from, build, std::move(watch));
    };
    auto verified =
        verifyOnWeights(*imported, *module, *checkpoint, extensions.passes(), again, evidence);
    if (!verified)
      return verified.error();
    roundingCost = *verified;
  }
  int regions = 0;
  module->walk([&](lm::FusedOp) { ++regions; });
  std::string note = std::to_string(regions) + " fused regions, " +
                     std::to_string(evidence.size()) + " checks passed";
  if (roundingCost)
    llvm::raw_string_ostream(note) << llvm::format(
        "; rounding weights changes logits by up to %.2g %% of the largest", *roundingCost * 100);
  progress.note(note);
  return {};
}
