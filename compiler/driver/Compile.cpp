//===- Compile.cpp - The phases of a compilation --------------------------===//
//
//   lookAtOptions   plugins, patterns, passes and recipe of the user: Extensions.h, Recipe.h
//   open            the checkpoint and its text: OpenModel.h, EngineText.h
//   importModel     checkpoint ─▶ lm: models/
//   fuse            lm ─▶ fused lm, each pass checked: PassRuns.h, PassChecks.h
//   for each target
//     lower         fused lm ─▶ kernels and a program
//     plan          ─▶ plan, checked: PlanChecks.h
//     addProgram    ─▶ code: EngineTable.h
//   write           the engine, and the report: Provenance.h, Summary.h
//
// Compilation.h has the state that the phases share. A compilation may end at any stage (EmitText.h) and may begin
// with the IR of any phase (PhaseText.h).
//===----------------------------------------------------------------------===//
#include "compiler/driver/Compile.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/emit/EmitText.h"
#include "compiler/driver/engine/CachePlace.h"
#include "compiler/driver/inputs/PhaseText.h"
#include "compiler/driver/report/Remarks.h"
#include "compiler/options/OutputPlace.h"
#include "compiler/options/RecipeFile.h"

#include "compiler/options/PhaseOptions.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <optional>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<bool> Compilation::runPhases(ArrayRef<Step> steps) {
  for (const Step &step : steps) {
    if (step.phase < options.from)
      continue;
    if (step.phase > options.from)
      if (auto ok = (this->*step.work)(); !ok)
        return ok.error();
    if (auto stopped = emitIfAsked(options, step.printed, *module); !stopped || *stopped)
      return stopped;
  }
  return false;
}

Result<void> Compilation::run() {
  pipeline = {.precision = options.exact ? Precision::Exact : Precision::Fast,
              .quantize = options.quantize,
              .recipe = options.recipe,
              .disabled = options.disabled};
  if (auto ok = lookAtOptions(); !ok)
    return ok;
  if (auto ok = open(); !ok)
    return ok;
  constexpr Step kSteps[] = {{Phase::Lm, Emit::Lm, &Compilation::importModel},
                             {Phase::Fused, Emit::Fused, &Compilation::fuse}};
  if (auto stopped = runPhases(kSteps); !stopped || *stopped)
    return stopped ? intermediates.close() : stopped.error();
  // Only the targets that can print the requested output keep their jobs.
  if (options.emit > Emit::Plan)
    llvm::erase_if(jobs, [&](const auto &job) { return !job.first->emits(options.emit); });
  if (options.from >= Phase::Kernel && jobs.size() != 1)
    return Error{ExitCode::Usage, "E0488", options.fromFile + " is for one kind of device",
                 std::to_string(jobs.size()) + " kinds of targets are given",
                 "omit --target of the other kind"};
  if (options.from > Phase::Lm)
    if (auto ok = chooseCaches(); !ok)
      return ok;
  fused = std::move(module);
  for (auto &[chosen, job] : jobs)
    if (auto done = buildProgram(*chosen, *job); !done || *done)
      return done ? intermediates.close() : done.error();
  if (auto ok = intermediates.close(); !ok)
    return ok;
  return write();
}

Result<bool> Compilation::buildProgram(const CodeTarget &chosen, CodeJob &job) {
  target = &chosen;
  module = fused->clone();
  model = OwningOpRef<ModuleOp>();
  lowered = OwningOpRef<ModuleOp>();
  pipeline.device = target->kind();
  pipeline.kv = *kvFormatNamed(target->kv(options)); // chooseKv has checked the name
  pipeline.kvLayers = caches.runsFor(*target, options);
  target->choosePasses(options, pipeline);
  progress.phase(target->phases().first);
  intermediates.begin(*module, "fused", target->name().str());
  if (options.from >= Phase::Kernel)
    if (auto ok = checkMadeFor(*module, *target, caches, options); !ok)
      return ok.error();
  if (options.from == Phase::Plan)
    if (auto ok = check(); !ok)
      return ok.error();
  constexpr Step kSteps[] = {{Phase::Kernel, Emit::Lowered, &Compilation::lower},
                             {Phase::Plan, Emit::Plan, &Compilation::plan}};
  if (auto stopped = runPhases(kSteps); !stopped || *stopped)
    return stopped;
  if (auto stopped = emitIfAsked(options, Emit::Kernel, *module); !stopped || *stopped)
    return stopped;
  return addProgram(job);
}

