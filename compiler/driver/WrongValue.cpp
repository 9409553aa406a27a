//===- WrongValue.cpp - See WrongValue.h ------------------------------------===//
#include "compiler/driver/WrongValue.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/reference/Compare.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "passes/patterns/Natives.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// What the pipeline makes of the program; null where it fails.
static OwningOpRef<ModuleOp> runOn(ModuleOp program, const std::string &pipeline) {
  OwningOpRef<ModuleOp> copy(program.clone());
  PassManager pm(program.getContext());
  if (failed(parsePassPipeline("lm.model(" + pipeline + ")", pm, llvm::nulls())) ||
      failed(pm.run(*copy)))
    return {};
  return copy;
}

static bool computesSomethingElse(ModuleOp before, ModuleOp after) {
  reference::SeededWeights weights;
  auto change = reference::comparePrograms(before, after, weights);
  return change && change->maxRelative > reference::kLargestRelativeError;
}

/// The program with one of its layers.
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

/// The smallest program that the pass still makes something else of, and what that is; null: it is right.
static std::pair<OwningOpRef<ModuleOp>, OwningOpRef<ModuleOp>> reduce(ModuleOp program,
                                                                      const std::string &pass) {
  size_t layers = 0;
  llvm::DenseSet<Attribute> tried;
  SmallVector<size_t> firstOfKind;
  program.walk([&](lm::LayersOp op) {
    for (auto [i, kind] : llvm::enumerate(op.getKinds()))
      if (tried.insert(kind).second)
        firstOfKind.push_back(i);
    ++layers;
  });
  auto whole = OwningOpRef<ModuleOp>(program.clone());
  for (size_t layer : layers == 1 ? firstOfKind : SmallVector<size_t>()) {
    OwningOpRef<ModuleOp> one = withLayer(program, layer);
    if (OwningOpRef<ModuleOp> after = runOn(*one, pass);
        after && computesSomethingElse(*one, *after))
      return {std::move(one), std::move(after)};
  }
  if (OwningOpRef<ModuleOp> after = runOn(*whole, pass);
      after && computesSomethingElse(*whole, *after))
    return {std::move(whole), std::move(after)};
  return {};
}

/// Writes both files. `pipeline` makes the second of the first, and `check` is the pass that compares them.
static std::string leave(const std::string &code, ModuleOp before, ModuleOp after,
                         const std::string &pipeline, const std::string &check,
                         const std::string &command) {
  const std::string names[] = {"ingot-" + code + "-before.mlir", "ingot-" + code + "-after.mlir"};
  for (auto [name, module] : {std::pair(names[0], before), std::pair(names[1], after)}) {
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    if (!writeText(text, name))
      return "";
  }
  return "before and after: " + names[0] + ", " + names[1] + "; `" + command + " " + names[0] +
         " --pass-pipeline='builtin.module(" + pipeline + "," + check + "{against=" + names[0] +
         "})'` finds it again";
}

std::string compiler::leaveWrongValue(const std::string &code, ModuleOp before,
                                      const std::string &pass, const std::string &command) {
  ScopedDiagnosticHandler silent(before.getContext(), [](Diagnostic &) { return success(); });
  auto [small, after] = reduce(before, pass);
  if (!small)
    return "";
  return leave(code, *small, *after, "lm.model(" + pass + ")", "lm-check", command);
}

std::string compiler::leaveWrongPlan(const std::string &code, ModuleOp before, ModuleOp after,
                                     const std::string &pipeline, const std::string &command) {
  return leave(code, before, after, pipeline, "slow-check", command);
}
