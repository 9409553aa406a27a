//===- Compile.cpp - The phases of a compilation --------------------------===//
//
//   lookAtOptions   what the user brings: Extensions.h, Recipe.h
//   read            checkpoint ─▶ lm: OpenModel.h, EngineText.h, models/
//   lowerToFused    lm ─▶ fused lm, each pass checked: PassRuns.h, PassChecks.h
//   buildProgram    fused lm ─▶ plan and kernels ─▶ code, for each target: PlanChecks.h, EngineTable.h
//   write           the engine, and the report: Provenance.h, Summary.h
//
// Any stage may be all that was asked for: EmitText.h.
//===----------------------------------------------------------------------===//
#include "compiler/driver/Compile.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/console/Progress.h"
#include "compiler/driver/CachePlace.h"
#include "compiler/driver/CompilerIdentity.h"
#include "compiler/driver/EmitText.h"
#include "compiler/driver/EngineTable.h"
#include "compiler/driver/EngineText.h"
#include "compiler/driver/OpenModel.h"
#include "compiler/driver/PassRuns.h"
#include "compiler/driver/PlanChecks.h"
#include "compiler/driver/Provenance.h"
#include "compiler/driver/Recipe.h"
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
#include "passes/patterns/OurPatterns.h"
#include "runtime/engine/Inspect.h"
#include "runtime/error/Suggest.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Format.h"
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
  Result<void> read();
  /// All that the user brings is looked at before the checkpoint is.
  Result<void> lookAtOptions();
  /// Has matrices whose scales f16 cannot hold stay bf16, and says so.
  Result<void> keepInRange();
  Result<void> lowerToFused();
  Result<void> lowerToPlan(const CodeTarget &target);
  Result<void> checkKvElement(const std::string &kv);
  /// From the fused module to one more program of the engine. True: what was asked for is printed.
  Result<bool> buildProgram(const CodeTarget &target, CodeJob &job);
  /// Compiled kernels beside the slow machine, where this machine can run them.
  Result<void> checkCode(const CodeTarget &target, CodeJob &job);
  Result<void> write();

  bool weightsMadeUp() const { return options.weights != WeightOrigin::Checkpoint; }
  /// Prints the module if that is what was asked for; true: nothing is left to do.
  Result<bool> stopAt(Emit stage) { return emitIfAsked(options, stage, *module); }
  Result<bool> stopAtKernelOrPlan() {
    auto stopped = stopAt(Emit::Kernel);
    return !stopped || *stopped ? stopped : stopAt(Emit::Plan);
  }

  const CompileOptions &options;
  Progress progress;
  int threads;
  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Diagnostics diagnostics{options, context};
  Extensions extensions{options, context};
  PassRuns passes{options, extensions, diagnostics};
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
  std::vector<PassEvidence> evidence;
  bool planUnchecked = false; ///< it has ops that the slow machine does not know
  EngineText text;
  fb::EngineT table;
  std::vector<SegmentSource> segments;
};

Result<void> Compilation::read() {
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
  Error why;
  auto imported = models::importModel(context, *checkpoint, why);
  if (failed(imported))
    return why;
  module = std::move(*imported);
  if (auto ok = recipe.holdAgainst(*module->getOps<lm::ModelOp>().begin(), options, diagnostics);
      !ok)
    return ok;
  return keepInRange();
}

