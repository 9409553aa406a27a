//===- PlanChecksTest.cpp - A wrong plan is reported with the pass that made it ----===//
#include "compiler/driver/checks/PlanChecks.h"
#include "compiler/targets/CodeTarget.h"
#include "dialects/kernel/ops/Dispatch.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"
#include "tests/SourceDir.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <functional>
#include <map>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

using Deed = std::function<void(ModuleOp)>;

/// A pass of a given name, inserted into a pipeline.
struct PlantedPass : PassWrapper<PlantedPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedPass)
  PlantedPass(std::string name, Deed deed) : name(std::move(name)), deed(std::move(deed)) {}
  StringRef getArgument() const override { return name; }
  void runOnOperation() override { deed(getOperation()); }

  std::string name;
  Deed deed;
};

/// Makes passes of the pipeline wrong: each deed is done after the pass of that name.
struct Plants : PassInstrumentation {
  explicit Plants(const std::map<std::string, Deed> &deeds) : deeds(deeds) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (auto planted = deeds.find(pass->getArgument().str()); planted != deeds.end())
      planted->second(cast<ModuleOp>(op));
  }
  const std::map<std::string, Deed> &deeds;
};

void nothing(ModuleOp) {}
void dropBarriers(ModuleOp module) {
  module.walk([](plan::LaunchOp launch) { launch.setNoBarrier(true); });
}
void restoreBarriers(ModuleOp module) {
  module.walk([](plan::LaunchOp launch) { launch.setNoBarrier(false); });
}

/// A model, and the verdict on its plan if given passes run between lowering and planning and after planning.
class PlanChecks : public testing::Test {
protected:
  PlanChecks() {
    static const bool registered = (registerTargets(), true);
    (void)registered;
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
    model = parseSourceFile<ModuleOp>(
        test::sourceDir() + "/tests/passes/plan_interpreter/Inputs/model.mlir", &context);
    EXPECT_TRUE(model && run(*model, buildFusion));
  }

  /// Returns checkPlan's error as three lines, or "" if the plan is right.
  std::string check(std::vector<std::pair<std::string, Deed>> between,
                    std::vector<std::pair<std::string, Deed>> behind) {
    auto passes = [&](OpPassManager &pm) {
      PipelineOptions options;
      options.device = device, options.kv = device == DeviceKind::Cpu ? kCpuKv : kGpuKv;
      buildLoweringPipeline(pm, options);
      for (auto &[name, deed] : between)
        pm.addPass(std::make_unique<PlantedPass>(name, deed));
      buildPlanningPipeline(pm, options);
      for (auto &[name, deed] : behind)
        pm.addPass(std::make_unique<PlantedPass>(name, deed));
    };
    OwningOpRef<ModuleOp> plan = model->clone(), lowered;
    EXPECT_TRUE(run(*plan, passes, std::make_unique<LoweredPlan>(lowered)));
    auto again = [&](ModuleOp from, std::unique_ptr<PassInstrumentation> watch) {
      ++runsAgain;
      (void)run(from, passes, std::move(watch));
    };
    auto verdict = checkPlan(*model, *lowered, *plan, again, users,
                             std::string(deviceKindName(device)), evidence, "ingot-opt");
    return verdict ? "" : verdict.error().format();
  }

  std::map<std::string, Deed> within; ///< what passes of the lowering pipeline do wrong, by name
  llvm::StringSet<> users;
  std::vector<PassEvidence> evidence;
  int runsAgain = 0;
  DeviceKind device = DeviceKind::Cpu;

private:
  static void buildFusion(OpPassManager &pm) {
    buildImportPipeline(pm, {});
    buildFusionPipeline(pm, {});
  }
  bool run(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build,
           std::unique_ptr<PassInstrumentation> watch = nullptr) {
    PassManager pm(&context);
    build(pm);
    if (watch)
      pm.addInstrumentation(std::move(watch));
    pm.addInstrumentation(std::make_unique<Plants>(within)); // the last one runs first after a pass
    return succeeded(pm.run(module));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> model;
};

} // namespace

TEST_F(PlanChecks, OfARightPlanNoPassRunsTwice) {
  EXPECT_EQ(check({{"sits", nothing}}, {}), "");
  EXPECT_EQ(runsAgain, 0);
  EXPECT_EQ(evidence.size(), 2u);
}

