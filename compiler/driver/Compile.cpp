//===- Compile.cpp - The phases of a compilation --------------------------===//
//
//   lookAtOptions   what the user brings: Extensions.h, Recipe.h
//   open            the checkpoint and its text: OpenModel.h, EngineText.h
//   importModel     checkpoint ─▶ lm: models/
//   fuse            lm ─▶ fused lm, each pass checked: PassRuns.h, PassChecks.h
//   for each target
//     lower         fused lm ─▶ kernels and a program
//     plan          ─▶ plan, checked: PlanChecks.h
//     addProgram    ─▶ code: EngineTable.h
//   write           the engine, and the report: Provenance.h, Summary.h
//
// Any stage may be all that was asked for (EmitText.h), and a compilation may begin with the IR of any phase
// (PhaseText.h).
//===----------------------------------------------------------------------===//
#include "compiler/driver/Compile.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/console/Progress.h"
#include "compiler/console/RecipeFile.h"
#include "compiler/driver/CachePlace.h"
#include "compiler/driver/CompilerIdentity.h"
#include "compiler/driver/EmitText.h"
#include "compiler/driver/EngineTable.h"
#include "compiler/driver/EngineText.h"
#include "compiler/driver/OpenModel.h"
#include "compiler/driver/PassRuns.h"
#include "compiler/driver/PhaseText.h"
#include "compiler/driver/PlanChecks.h"
#include "compiler/driver/Provenance.h"
#include "compiler/driver/Recipe.h"
#include "compiler/driver/Remarks.h"
#include "compiler/driver/ScaleRange.h"
#include "compiler/driver/Summary.h"
#include "compiler/driver/VerifyOnWeights.h"
#include "compiler/targets/CodeTarget.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/ops/Program.h"
#include "models/Family.h"
#include "passes/Passes.h"
#include "runtime/engine/Inspect.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), progress(options.quiet || options.json ||
                                   (options.emit != Emit::Engine && options.emit != Emit::Rows)),
        threads(options.threads ? options.threads
                                : std::max(1u, std::thread::hardware_concurrency())) {
    ingot::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  Result<void> run();

private:
  /// Does the work of a phase unless --from brought its result, and prints what that is if it was asked for.
  struct Step {
    Phase phase;
    Emit printed;
    Result<void> (Compilation::*work)();
  };
  /// True: what was asked for is printed, and nothing is left to do.
  Result<bool> runPhases(ArrayRef<Step> steps);

  /// All that the user brings is looked at before the checkpoint is.
  Result<void> lookAtOptions();
  Result<void> open();
  Result<void> importModel();
  /// Says what of the recipe has nothing to do, and has matrices whose scales f16 cannot hold stay bf16.
  Result<void> chooseFormats();
  Result<void> fuse();

  Result<void> lower();
  Result<void> plan();
  Result<void> check();
  /// Phases of one target. True: what was asked for is printed.
  Result<bool> buildProgram(const CodeTarget &chosen, CodeJob &job);
  Result<bool> addProgram(CodeJob &job);
  Result<void> write();

  bool weightsMadeUp() const { return options.weights != WeightOrigin::Checkpoint; }
  void addLowering(OpPassManager &pm);
  void addPlanning(OpPassManager &pm);

  const CompileOptions &options;
  Progress progress;
  int threads;
  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Diagnostics diagnostics{options, context};
  Extensions extensions{options, context};
  Intermediates intermediates;
  PassRuns passes{options, extensions, diagnostics, intermediates};
  PipelineOptions pipeline;
  Recipe recipe;
  std::optional<CodeCache> cache;
  CodeContext codeContext{
      options,
      threads,
      progress,
      cache,
      compilerIdentity(),
      [this](const std::string &line) { diagnostics.warn(line); },
      [this](std::string what) { return diagnostics.compilerError(std::move(what)); }};
  /// The targets that were asked for, at work.
  std::vector<std::pair<const CodeTarget *, std::unique_ptr<CodeJob>>> jobs;
  std::shared_ptr<import::Checkpoint> checkpoint;
  OwningOpRef<ModuleOp> module;
  const CodeTarget *target = nullptr;          ///< the one that a program is made for
  OwningOpRef<ModuleOp> fused, model, lowered; ///< of that program: null where --from left it out
  std::vector<PassEvidence> evidence;
  bool planUnchecked = false; ///< it has ops that the slow machine does not know
  EngineText text;
  fb::EngineT table;
  std::vector<SegmentSource> segments;
};

