//===- Pipelines.cpp - The pass pipelines ---------------------------------===//
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/ops/Program.h"
#include "passes/Target.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace ingot;

void ingot::buildImportPipeline(OpPassManager &pm, const PipelineOptions &options) {
  OpPassManager &model = pm.nest<lm::ModelOp>();
  // Quantisation comes first because all later choices depend on formats.
  if (!options.quantize.empty() || !options.recipe.empty()) {
    QuantizeWeightsPassOptions quantize;
    quantize.format = options.quantize;
    quantize.rules.assign(options.recipe.begin(), options.recipe.end());
    model.addPass(createQuantizeWeightsPass(quantize));
  }
  // Matrices that are still floats are read as bf16, except in exact mode.
  if (options.precision != Precision::Exact)
    model.addPass(createRoundFloatsPass());
  // Removes scales of 1 and repeated norms.
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
  // Gate and up come before q, k, v: both are projections of one input, and fusing gate and up saves more.
  add(createFuseGateUpPass());
  add(createFuseProjectionsPass());
  // The kernel that writes k and v to the cache also normalises and rotates the heads of q and k. No other kernel does
  // this, so the pass cannot be disabled.
  model.addPass(createFuseRopeAppendPass());
  // A projection adds its residual in place. Gemma has a norm between the two, so in Gemma the norm adds the residual.
  add(createFuseResidualPass());
  add(createFuseNormsPass());
  // Remaining elementwise ops join the op that produces their input.
  add(createGroupElementwisePass());
}

void ingot::buildLoweringPipeline(OpPassManager &pm, const PipelineOptions &options) {
  // Per-layer KV cache formats are set before anything depends on them.
  if (!options.kvLayers.empty()) {
    ChooseKvPassOptions chosen;
    chosen.layers.assign(options.kvLayers.begin(), options.kvLayers.end());
    pm.addPass(createChooseKvPass(chosen));
  }
  // Activations between launches are encoded as the projections that read them expect.
  pm.nest<lm::ModelOp>().addPass(
      createChooseEncodingsPass({options.precision, options.device, options.fp8Rows}));
  // Every region becomes a kernel on values, every value gets a buffer, and every kernel becomes a function that
  // launches share.
  pm.addPass(createSelectKernelsPass({options.precision, options.kv, options.device}));
  pm.addPass(createPlacePass());
  pm.addPass(createOutlinePass());
  // The consumers of each matrix are now known, and they determine its layout.
  pm.addPass(createChooseLayoutsPass({options.device}));
  // The target decides which launches are merged.
  targetOf(options.device).addLoweringPasses(addUnlessDisabled(pm, options));
}

void ingot::buildPlanningPipeline(OpPassManager &pm, const PipelineOptions &options) {
  // Adds the buffers and launches that the target's kernels need in addition to the model's.
  targetOf(options.device).addPlanningPasses(addUnlessDisabled(pm, options));
  // The following passes see only straight lists of launches.
  pm.addPass(createExpandCasesPass());
  OpPassManager &program = pm.nest<plan::ProgramOp>();
  // Launches that do not depend on each other need no barrier between them.
  program.addPass(createElideBarriersPass());
  // Buffers whose lifetimes do not overlap share memory.
  program.addPass(createPackBuffersPass());
  // Records the cost of a step, so that plans can be compared.
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
