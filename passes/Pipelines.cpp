//===- Pipelines.cpp - The compiler, as prose -----------------------------===//
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/ops/Program.h"
#include "passes/Target.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace ingot;

void ingot::buildImportPipeline(OpPassManager &pm, const PipelineOptions &options) {
  OpPassManager &model = pm.nest<lm::ModelOp>();
  // What the user asked to quantise is quantised first: all later choices depend on formats.
  if (!options.quantize.empty() || !options.recipe.empty()) {
    QuantizeWeightsPassOptions quantize;
    quantize.format = options.quantize;
    quantize.rules.assign(options.recipe.begin(), options.recipe.end());
    model.addPass(createQuantizeWeightsPass(quantize));
  }
  // Matrices that are still floats are read as bf16, unless every bit counts.
  if (!options.exact)
    model.addPass(createRoundFloatsPass());
  // Scales of 1 and repeated norms go away.
  model.addPass(createCanonicalizerPass());
  model.addPass(createCSEPass());
}

static constexpr llvm::StringLiteral kOptionalPasses[] = {
    "lm-fuse-gate-up",  "lm-fuse-projections",     "lm-fuse-residual",
    "lm-fuse-norms",    "lm-group-elementwise",    "kernel-fold-argmax",
    "kernel-fp8-cases", "kernel-append-epilogues", "kernel-norm-prologues"};

ArrayRef<llvm::StringLiteral> ingot::optionalPasses() { return kOptionalPasses; }

/// Adds a pass, unless it is an optional one that the user has disabled.
static auto addUnlessDisabled(OpPassManager &pm, const PipelineOptions &options) {
  return [&](std::unique_ptr<Pass> pass) {
    if (!llvm::is_contained(options.disabled, pass->getArgument()))
      pm.addPass(std::move(pass));
  };
}

void ingot::buildFusionPipeline(OpPassManager &pm, const PipelineOptions &options) {
  OpPassManager &model = pm.nest<lm::ModelOp>();
  auto add = addUnlessDisabled(model, options);
  // Gate and up before q, k, v: both are projections of one input, and the pair is worth more.
  add(createFuseGateUpPass());
  add(createFuseProjectionsPass());
  // Heads of q and k are normed and rotated where k and v enter the cache: no other kernel does it.
  model.addPass(createFuseRopeAppendPass());
  // A projection adds its residual in place; Gemma norms in between, so its norms carry the addition.
  add(createFuseResidualPass());
  add(createFuseNormsPass());
  // Whatever elementwise work is left joins the op that makes its input.
  add(createGroupElementwisePass());
}

static const Target &targetOf(const PipelineOptions &options) {
  const Target *target = targetNamed(options.device);
  assert(target && "no target of that name is registered");
  return *target;
}

void ingot::buildLoweringPipeline(OpPassManager &pm, const PipelineOptions &options) {
  const char *precision = options.exact ? "exact" : "fast";
  // Caches that the user wants of other numbers are said before anything depends on them.
  if (!options.kvLayers.empty()) {
    ChooseKvPassOptions chosen;
    chosen.layers.assign(options.kvLayers.begin(), options.kvLayers.end());
    pm.addPass(createChooseKvPass(chosen));
  }
  // Rows between launches are rounded as projections will read them.
  pm.nest<lm::ModelOp>().addPass(
      createChooseFormsPass({precision, options.device, options.fp8Rows}));
  // Every region becomes a kernel, every function a list of launches.
  pm.addPass(createLowerToPlanPass({precision, options.kv, options.device}));
  // Who reads a matrix is known now, and with it how it should lie.
  pm.addPass(createChooseLayoutsPass({options.device}));
  // Which launches become one is the device's to say.
  targetOf(options).addLoweringPasses(addUnlessDisabled(pm, options));
}

void ingot::buildPlanningPipeline(OpPassManager &pm, const PipelineOptions &options) {
  // Memory and launches that the device's kernels need beside the model's.
  targetOf(options).addPlanningPasses(addUnlessDisabled(pm, options));
  // All that follows sees straight lists of launches.
  pm.addPass(createExpandCasesPass());
  OpPassManager &program = pm.nest<plan::ProgramOp>();
  // Launches that do not depend on each other need no barrier between them.
  program.addPass(createElideBarriersPass());
  // Buffers that never live together share memory.
  program.addPass(createPackBuffersPass());
  // What a step costs is said, so that it can be held against other plans.
  program.addPass(createCountTrafficPass());
}

void ingot::registerDialects(DialectRegistry &registry) {
  registry.insert<lm::LmDialect, kernel::KernelDialect, plan::PlanDialect, arith::ArithDialect,
                  math::MathDialect>();
}

void ingot::registerPassesAndPipelines() {
  registerIngotPasses();
  PassPipelineRegistration<>("ingot-fuse", "import clean-up and fusion", [](OpPassManager &pm) {
    buildImportPipeline(pm, {});
    buildFusionPipeline(pm, {});
  });
  PassPipelineRegistration<>("ingot-lower", "fused lm to kernels and plan", [](OpPassManager &pm) {
    buildLoweringPipeline(pm, {});
    buildPlanningPipeline(pm, {});
  });
}
