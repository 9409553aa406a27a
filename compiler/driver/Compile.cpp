//===- Compile.cpp - The phases of a compilation --------------------------===//
#include "compiler/driver/Compile.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/console/Progress.h"
#include "compiler/driver/BriefText.h"
#include "compiler/driver/CachePlace.h"
#include "compiler/driver/CompilerIdentity.h"
#include "compiler/driver/CrashWords.h"
#include "compiler/driver/EngineTable.h"
#include "compiler/driver/EngineText.h"
#include "compiler/driver/PassChecks.h"
#include "compiler/driver/PlanChecks.h"
#include "compiler/driver/Provenance.h"
#include "compiler/driver/ScaleRange.h"
#include "compiler/driver/Summary.h"
#include "compiler/driver/VerifyOnWeights.h"
#include "compiler/extend/PatternFile.h"
#include "compiler/extend/Plugins.h"
#include "compiler/targets/CodeTarget.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Structure.h"
#include "dialects/plan/ops/Program.h"
#include "models/Family.h"
#include "passes/Passes.h"
#include "runtime/engine/Inspect.h"
#include "runtime/error/Suggest.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

/// `--remarks`: a line per decision of the fusion passes.
class RemarkLines : public remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    remark.print(llvm::errs());
    llvm::errs() << "\n";
  }
};

/// A module without its programs: what each kernel computes, or the one of that name.
OwningOpRef<ModuleOp> kernelsOf(ModuleOp module, StringRef name) {
  OwningOpRef<ModuleOp> kernels = module.clone();
  for (Operation &op : llvm::make_early_inc_range(*kernels->getBody()))
    if (auto kernel = dyn_cast<kernel::FuncOp>(op);
        isa<plan::ProgramOp>(op) || (kernel && !name.empty() && kernel.getSymName() != name))
      op.erase();
  return kernels;
}

/// Leaves the kernel of that name, if there is a name. E0475.
Result<void> chooseKernel(SmallVectorImpl<kernel::FuncOp> &kernels, const std::string &name) {
  if (name.empty())
    return {};
  std::vector<std::string> names;
  for (kernel::FuncOp kernel : kernels)
    names.push_back(kernel.getSymName().str());
  llvm::erase_if(kernels, [&](kernel::FuncOp kernel) { return kernel.getSymName() != name; });
  if (kernels.empty())
    return Error{ExitCode::Usage, "E0475", "there is no kernel '" + name + "'",
                 "there are " + llvm::join(names, ", "),
                 didYouMean(name, names, "give one of them")};
  return {};
}

std::string asText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << module;
  return text;
}

class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), progress(options.quiet || options.json ||
                                   (options.emit != Emit::Engine && options.emit != Emit::Rows)),
        threads(options.threads ? options.threads
                                : std::max(1u, std::thread::hardware_concurrency())) {
    if (!options.remarks.empty()) {
      remark::RemarkCategories categories;
      if (options.remarks != "missed")
        categories.passed = "fusion";
      if (options.remarks != "passed")
        categories.missed = "fusion";
      (void)remark::enableOptimizationRemarks(context, std::make_unique<RemarkLines>(),
                                              std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                              categories);
    }
    ingot::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        llvm::raw_string_ostream(diagnostics) << diagnostic << "\n";
      else if (!this->options.quiet)
        llvm::errs() << (diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning: " : "")
                     << diagnostic << "\n";
      return success();
    });
  }

  Result<void> run();