TEST_F(PlanChecks, AWrongPassIsNamed) {
  const std::string said = check({{"sits", nothing}}, {{"drops", dropBarriers}, {"sits", nothing}});
  EXPECT_EQ(said.rfind("error[E0881]: there is no barrier between @", 0), 0u) << said;
  EXPECT_NE(said.find("\n  after pass drops: @"), std::string::npos) << said;
  EXPECT_NE(said.find("\n  this is a bug in ingot: please report it"), std::string::npos) << said;
  EXPECT_EQ(runsAgain, 1);
}

TEST_F(PlanChecks, OfTwoWrongPassesTheFirstIsNamed) {
  const std::string said = check({{"first", dropBarriers}}, {{"second", dropBarriers}});
  EXPECT_NE(said.find("\n  after pass first: @"), std::string::npos) << said;
}

/// Exchanges gate and up.
static void exchangeWeights(ModuleOp module) {
  module.walk([](kernel::DispatchOp dispatch) {
    if (dispatch.getName() == "gate_up") {
      Value gate = dispatch.getInputs()[1];
      dispatch->setOperand(1, dispatch.getInputs()[2]);
      dispatch->setOperand(2, gate);
    }
  });
}

// Kernels are checked before their values are placed.
TEST_F(PlanChecks, AWrongKernelIsFoundBeforeItIsPlaced) {
  within["lm-select-kernels"] = exchangeWeights;
  const std::string said = check({}, {});
  EXPECT_EQ(said.rfind("error[E0883]: ", 0), 0u) << said;
  EXPECT_NE(said.find("\n  after pass lm-select-kernels: "), std::string::npos) << said;
  EXPECT_NE(said.find("kernel-place{in-place=false},plan-outline,check-plan"), std::string::npos)
      << said;
}

// A result that is not where later kernels read it is not an error of the kernels.
TEST_F(PlanChecks, AWrongPlacementIsFoundBeforeItIsOutlined) {
  within["kernel-place"] = [](ModuleOp module) {
    MLIRContext *context = module.getContext();
    auto other = plan::BufferRefAttr::get(context, FlatSymbolRefAttr::get(context, "projections"));
    module.walk([&](plan::DispatchOp dispatch) {
      SmallVector<Attribute> args(dispatch.getArgs().getValue());
      if (dispatch.getName() == "residual")
        args.back() = other;
      dispatch.setArgsAttr(ArrayAttr::get(context, args));
    });
  };
  const std::string said = check({}, {});
  EXPECT_EQ(said.rfind("error[E088", 0), 0u) << said;
  EXPECT_NE(said.find("\n  after pass kernel-place: "), std::string::npos) << said;
}

TEST_F(PlanChecks, AnOptionalPassCanBeDisabled) {
  const std::string said = check({{"kernel-fold-argmax", dropBarriers}}, {{"sits", dropBarriers}});
  EXPECT_NE(said.find("\n  compile with --disable kernel-fold-argmax, "), std::string::npos)
      << said;
}

TEST_F(PlanChecks, APassOfAUserIsTheirs) {
  users.insert("mine");
  const std::string said = check({}, {{"mine", dropBarriers}});
  EXPECT_EQ(said.rfind("error[E0432]: the pass mine of --insert changes ", 0), 0u) << said;
}

TEST_F(PlanChecks, APassThatIsWrongOnceIsSaidToBeSo) {
  bool ran = false;
  const std::string said = check({}, {{"once", [&](ModuleOp module) {
                                         if (!std::exchange(ran, true))
                                           dropBarriers(module);
                                       }}});
  EXPECT_EQ(said.rfind("error[E0881]: ", 0), 0u) << said;
  EXPECT_NE(said.find("\n  the passes do not reproduce the error, so one of them"),
            std::string::npos)
      << said;
}

// Until plan-find-ids has run, steps of many rows leave no ids. That is not an error of the pass
// before it.
TEST_F(PlanChecks, APassBehindWhichIdsAreStillToComeIsNotBlamed) {
  device = DeviceKind::Cuda;
  const std::string said = check({}, {{"weighs-nothing", [](ModuleOp module) {
                                         module.walk([](plan::LaunchOp launch) {
                                           if (launch.getKernel() == "argmax")
                                             launch.erase();
                                         });
                                       }}});
  EXPECT_EQ(said.rfind("error[E0885]: ", 0), 0u) << said;
  EXPECT_NE(said.find("\n  after pass weighs-nothing: "), std::string::npos) << said;
}

// An error that a later pass corrects is not an error of the plan.
TEST_F(PlanChecks, AMendedPlanIsRight) {
  EXPECT_EQ(check({{"drops", dropBarriers}}, {{"restores", restoreBarriers}}), "");
}
