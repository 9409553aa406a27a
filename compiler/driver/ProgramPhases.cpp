//===- ProgramPhases.cpp - From fused lm to programs and the engine ---------===//
#include "compiler/crash/CrashContext.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/checks/MiscompileReducer.h"
#include "compiler/driver/checks/PlanChecks.h"
#include "compiler/driver/emit/EmitText.h"
#include "compiler/driver/engine/EngineTable.h"
#include "compiler/driver/engine/Provenance.h"
#include "compiler/driver/formats/KvCaches.h"
#include "compiler/driver/report/Summary.h"
#include "compiler/reference/interpreter/CheckPlan.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Program.h"
#include "runtime/engine/Inspect.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

void Compilation::addLowering(OpPassManager &pm) {
  buildLoweringPipeline(pm, pipeline);
  extensions.addAt("pre-plan", pm, pipeline.device);
}

void Compilation::addPlanning(OpPassManager &pm) {
  buildPlanningPipeline(pm, pipeline);
  extensions.addAt("pre-codegen", pm, pipeline.device);
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
  if (auto ok = checkKvElements(*module); !ok) // the plan interpreter relies on it
    return ok;
  progress.phase(target->phases().first + std::string(" check"));
  TimingScope scope = timing.nest("check of the plan");
  auto again = [&](ModuleOp from, std::unique_ptr<PassInstrumentation> watch) {
    passes.again(
        from, [&](OpPassManager &pm) { addLowering(pm), addPlanning(pm); }, std::move(watch));
  };
  auto verdict = model ? checkPlan(*model, *lowered, *module, again, extensions.passes(),
                                   target->name().str(), evidence, extensions.replayCommand())
                       : checkPlanAlone(lowered ? *lowered : ModuleOp(), *module);
  if (!verdict)
    return verdict.error();
  planUnchecked |= !verdict->notInterpreted.empty();
  if (!verdict->notInterpreted.empty())
    diagnostics.warn("this plan is not checked: " + verdict->notInterpreted);
  if (options.verify)
    if (auto ok = verifyPlanOnWeights(*model, *module, *checkpoint, target->name().str(), evidence);
        !ok)
      return ok;
  progress.note(verdict->note);
  return {};
}

/// Returns the command that recompiles just this plan, from the file `place`, for the target's levels or
/// architectures. With `onEmulators`, the targets are emulators, where GPU code is checked. The command omits
/// --verify, because with --from there is no model to check the plan against.
static std::string commandFromPlan(const CompileOptions &options, const CodeTarget &target,
                                   ModuleOp plan, const std::string &place, bool onEmulators) {
  std::string command = "ingot compile " + options.model + " --from plan=" + place;
  for (const std::string &wanted : target.wanted(options, onEmulators))
    command += " --target " + wanted;
  for (const std::string &word : kvWords(*plan.getOps<plan::ProgramOp>().begin()))
    command += " --kv " + word;
  for (const std::string &plugin : options.plugins)
    command += " --plugin " + plugin;
  if (options.exact)
    command += " --precision exact";
  if (options.batchInvariant)
    command += " --batch-invariant";
  if (options.weights != WeightOrigin::Checkpoint)
    command += std::string(" --weights ") + weightOriginName(options.weights) + " --seed " +
               std::to_string(options.seed);
  return command + " -o E";
}

/// If the error is that the code of a plan is wrong, writes the plan to a file.
static std::string leavePlanOfCode(const Error &error, ModuleOp plan) {
  plan::ProgramOp program = *plan.getOps<plan::ProgramOp>().begin();
  return error.code == errors::kWrongKernel || error.code == errors::kWrongUserKernel
             ? leavePlanOfLayers(error.code, plan, reference::interpreter::firstLayers(program))
             : "";
}

Result<void> Compilation::checkCode(CodeJob &job) {
  if (planUnchecked)
    return {};
  progress.phase(target->phases().second + std::string(" check"));
  TimingScope scope = timing.nest("check of the code");
  auto found = job.checkCode(*module);
  if (!found) {
    Error error = found.error();
    if (std::string left = leavePlanOfCode(error, *module); !left.empty())
      error.fix += "; `" + commandFromPlan(options, *target, *module, left, /*onEmulators=*/true) +
                   "` reproduces it";
    return error;
  }
  int64_t launches = 0;
  std::string notRun; // reason for the first code that was not run
  for (CodeEvidence &code : *found) {
    evidence.push_back({code.code, code.inputs, code.maxAbs, code.maxRel});
    launches += code.launches;
    if (!code.launches && notRun.empty())
      notRun = code.inputs;
  }
  progress.note(launches ? std::to_string(launches) + " launches checked" : notRun);
  return {};
}

Result<bool> Compilation::addProgram(CodeJob &job) {
  progress.phase(target->phases().second);
  const Reproducer reproducer([this] { return irText(*module); },
                              commandFromPlan(options, *target, *module, "PLACE",
                                              /*onEmulators=*/false));
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
  weights.jobs = weightJobs(program, *built, *checkpoint,
                            hasDummyWeights() ? std::optional(options.seed) : std::nullopt);
  if (weightBytes != 0)
    segments.push_back(std::move(weights));
  auto note = job.addCode(kernels, *built, segments);
  if (!note)
    return note.error();
  progress.note(*note);
  if (auto ok = checkCode(job); !ok)
    return ok.error();
  writeOriginOfProgram(target->kv(options), program, *built);
  table.programs.push_back(std::move(built));
  listing.add(program.getBody(), kernels);
  return false;
}

Result<void> Compilation::write() {
  progress.phase("write");
  TimingScope scope = timing.nest("packing and writing");
  plan::ProgramOp program = *module->getOps<plan::ProgramOp>().begin();
  table.compiler_version = INGOT_VERSION;
  table.precision = options.exact ? fb::Precision::Exact : fb::Precision::Fast;
  table.seed = options.weights == WeightOrigin::Seed ? options.seed : 0;
  table.model = describeModel(checkpoint->name, program, *table.programs.front());
  text.addTo(table, segments);
  segments.push_back(listing.segment());

  writeOrigin(options, *checkpoint, evidence, planUnchecked, table);

  WriteOptions how;
  how.threads = threads;
  how.progress = [&](uint64_t done, uint64_t total) { progress.update(done, total); };
  auto written = writeEngine(options.output, std::move(table), std::move(segments), how);
  if (!written && written.error().code == errors::kEngineFailsItsChecks &&
      options.from != Phase::Checkpoint) {
    // The loader's checks are the last ones for edited IR.
    return Error{ExitCode::File, "E0397",
                 options.fromFile + " produces an engine that cannot be loaded",
                 written.error().why,
                 "correct it; if it is unmodified, this is a bug in ingot: please report it"};
  }
  if (!written)
    return written.error();
  progress.note(runtime::humanBytes(written->fileBytes) + " to " + options.output);
  progress.finish();
  return printSummary(options, progress.phases());
}