Result<void> Compilation::open() {
  progress.phase("read");
  auto opened = openModel(options, diagnostics);
  if (!opened)
    return opened.error();
  checkpoint = std::move(*opened);
  uint64_t bytes = 0;
  for (const import::Tensor &tensor : checkpoint->tensors)
    bytes += tensor.bytes();
  progress.note(runtime::humanBytes(bytes) + " in " + std::to_string(checkpoint->tensors.size()) +
                " tensors");
  auto built = buildEngineText(*checkpoint, options.chatTemplate);
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

Result<void> Compilation::importModel() {
  Error why;
  auto imported = models::importModel(context, *checkpoint, why);
  if (failed(imported))
    return why;
  module = std::move(*imported);
  return {};
}

Result<void> Compilation::chooseFormats() {
  if (options.from > Phase::Lm)
    return {};
  lm::ModelOp whole = *module->getOps<lm::ModelOp>().begin();
  if (auto ok = recipe.holdAgainst(whole, options, diagnostics); !ok)
    return ok;
  if (weightsMadeUp() || (options.quantize.empty() && options.recipe.empty()))
    return {};
  auto found = matricesOutOfRange(whole, *checkpoint, options, threads);
  if (!found)
    return found.error();
  std::vector<std::string> rules; // before the user's: the first that matches decides
  for (const OutOfRange &matrix : *found) {
    diagnostics.warn(matrix.weight + " stays bf16: " + matrix.why);
    rules.push_back(matrix.weight + ":bf16");
  }
  pipeline.recipe.insert(pipeline.recipe.begin(), rules.begin(), rules.end());
  return {};
}

Result<void> Compilation::lookAtOptions() {
  registerTargets();
  registerPassesAndPipelines();
  mlir::registerTransformsPasses();
  if (auto ok = extensions.loadPlugins(diagnostics); !ok)
    return ok;
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
  for (const CodeTarget *target : codeTargets()) {
    if (!target->isWanted(options))
      continue;
    auto begun = target->begin(codeContext);
    if (!begun)
      return begun.error();
    jobs.emplace_back(target, std::move(*begun));
  }
  if (!options.cache.empty()) {
    auto opened = CodeCache::open(options.cache);
    if (!opened)
      return opened.error();
    cache = std::move(*opened);
  }
  return extensions.read();
}

Result<void> Compilation::fuse() {
  if (auto ok = chooseFormats(); !ok)
    return ok;
  if (options.verify && weightsMadeUp())
    return Error{ExitCode::Usage, "E0412", "nothing to verify against",
                 std::string("--weights ") + weightOriginName(options.weights) +
                     " makes the numbers up: they are no checkpoint's",
                 "drop --verify"};
  progress.phase("fuse");
  OwningOpRef<ModuleOp> imported;
  if (options.verify)
    imported = module->clone();
  intermediates.begin(*module, "lm");
  auto build = [&](OpPassManager &pm) {
    extensions.addAt("import", pm);
    buildImportPipeline(pm, pipeline);
    // Patterns come before the passes of this point, which may clean up behind them.
    extensions.addPatterns(pm);
    extensions.addAt("pre-fusion", pm);
    buildFusionPipeline(pm, pipeline);
    extensions.addAt("post-fusion", pm);
  };
  if (auto ok = passes.overModel(*module, build, evidence); !ok)
    return ok;
  std::optional<double> roundingCost;
  if (options.verify) {
    auto verified = verifyOnWeights(*imported, *module, *checkpoint, evidence);
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

void Compilation::addLowering(OpPassManager &pm) {
  buildLoweringPipeline(pm, pipeline);
  extensions.addAt("pre-plan", pm);
}

void Compilation::addPlanning(OpPassManager &pm) {
  buildPlanningPipeline(pm, pipeline);
  extensions.addAt("pre-codegen", pm);
}

Result<void> Compilation::lower() {
  model = module->clone();
  return passes.toPlan(*module, [&](OpPassManager &pm) { addLowering(pm); }, lowered);
}

Result<void> Compilation::plan() {
  if (options.from == Phase::Kernel)
    lowered = module->clone();
  if (auto ok = passes.overPlan(*module, [&](OpPassManager &pm) { addPlanning(pm); }); !ok)
    return ok;
  return check();
}

Result<void> Compilation::check() {
  progress.phase(target->phases().first + std::string(" check"));
  auto again = [&](ModuleOp from, std::unique_ptr<PassInstrumentation> watch) {
    passes.again(
        from, [&](OpPassManager &pm) { addLowering(pm), addPlanning(pm); }, std::move(watch));
  };
  auto verdict = model ? checkPlan(*model, *lowered, *module, again, extensions.passes(),
                                   pipeline.device, evidence)
                       : checkPlanAlone(lowered ? *lowered : ModuleOp(), *module);
  if (!verdict)
    return verdict.error();
  planUnchecked |= !verdict->notInterpreted.empty();
  if (!verdict->notInterpreted.empty())
    diagnostics.warn("nothing checks this plan: " + verdict->notInterpreted);
  if (options.verify)
    if (auto ok = verifyPlanOnWeights(*model, *module, *checkpoint, pipeline.device, evidence); !ok)
      return ok;
  progress.note(verdict->note);
  return checkKvElement(*module, target->kv(options));
}

Result<bool> Compilation::buildProgram(const CodeTarget &chosen, CodeJob &job) {
  target = &chosen;
  module = fused->clone();
  model = OwningOpRef<ModuleOp>();
  lowered = OwningOpRef<ModuleOp>();
  pipeline.device = target->name();
  pipeline.kv = target->kv(options);
  target->choosePasses(options, pipeline);
  progress.phase(target->phases().first);
  intermediates.begin(*module, "fused", pipeline.device);
  if (options.from >= Phase::Kernel)
    if (auto ok = checkMadeFor(*module, *target, options); !ok)
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

Result<bool> Compilation::addProgram(CodeJob &job) {
  progress.phase(target->phases().second);
  plan::ProgramOp program = *module->getOps<plan::ProgramOp>().begin();
  SmallVector<kernel::FuncOp> kernels;
  auto built = std::make_unique<fb::ProgramT>();
  const bool seeded = options.weights == WeightOrigin::Seed;
  const uint64_t weightBytes =
      planToTable(program, *built,
                  {target->greedyRows(), seeded, static_cast<uint32_t>(segments.size())}, kernels);
  if (target->emits(options.emit)) {
    if (auto ok = chooseKernel(kernels, options.kernel); !ok)
      return ok.error();
    if (auto ok = job.emit(kernels); !ok)
      return ok.error();
    return true;
  }
  SegmentSource weights{fb::SegmentKind::Weights, weightBytes, {}};
  weights.jobs = weightsMadeUp() ? madeUpWeightJobs(program, *built, options.seed)
                                 : weightJobs(program, *built, *checkpoint);
  if (weightBytes != 0)
    segments.push_back(std::move(weights));
  auto note = job.addCode(kernels, *built, segments);
  if (!note)
    return note.error();
  progress.note(*note);
  writeOriginOfProgram(target->kv(options), program, *built);
  table.programs.push_back(std::move(built));
  return false;
}

Result<void> Compilation::write() {
  progress.phase("write");
  plan::ProgramOp program = *module->getOps<plan::ProgramOp>().begin();
  table.compiler_version = INGOT_VERSION;
  table.precision = options.exact ? fb::Precision::Exact : fb::Precision::Fast;
  table.seed = options.weights == WeightOrigin::Seed ? options.seed : 0;
  table.model = describeModel(checkpoint->name, program, *table.programs.front());
  text.addTo(table, segments);

  writeOrigin(options, *checkpoint, evidence, planUnchecked, table);

  WriteOptions how;
  how.threads = threads;
  how.progress = [&](uint64_t done, uint64_t total) { progress.update(done, total); };
  auto written = writeEngine(options.output, std::move(table), std::move(segments), how);
  if (!written)
    return written.error();
  progress.note(runtime::humanBytes(written->fileBytes) + " to " + options.output);
  progress.finish();
  return printSummary(options, progress.phases());
}

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
  pipeline = {options.exact, options.kv, options.quantize, options.recipe, options.disabled};
  if (auto ok = lookAtOptions(); !ok)
    return ok;
  if (auto ok = open(); !ok)
    return ok;
  constexpr Step kSteps[] = {{Phase::Lm, Emit::Lm, &Compilation::importModel},
                             {Phase::Fused, Emit::Fused, &Compilation::fuse}};
  if (auto stopped = runPhases(kSteps); !stopped || *stopped)
    return stopped ? Result<void>() : stopped.error();
  // What one target prints, others are not asked for.
  if (options.emit > Emit::Plan)
    llvm::erase_if(jobs, [&](const auto &job) { return !job.first->emits(options.emit); });
  if (options.from >= Phase::Kernel && jobs.size() != 1)
    return Error{ExitCode::Usage, "E0488", options.fromFile + " is for one kind of device",
                 std::to_string(jobs.size()) + " kinds are among the targets",
                 "leave --target of the other out"};
  fused = std::move(module);
  for (auto &[chosen, job] : jobs)
    if (auto done = buildProgram(*chosen, *job); !done || *done)
      return done ? Result<void>() : done.error();
  if (auto ok = intermediates.close(); !ok)
    return ok;
  return write();
}

} // namespace

/// --write-recipe, before anything that may take long.
static Result<void> writeRecipe(const CompileOptions &options) {
  const std::string folder = llvm::sys::path::parent_path(options.writeRecipe).str();
  return writeText("# ingot compile MODEL --recipe THIS -o E\n" + recipeIn(folder, options),
                   options.writeRecipe);
}

Result<void> compiler::compile(const CompileOptions &options) {
  if (auto ok = checkOutput(options); !ok)
    return ok;
  if (!options.writeRecipe.empty())
    if (auto ok = writeRecipe(options); !ok)
      return ok;
  if (options.emit == Emit::Engine && options.output.empty() && !options.intoCache)
    return {}; // the recipe was all
  if (!options.intoCache)
    return Compilation(options).run();
  auto place = placeInCache(options);
  if (!place)
    return place.error();
  CompileOptions kept = options;
  kept.output = *place;
  if (isEngineFile(*place))
    return writeText(*place + "\n", "");
  if (auto ok = checkOutput(kept); !ok)
    return ok;
  if (auto ok = Compilation(kept).run(); !ok)
    return ok;
  return writeText(*place + "\n", "");
}