/// Returns the first file name that two inputs share. An engine records files by name, so this is an error.
static std::string nameOfTwo(const CompileOptions &options) {
  std::vector<std::string> paths = options.plugins;
  for (const PatternsAt &patterns : options.patterns)
    paths.push_back(patterns.path);
  if (!options.chatTemplate.empty())
    paths.push_back(options.chatTemplate);
  llvm::StringMap<StringRef> known;
  for (const std::string &path : paths)
    if (StringRef other = known.try_emplace(llvm::sys::path::filename(path), path).first->second;
        other != path && !llvm::sys::fs::equivalent(other, path))
      return llvm::sys::path::filename(path).str();
  return "";
}

Result<void> Compilation::lookAtOptions() {
  registerTargets();
  registerPassesAndPipelines();
  mlir::registerTransformsPasses();
  if (auto ok = extensions.loadPlugins(diagnostics); !ok)
    return ok;
  if (const std::string name = nameOfTwo(options); !name.empty())
    diagnostics.warn("two files have the name " + name +
                     ", so the engine's recipe could not distinguish them");
  if (auto ok = checkPassNames(options); !ok)
    return ok;
  if (auto ok = enableRemarks(options, context); !ok)
    return ok;
  if (auto ok = intermediates.open(options.intermediates); !ok)
    return ok;
  auto rules = Recipe::parse(options);
  if (!rules)
    return rules.error();
  recipe = std::move(*rules);
  for (const CodeTarget *target : codeTargets())
    if (target->isWanted(options))
      jobs.emplace_back(target, target->begin(codeContext));
  if (!options.cache.empty()) {
    auto opened = CodeCache::open(options.cache);
    if (!opened)
      return opened.error();
    cache = std::move(*opened);
  }
  return extensions.read();
}

/// Implements --write-recipe, before any work that may take long.
static Result<void> writeRecipe(const CompileOptions &options) {
  const std::string folder = llvm::sys::path::parent_path(options.writeRecipe).str();
  const std::string from =
      options.from == Phase::Checkpoint
          ? ""
          : "# The compilation started from IR, which is not part of this recipe: --from " +
                std::string(phaseName(options.from)) + "=" + options.fromFile + "\n";
  return writeText("# ingot compile MODEL --recipe THIS -o E\n" + from + recipeIn(folder, options),
                   options.writeRecipe);
}

Result<void> compiler::compile(const CompileOptions &options) {
  if (auto ok = checkOutput(options); !ok)
    return ok;
  if (!options.writeRecipe.empty())
    if (auto ok = writeRecipe(options); !ok)
      return ok;
  if (options.emit == Emit::Engine && options.output.empty() && !options.intoCache)
    return {}; // only the recipe was requested
  if (!options.intoCache)
    return Compilation(options).run();
  auto place = placeInCache(options);
  if (!place)
    return place.error();
  CompileOptions kept = options;
  kept.output = *place;
  std::optional<CacheTurn> turn;
  if (!options.link.empty())
    turn.emplace(options.cache);
  if (!isEngineFile(*place)) {
    if (auto ok = checkOutput(kept); !ok)
      return ok;
    if (auto ok = Compilation(kept).run(); !ok)
      return ok;
  }
  if (!options.link.empty())
    if (auto ok = linkEngine(options.link, *place); !ok)
      return ok;
  return writeText(*place + "\n", "");
}
