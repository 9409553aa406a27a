//===- MiscompileReducer.cpp - See MiscompileReducer.h --------------------===//
#include "compiler/driver/checks/MiscompileReducer.h"
#include "compiler/extend/PatternFile.h"
#include "compiler/options/OutputPlace.h"
#include "compiler/reference/Compare.h"
#include "compiler/reference/interpreter/CheckPlan.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/patterns/Natives.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <optional>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
namespace interpreter = ingot::reference::interpreter;

/// The time limit for reducing a plan. With large models each attempt takes a fraction of a second.
static constexpr std::chrono::seconds kMostReducing(20);

/// Returns the result of the pipeline on the program; null if it fails.
static OwningOpRef<ModuleOp> runOn(ModuleOp program, const std::string &pipeline) {
  OwningOpRef<ModuleOp> copy(program.clone());
  PassManager pm(program.getContext());
  if (failed(parsePassPipeline(pipeline, pm, llvm::nulls())) || failed(pm.run(*copy)))
    return {};
  return copy;
}

static bool computesSomethingElse(ModuleOp before, ModuleOp after) {
  reference::SeededWeights weights;
  auto change = reference::comparePrograms(before, after, weights);
  return change && change->maxRelative > reference::kLargestRelativeError;
}

/// Returns the program with only one of its layers.
static OwningOpRef<ModuleOp> withLayer(ModuleOp program, size_t layer) {
  OwningOpRef<ModuleOp> copy(program.clone());
  lm::ModelOp model = *copy->getOps<lm::ModelOp>().begin();
  llvm::DenseSet<Attribute> named;
  model.walk([&](lm::LayersOp layers) {
    auto only = [&](ArrayAttr list) {
      return ArrayAttr::get(list.getContext(), list.getValue().slice(layer, 1));
    };
    layers.setKindsAttr(only(layers.getKinds()));
    layers.setStatesAttr(only(layers.getStates()));
    layers.setWeightsAttr(only(layers.getWeights()));
    named.insert(cast<FlatSymbolRefAttr>(layers.getKinds()[0]).getAttr());
    for (auto state : cast<ArrayAttr>(layers.getStates()[0]).getAsRange<FlatSymbolRefAttr>())
      named.insert(state.getAttr());
  });
  for (Operation &op : llvm::make_early_inc_range(model.getBody().front()))
    if (isa<lm::LayerKindOp, lm::StateOp>(op) &&
        !named.contains(op.getAttr(SymbolTable::getSymbolAttrName())))
      op.erase();
  patterns::dropUnreadWeights(model);
  return copy;
}

namespace {
/// A program and the result of the pass on it.
struct Pair {
  OwningOpRef<ModuleOp> before, after;
};

/// Whether the second program of a pair computes something else.
using Differs = llvm::function_ref<bool(ModuleOp before, ModuleOp after)>;
} // namespace

/// Returns the pair if the pipeline still changes what the program computes.
static std::optional<Pair> tryOn(OwningOpRef<ModuleOp> program, const std::string &pipeline,
                                 Differs differs) {
  OwningOpRef<ModuleOp> after = runOn(*program, pipeline);
  if (!after || !differs(*program, *after))
    return std::nullopt;
  return Pair{std::move(program), std::move(after)};
}

/// Returns the smallest model that the pipeline still miscompiles, or nothing if the pipeline is correct.
static std::optional<Pair> reduceModel(ModuleOp program, const std::string &pipeline,
                                       Differs differs) {
  size_t layers = 0;
  llvm::DenseSet<Attribute> tried;
  SmallVector<size_t> firstOfKind;
  program.walk([&](lm::LayersOp op) {
    for (auto [i, kind] : llvm::enumerate(op.getKinds()))
      if (tried.insert(kind).second)
        firstOfKind.push_back(i);
    ++layers;
  });
  for (size_t layer : layers == 1 ? firstOfKind : SmallVector<size_t>())
    if (auto found = tryOn(withLayer(program, layer), pipeline, differs))
      return found;
  return tryOn(OwningOpRef<ModuleOp>(program.clone()), pipeline, differs);
}

static bool writeModule(ModuleOp module, const std::string &name) {
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return bool(writeText(text, name));
}

std::string compiler::leaveBoth(const std::string &code, ModuleOp before, ModuleOp after) {
  const std::string first = "ingot-" + code + "-before.mlir",
                    second = "ingot-" + code + "-after.mlir";
  return writeModule(before, first) && writeModule(after, second)
             ? "before and after: " + first + ", " + second
             : "";
}

/// Writes both programs to files. `pipeline` makes the second from the first, and `check` is the pass that compares
/// them.
static std::string leave(const std::string &code, ModuleOp before, ModuleOp after,
                         const std::string &pipeline, const std::string &check,
                         const std::string &command) {
  const std::string left = leaveBoth(code, before, after), first = "ingot-" + code + "-before.mlir";
  return left.empty() ? ""
                      : left + "; `" + command + " " + first + " --pass-pipeline='builtin.module(" +
                            pipeline + "," + check + "{against=" + first + "})'` reproduces it";
}