Result<void> Compilation::keepInRange() {
  if (weightsMadeUp() || (options.quantize.empty() && options.recipe.empty()))
    return {};
  auto found =
      matricesOutOfRange(*module->getOps<lm::ModelOp>().begin(), *checkpoint, options, threads);
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
  if (const std::string file = patterns::missingFile(); !file.empty())
    return Error{ExitCode::File, "E0445", "the compiler's own patterns are missing",
                 "there is no file " + file,
                 "install share/ingot beside the folder lib of libingot-compiler.so"};
  if (auto ok = extensions.loadPlugins(diagnostics); !ok)
    return ok;
  for (const std::string &pass : options.dumpAfter)
    if (pass != "all" && !PassInfo::lookup(pass))
      return Error{ExitCode::Usage, "E0437", "there is no pass '" + pass + "' to dump after",
                   didYouMean(pass, pipelinePasses()),
                   "see the passes and their order: ingot passes"};
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
  if (auto ok = extensions.read(); !ok)
    return ok;
  const std::vector<std::string> optional(optionalPasses().begin(), optionalPasses().end());
  for (const std::string &pass : options.disabled)
    if (!llvm::is_contained(optionalPasses(), pass))
      return Error{ExitCode::Usage, "E0406", "cannot disable '" + pass + "'",
                   PassInfo::lookup(pass) ? "nothing works without it"
                                          : didYouMean(pass, optional, "there is no such pass"),
                   "see which passes are optional: ingot passes"};
  return {};
}

Result<void> Compilation::lowerToFused() {
  if (options.verify && weightsMadeUp())
    return Error{ExitCode::Usage, "E0412", "nothing to verify against",
                 std::string("--weights ") + weightOriginName(options.weights) +
                     " makes the numbers up: they are no checkpoint's",
                 "drop --verify"};
  progress.phase("fuse");
  OwningOpRef<ModuleOp> imported;
  if (options.verify)
    imported = module->clone();
  auto fuse = [&](OpPassManager &pm) {
    extensions.addAt("import", pm);
    buildImportPipeline(pm, pipeline);
    extensions.addAt("pre-fusion", pm);
    buildFusionPipeline(pm, pipeline);
    extensions.addAt("post-fusion", pm);
  };
  if (auto ok = passes.overModel(*module, fuse, evidence); !ok)
    return ok;
  std::optional<double> roundingCost;
  if (options.verify) {
    auto verified = verifyOnWeights(*imported, *module, *checkpoint, evidence);
    if (!verified)
      return verified.error();
    roundingCost = *verified;
  }
  int fused = 0;
  module->walk([&](lm::FusedOp) { ++fused; });
  std::string note = std::to_string(fused) + " fused regions, " + std::to_string(evidence.size()) +
                     " checks passed";
  if (roundingCost)
    llvm::raw_string_ostream(note) << llvm::format(
        "; rounding weights changes logits by up to %.2g %% of the largest", *roundingCost * 100);
  progress.note(note);
  return {};
}

Result<void> Compilation::lowerToPlan(const CodeTarget &target) {
  progress.phase(target.phases().first);
  pipeline.device = target.name();
  pipeline.kv = target.kv(options);
  target.choosePasses(options, pipeline);
  OwningOpRef<ModuleOp> model = module->clone(), lowered;
  auto plan = [&](OpPassManager &pm) {
    buildLoweringPipeline(pm, pipeline);
    extensions.addAt("pre-plan", pm);
    buildPlanningPipeline(pm, pipeline);
    extensions.addAt("pre-codegen", pm);
  };
  if (auto ok = passes.toPlan(*module, plan, lowered); !ok)
    return ok;
  progress.phase(target.phases().first + std::string(" check"));
  auto again = [&](ModuleOp from, std::unique_ptr<PassInstrumentation> watch) {
    passes.again(from, plan, std::move(watch));
  };
  auto verdict =
      checkPlan(*model, *lowered, *module, again, extensions.passes(), pipeline.device, evidence);
  if (!verdict)
    return verdict.error();
  planUnchecked |= !verdict->notInterpreted.empty();
  if (!verdict->notInterpreted.empty())
    diagnostics.warn("nothing checks this plan: " + verdict->notInterpreted);
  if (options.verify)
    if (auto ok = verifyPlanOnWeights(*model, *module, *checkpoint, pipeline.device, evidence); !ok)
      return ok;
  progress.note(verdict->note);
  return {};
}