private:
  Result<void> read();
  Result<void> loadExtensions();
  Result<void> noteInserted(const std::string &point, const std::string &text, OpPassManager &pm);
  std::string nestedInsertion() const;
  Result<void> checkRecipe();
  /// Says which rules, and which --quantize, have nothing to do.
  Result<void> checkFormats();
  /// Has matrices whose scales f16 cannot hold stay bf16, and says so.
  Result<void> keepInRange();
  /// A line for people that a compilation has done nothing wrong with.
  void warn(const std::string &line) const {
    if (!options.quiet)
      llvm::errs() << "warning: " << line << "\n";
  }
  /// Adds what the user wants to run at this point.
  LogicalResult insertAt(StringRef point, OpPassManager &pm);
  Result<void> lowerToFused();
  Result<void> lowerToPlan(const CodeTarget &target);
  Result<void> checkKvElement(const std::string &kv);
  /// From the fused module to one more program of the engine. True: what was asked for is printed.
  Result<bool> buildProgram(const CodeTarget &target, CodeJob &job);
  std::unique_ptr<fb::ModelT> describeModel(plan::ProgramOp program,
                                            const fb::ProgramT &table) const;
  Result<void> write();

  bool weightsMadeUp() const { return options.weights != WeightOrigin::Checkpoint; }
  /// Prints the module if that is what was asked for; true: nothing is left to do.
  Result<bool> stopAt(Emit stage) {
    if (options.emit != stage)
      return false;
    if (stage == Emit::Kernel) {
      SmallVector<kernel::FuncOp> kernels(module->getOps<kernel::FuncOp>());
      if (auto ok = chooseKernel(kernels, options.kernel); !ok)
        return ok.error();
    }
    std::string printed =
        asText(stage == Emit::Kernel ? *kernelsOf(*module, options.kernel) : *module);
    if (auto ok = writeText(options.brief ? briefly(printed) : printed, options.output); !ok)
      return ok.error();
    return true;
  }
  Result<bool> stopAtKernelOrPlan() {
    auto stopped = stopAt(Emit::Kernel);
    return !stopped || *stopped ? stopped : stopAt(Emit::Plan);
  }
  /// Runs a pipeline; without `lowered`, each pass against the interpreter, else the first plan is kept there.
  Result<void> runPasses(llvm::function_ref<void(OpPassManager &)> build,
                         OwningOpRef<ModuleOp> *lowered = nullptr);
  /// Runs a pipeline that ran before, to look at what it does: it says nothing again.
  void runAgain(llvm::function_ref<void(OpPassManager &)> build, ModuleOp from,
                std::unique_ptr<PassInstrumentation> watch);
  /// "; --plugin a.so, b.so", for words about passes that crash.
  std::string plugins() const;
  Error compilerError(std::string what) {
    return {ExitCode::Internal, "E0490", std::move(what),
            diagnostics.substr(0, diagnostics.find('\n')),
            options.insertions.empty()
                ? "this is a bug of ingot: please report it with the checkpoint's config"
                : "if it fails without --insert as well, it is a bug of ingot: please report it"};
  }

  const CompileOptions &options;
  Progress progress;
  int threads;
  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string diagnostics;
  llvm::StringSet<> inserted; ///< names of the passes that --insert brings
  PipelineOptions pipeline;
  std::vector<std::pair<std::string, FrozenRewritePatternSet>> patterns; ///< of each file
  std::vector<llvm::GlobPattern> globs;                                  ///< of the recipe
  std::optional<CodeCache> cache;
  CodeContext codeContext{options,
                          threads,
                          progress,
                          cache,
                          compilerIdentity(),
                          [this](const std::string &line) { warn(line); },
                          [this](std::string what) { return compilerError(std::move(what)); }};
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
  if (isEngineFile(options.model))
    return Error{
        ExitCode::Usage, "E0417", options.model + " is an engine already",
        "compile makes one from a checkpoint: a folder, a .gguf, a .safetensors or a config.json",
        "ingot run " + options.model};
  auto opened = import::openCheckpoint(options.model);
  if (!opened)
    return opened.error();
  checkpoint = *opened;
  if (checkpoint->tensors.empty() && !weightsMadeUp())
    return Error{ExitCode::File, "E0410", options.model + " has no weights",
                 "it is a configuration without tensors",
                 "give the folder of the checkpoint, or add --weights random or --weights seed"};
  for (const std::string &key : options.ignoredKeys) {
    auto known = [&](const auto &entry) {
      StringRef pattern = key;
      return pattern.consume_back("*") ? StringRef(entry.first).starts_with(pattern)
                                       : entry.first == key;
    };
    if (llvm::none_of(checkpoint->metadata, known)) {
      std::vector<std::string> keys;
      for (const auto &entry : checkpoint->metadata)
        keys.push_back(entry.first);
      std::string near = nearest(key, keys);
      warn("--ignore-key " + key + ": " + options.model + " has no such key" +
           (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    checkpoint->ignore(key);
  }
  uint64_t bytes = 0;
  for (const import::Tensor &tensor : checkpoint->tensors)
    bytes += tensor.data.size();
  progress.note(runtime::humanBytes(bytes) + " in " + std::to_string(checkpoint->tensors.size()) +
                " tensors");
  auto built = buildEngineText(*checkpoint, options.chatTemplate);
  if (!built)
    return built.error();
  text = std::move(*built);
  if (!text.warning.empty())
    warn(text.warning);
  Error why;
  auto imported = models::importModel(context, *checkpoint, why);
  if (failed(imported))
    return why;
  module = std::move(*imported);
  if (auto ok = checkFormats(); !ok)
    return ok;
  return keepInRange();
}

Result<void> Compilation::checkRecipe() {
  for (auto [rule, line] : llvm::zip(options.recipe, options.recipeLines)) {
    StringRef glob = StringRef(rule).rsplit(':').first;
    auto parsed = llvm::GlobPattern::create(glob);
    if (!parsed)
      return Error{ExitCode::File, "E0435",
                   options.recipeFile + ", line " + std::to_string(line) + ": '" + glob.str() +
                       "' is no glob",
                   llvm::toString(parsed.takeError()),
                   "[ ] hold the characters of one place: blk.[01].ffn_down"};
    globs.push_back(std::move(*parsed));
  }
  return {};
}

Result<void> Compilation::checkFormats() {
  bool floats = false, any = globs.empty();
  std::vector<char> used(globs.size());
  lm::ModelOp model = *module->getOps<lm::ModelOp>().begin();
  for (lm::WeightOp weight : model.getBody().getOps<lm::WeightOp>()) {
    if (weight.getType().isVector())
      continue;
    floats |= weight.getType().numeric().isFloat();
    for (auto [glob, matches] : llvm::zip(globs, used))
      matches |= glob.match(weight.getSymName());
  }
  for (auto [matches, line] : llvm::zip(used, options.recipeLines)) {
    any |= matches;
    if (!matches)
      warn(options.recipeFile + ", line " + std::to_string(line) + " matches no weight");
  }
  if (!any)
    return Error{
        ExitCode::File, "E0436", "the recipe matches no weight: " + options.recipeFile,
        "its globs are over the names that --emit lm shows, without .weight: token_embd, blk.0.ffn_down",
        "correct the globs, or drop --recipe"};
  if (!options.quantize.empty() && !floats)
    warn("--quantize changes nothing: no matrix of " + options.model +
         " is floating (as stored: drop it)");
  return {};
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
    warn(matrix.weight + " stays bf16: " + matrix.why);
    rules.push_back(matrix.weight + ":bf16");
  }
  pipeline.recipe.insert(pipeline.recipe.begin(), rules.begin(), rules.end());
  return {};
}

Result<void> Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build,
                                    OwningOpRef<ModuleOp> *lowered) {
  PassManager pm(&context);
  pm.enableVerifier(true);
  build(pm);
  if (!options.dumpAfter.empty()) {
    const bool all = llvm::is_contained(options.dumpAfter, "all");
    pm.enableIRPrinting([](Pass *, Operation *) { return false; },
                        [&options = options, all](Pass *pass, Operation *) {
                          return all ? !pass->getArgument().empty()
                                     : llvm::is_contained(options.dumpAfter, pass->getArgument());
                        },
                        /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/all);
  }
  std::optional<Error> broken;
  std::string failedName, failedText, invalid;
  pm.addInstrumentation(std::make_unique<PassNames>(inserted, plugins(), failedName, failedText));
  if (lowered)
    pm.addInstrumentation(std::make_unique<LoweredPlan>(*lowered));
  else
    pm.addInstrumentation(
        std::make_unique<PassChecks>(*module, inserted, evidence, broken, invalid));
  const bool ran = succeeded(pm.run(*module));
  if (broken) // whatever failed after it
    return *broken;
  if (!ran) {
    if (failedName == extend::applyPatternsName())
      return Error{ExitCode::File, "E0427", "a pattern leaves no valid program: " + failedText,
                   (invalid.empty() ? "" : invalid + ": ") +
                       diagnostics.substr(0, diagnostics.find('\n')),
                   "correct the file"};
    // A pass without a name failed before it ran; ours do not.
    if ((failedName.empty() && !options.insertions.empty()) || inserted.contains(failedName)) {
      bool elsewhere = StringRef(diagnostics).contains("trying to schedule");
      return Error{ExitCode::File, "E0433",
                   failedName.empty() ? "a pass of --insert cannot start"
                                      : "the pass " + failedText + " of --insert failed",
                   diagnostics.substr(0, diagnostics.find('\n')),
                   elsewhere ? "name the op that it runs on: " + nestedInsertion()
                             : "correct the pass, or drop --insert"};
    }
    return compilerError("the pass " + failedText + " failed");
  }
  return {};
}