std::string compiler::reduceMiscompile(const std::string &code, ModuleOp before,
                                       const std::string &pass, const std::string &command) {
  ScopedDiagnosticHandler silent(before.getContext(), [](Diagnostic &) { return success(); });
  const std::string pipeline = "lm.model(" + pass + ")";
  auto found = reduceModel(before, pipeline, computesSomethingElse);
  return found ? leave(code, *found->before, *found->after, pipeline, "lm-check", command) : "";
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static bool isRight(const Result<void> &checked) {
  return checked || interpreter::isNotInterpreted(checked.error());
}

/// Performs the check of check-plan{against=before}.
static bool plansSomethingElse(ModuleOp before, ModuleOp after) {
  reference::SeededWeights weights;
  interpreter::PlanEvidence ignored;
  const bool planned = !before.getOps<plan::ProgramOp>().empty();
  if (planned && !isRight(interpreter::checkCases(before, weights, ignored)))
    return false; // too little is left for a valid plan
  return !isRight(planned ? interpreter::checkPlanning(before, after, weights)
                          : interpreter::checkLowering(before, after, weights, ignored)) ||
         !isRight(interpreter::checkCases(after, weights, ignored));
}

/// Erases kernels, sections, weights and buffers that are no longer referenced.
static void dropUnnamed(ModuleOp module) {
  for (bool again = true; again;) {
    again = false;
    llvm::DenseSet<Attribute> named;
    module.walk([&](Operation *op) {
      op->getAttrDictionary().walk(
          [&](FlatSymbolRefAttr symbol) { named.insert(symbol.getAttr()); });
    });
    module.walk([&](Operation *op) {
      if (isa<FunctionOpInterface, plan::SectionOp, plan::WeightOp, plan::BufferOp>(op) &&
          !named.contains(op->getAttr(SymbolTable::getSymbolAttrName()))) {
        op->erase();
        again = true;
        return WalkResult::skip();
      }
      return WalkResult::advance();
    });
  }
}

/// Searches for a small plan that the pipeline still miscompiles, and returns it. It tries to remove each step and
/// launch in turn, starting with the last, and keeps a removal if the remaining plan runs and is still miscompiled.
/// Launches that write results which no launch reads are thus removed one after the other.
static std::optional<Pair> reducePlan(ModuleOp program, const std::string &pipeline) {
  auto found = tryOn(OwningOpRef<ModuleOp>(program.clone()), pipeline, plansSomethingElse);
  const auto begin = std::chrono::steady_clock::now();
  auto hasTime = [&] { return std::chrono::steady_clock::now() - begin < kMostReducing; };
  auto parts = [](ModuleOp module) {
    SmallVector<Operation *> steps, launches;
    module.walk([&](Operation *op) {
      if (isa<plan::StepOp>(op))
        steps.push_back(op);
      else if (isa<plan::LaunchOp>(op))
        launches.push_back(op);
    });
    launches.append(steps); // removal starts at the end, so whole layers are removed first
    return launches;
  };
  for (size_t left = found ? parts(*found->before).size() : 0; left > 0 && hasTime(); --left) {
    OwningOpRef<ModuleOp> fewer(found->before->clone());
    const auto all = parts(*fewer);
    if (left > all.size()) // a removed step also removed the launches of its section
      continue;
    all[left - 1]->erase();
    dropUnnamed(*fewer);
    if (failed(verify(*fewer)))
      continue;
    if (auto smaller = tryOn(std::move(fewer), pipeline, plansSomethingElse))
      found = std::move(smaller);
  }
  return found;
}

std::string compiler::reduceWrongPlan(const std::string &code, ModuleOp before, ModuleOp after,
                                      const std::string &pipeline, const std::string &command) {
  ScopedDiagnosticHandler silent(before.getContext(), [](Diagnostic &) { return success(); });
  auto found = before.getOps<plan::ProgramOp>().empty()
                   ? reduceModel(before, pipeline, plansSomethingElse)
                   : reducePlan(before, pipeline);
  return found ? leave(code, *found->before, *found->after, pipeline, "check-plan", command)
               : leave(code, before, after, pipeline, "check-plan", command);
}

std::string compiler::codeOfChange(StringRef pass, const llvm::StringSet<> &users) {
  if (pass == extend::applyPatternsName())
    return errors::kPatternChangesModel;
  return users.contains(pass) ? errors::kInsertedPassChangesModel : errors::kPassChangesModel;
}

std::string compiler::leavePlanOfLayers(const std::string &code, ModuleOp plan,
                                        ArrayRef<int64_t> layers) {
  OwningOpRef<ModuleOp> fewer(plan.clone());
  fewer->walk([&](plan::StepOp step) {
    if (step.getLayer() && !llvm::is_contained(layers, int64_t(*step.getLayer())))
      step.erase();
  });
  dropUnnamed(*fewer);
  ScopedDiagnosticHandler silent(plan.getContext(), [](Diagnostic &) { return success(); });
  const std::string name = "ingot-" + code + ".mlir";
  return writeModule(succeeded(verify(*fewer)) ? *fewer : plan, name) ? name : "";
}