Result<void> Compilation::checkKvElement(const std::string &kv) {
  plan::ProgramOp program = *module->getOps<plan::ProgramOp>().begin();
  for (plan::StateOp state : program.getBody().getOps<plan::StateOp>()) {
    auto pool = dyn_cast<kernel::KvPoolType>(state.memoryType());
    if (!pool)
      continue;
    const KvFormatInfo &format = pool.info();
    if (pool.getHeadDim() % format.step != 0)
      return Error{ExitCode::Usage, "E0467", "a KV cache of " + kv + " does not fit this model",
                   "its heads have " + std::to_string(pool.getHeadDim()) +
                       " elements, no multiple of " + std::to_string(format.step),
                   "--kv f16"};
  }
  return {};
}

Result<void> Compilation::checkCode(const CodeTarget &target, CodeJob &job) {
  if (planUnchecked)
    return {};
  progress.phase(target.phases().second + std::string(" check"));
  auto found = job.checkCode(*module);
  if (!found)
    return found.error();
  int64_t launches = 0;
  for (CodeEvidence &code : *found) {
    evidence.push_back({code.code, code.inputs, code.maxAbs, code.maxRel});
    launches += code.launches;
  }
  progress.note(std::to_string(launches) + " launches checked");
  return {};
}

Result<bool> Compilation::buildProgram(const CodeTarget &target, CodeJob &job) {
  if (auto ok = lowerToPlan(target); !ok)
    return ok.error();
  if (auto ok = checkKvElement(target.kv(options)); !ok)
    return ok.error();
  if (auto stopped = stopAtKernelOrPlan(); !stopped || *stopped)
    return stopped;
  progress.phase(target.phases().second);
  plan::ProgramOp program = *module->getOps<plan::ProgramOp>().begin();
  SmallVector<kernel::FuncOp> kernels;
  auto built = std::make_unique<fb::ProgramT>();
  const bool seeded = options.weights == WeightOrigin::Seed;
  const uint64_t weightBytes =
      planToTable(program, *built,
                  {target.greedyRows(), seeded, static_cast<uint32_t>(segments.size())}, kernels);
  if (target.emits(options.emit)) {
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
  if (auto ok = checkCode(target, job); !ok)
    return ok.error();
  writeOriginOfProgram(target.kv(options), program, *built);
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

Result<void> Compilation::run() {
  if (auto ok = checkOutput(options); !ok)
    return ok;
  pipeline = {options.exact, options.kv, options.quantize, options.recipe, options.disabled};
  if (auto ok = lookAtOptions(); !ok)
    return ok;
  if (auto ok = read(); !ok)
    return ok;
  if (auto stopped = stopAt(Emit::Lm); !stopped || *stopped)
    return stopped ? Result<void>() : stopped.error();
  if (auto ok = lowerToFused(); !ok)
    return ok;
  if (auto stopped = stopAt(Emit::Fused); !stopped || *stopped)
    return stopped ? Result<void>() : stopped.error();
  // What one target prints, others are not asked for.
  if (options.emit != Emit::Engine && options.emit != Emit::Kernel && options.emit != Emit::Plan)
    llvm::erase_if(jobs, [&](const auto &job) { return !job.first->emits(options.emit); });
  OwningOpRef<ModuleOp> fused = std::move(module);
  for (auto &[target, job] : jobs) {
    module = fused->clone();
    if (auto done = buildProgram(*target, *job); !done || *done)
      return done ? Result<void>() : done.error();
  }
  return write();
}

} // namespace

Result<void> compiler::compile(const CompileOptions &options) {
  if (!options.intoCache)
    return Compilation(options).run();
  auto place = placeInCache(options);
  if (!place)
    return place.error();
  CompileOptions kept = options;
  kept.output = *place;
  if (!isEngineFile(*place))
    if (auto ok = Compilation(kept).run(); !ok)
      return ok;
  return writeText(*place + "\n", "");
}