void Compilation::runAgain(llvm::function_ref<void(OpPassManager &)> build, ModuleOp from,
                           std::unique_ptr<PassInstrumentation> watch) {
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
  context.setRemarkEngine(nullptr);
  PassManager pm(&context);
  build(pm);
  std::string failedName, failedText;
  pm.addInstrumentation(std::make_unique<PassNames>(inserted, plugins(), failedName, failedText));
  pm.addInstrumentation(std::move(watch));
  (void)pm.run(from); // what it did until it failed is seen
}

std::string Compilation::plugins() const {
  std::string list;
  for (const std::string &plugin : options.plugins)
    list += (list.empty() ? "; --plugin " : ", ") + plugin;
  return list;
}

/// "--insert 'pre-fusion=lm.model(my-pass)'" for the first that names no op.
std::string Compilation::nestedInsertion() const {
  for (const auto &[point, text] : options.insertions)
    if (!StringRef(text).contains('('))
      return "--insert '" + point + (isBehindLowering(point) ? "=kernel.func(" : "=lm.model(") +
             text + ")'";
  return "--insert 'pre-fusion=lm.model(my-pass)'";
}

/// Keeps the names of the passes of an insertion, and refuses one over ops that are not there at its point.
Result<void> Compilation::noteInserted(const std::string &point, const std::string &text,
                                       OpPassManager &pm) {
  bool lowered = isBehindLowering(point);
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  pm.printAsTextualPipeline(stream);
  SmallVector<StringRef> words;
  llvm::SplitString(printed, words, "(),{} ");
  for (StringRef word : words) {
    if (PassInfo::lookup(word))
      inserted.insert(word);
    auto op = RegisteredOperationName::lookup(word, &context);
    if (!op)
      continue;
    StringRef dialect = op->getDialectNamespace();
    if (lowered ? dialect == "lm" : dialect == "kernel" || dialect == "plan")
      return Error{
          ExitCode::Usage, "E0434", "there is no " + word.str() + " at " + point + ": " + text,
          lowered ? "it has become kernel.func and plan.program"
                  : "the model is one lm.model until it is lowered",
          lowered ? "--insert 'post-fusion=" + text + "'" : "--insert 'pre-plan=" + text + "'"};
  }
  return {};
}

/// All that the user brings is looked at before the checkpoint is.
Result<void> Compilation::loadExtensions() {
  registerTargets();
  registerPassesAndPipelines();
  mlir::registerTransformsPasses();
  for (const std::string &path : options.plugins) {
    suspect("the plugin " + path, "it was being loaded");
    auto ok = extend::loadPlugin(path);
    suspect("");
    if (!ok)
      return ok;
  }
  if (!options.plugins.empty() && options.insertions.empty())
    warn(
        "--plugin without --insert: its passes are not run (--insert 'pre-fusion=lm.model(my-pass)')");
  for (const std::string &pass : options.dumpAfter)
    if (pass != "all" && !PassInfo::lookup(pass))
      return Error{ExitCode::Usage, "E0437", "there is no pass '" + pass + "' to dump after",
                   didYouMean(pass, pipelinePasses()),
                   "see the passes and their order: ingot passes"};
  if (auto ok = checkRecipe(); !ok)
    return ok;
  for (const CodeTarget *target : codeTargets()) {
    if (!target->isWanted(options))
      continue;
    auto begun = target->begin(codeContext);
    if (!begun)
      return begun.error();
    jobs.emplace_back(target, std::move(*begun));
  }
  for (const std::string &path : options.patterns) {
    auto read = extend::readPatterns(context, path);
    if (!read)
      return read.error();
    patterns.emplace_back(path, std::move(*read));
  }
  if (!options.cache.empty()) {
    auto opened = CodeCache::open(options.cache);
    if (!opened)
      return opened.error();
    cache = std::move(*opened);
  }
  for (const auto &[point, text] : options.insertions) {
    PassManager pm(&context);
    std::string why;
    llvm::raw_string_ostream stream(why);
    if (failed(parsePassPipeline(text, pm, stream)))
      return Error{
          ExitCode::Usage, "E0409", "cannot parse the pipeline for " + point + ": " + text,
          why.substr(0, why.find('\n')),
          "--insert '" + point +
              (isBehindLowering(point) ? "=kernel.func(my-pass)'" : "=lm.model(my-pass)'")};
    if (auto ok = noteInserted(point, text, pm); !ok)
      return ok;
  }
  return {};
}

LogicalResult Compilation::insertAt(StringRef point, OpPassManager &pm) {
  for (const auto &[where, text] : options.insertions)
    if (where == point && failed(parsePassPipeline(text, pm)))
      return failure();
  return success();
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
  if (auto ok = runPasses([&](OpPassManager &pm) {
        (void)insertAt("import", pm); // parsed before: loadExtensions
        buildImportPipeline(pm, pipeline);
        // Patterns come before the passes of this point, which may clean up behind them.
        for (const auto &[path, rules] : patterns)
          pm.nest<lm::ModelOp>().addPass(extend::applyPatterns(path, rules));
        (void)insertAt("pre-fusion", pm);
        buildFusionPipeline(pm, pipeline);
        (void)insertAt("post-fusion", pm);
      });
      !ok)
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
  auto passes = [&](OpPassManager &pm) {
    buildLoweringPipeline(pm, pipeline);
    (void)insertAt("pre-plan", pm);
    buildPlanningPipeline(pm, pipeline);
    (void)insertAt("pre-codegen", pm);
  };
  if (auto ok = runPasses(passes, &lowered); !ok)
    return ok;
  auto again = [&](ModuleOp from, std::unique_ptr<PassInstrumentation> watch) {
    runAgain(passes, from, std::move(watch));
  };
  auto verdict = checkPlan(*model, *lowered, *module, again, inserted, pipeline.device, evidence);
  if (!verdict)
    return verdict.error();
  planUnchecked |= !verdict->notInterpreted.empty();
  if (!verdict->notInterpreted.empty())
    warn("nothing checks this plan: " + verdict->notInterpreted);
  if (options.verify)
    if (auto ok = verifyPlanOnWeights(*model, *module, *checkpoint, pipeline.device, evidence); !ok)
      return ok;
  progress.note(verdict->note);
  return {};
}

std::unique_ptr<fb::ModelT> Compilation::describeModel(plan::ProgramOp program,
                                                       const fb::ProgramT &table) const {
  auto model = std::make_unique<fb::ModelT>();
  model->name = checkpoint->name;
  model->family = program.getFamily().str();
  model->vocab = program.getVocab();
  model->hidden = program.getHidden();
  model->context = program.getMaxPositions();
  for (const auto &step : table.entries.front()->steps)
    model->layers += step->layer >= 0;
  for (plan::WeightOp weight : program.getBody().getOps<plan::WeightOp>())
    if (!weight.getValuesAttr())
      model->parameters +=
          weight.getType().rows() * (weight.getType().isVector() ? 1 : weight.getType().columns());
  return model;
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
  table.model = describeModel(program, *table.programs.front());
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
  if (auto ok = loadExtensions(); !ok)
    return ok;
  const std::vector<std::string> optional(optionalPasses().begin(), optionalPasses().end());
  for (const std::string &pass : options.disabled)
    if (!llvm::is_contained(optionalPasses(), pass))
      return Error{ExitCode::Usage, "E0406", "cannot disable '" + pass + "'",
                   PassInfo::lookup(pass) ? "nothing works without it"
                                          : didYouMean(pass, optional, "there is no such pass"),
                   "see which passes are optional: ingot passes"};
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
