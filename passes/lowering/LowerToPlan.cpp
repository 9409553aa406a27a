//===- LowerToPlan.cpp - Fused lm to kernels and plan ---------------------===//
//
// The entry is cut at lm.layers: what comes before is the section `begin`, each
// layer kind is a section, what comes after is `end`. A section is lowered op by op;
// each op (a fused region, or a single op) is one launch. SectionLowering does that; this file has
// the parts for the whole program: weights, states, steps.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"
#include "passes/lowering/ProgramBuilder.h"

namespace ingot {
#define GEN_PASS_DEF_LOWERTOPLANPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct LowerToPlan : ingot::impl::LowerToPlanPassBase<LowerToPlan> {
  using LowerToPlanPassBase::LowerToPlanPassBase;

  void runOnOperation() override {
    auto models = llvm::to_vector(getOperation().getOps<lm::ModelOp>());
    if (models.size() != 1) {
      getOperation().emitError("expects one lm.model");
      return signalPassFailure();
    }
    const Target &target = targetOf(device);
    const bool exact = precision == Precision::Exact;
    if (exact && !target.hasExact()) {
      getOperation().emitError("expects precision fast for ") << target.name();
      return signalPassFailure();
    }
    if (const KvFormatInfo &format = kvFormat(kv); !target.kvFormats()(format)) {
      getOperation().emitError("expects kv ") << kvFormatNames(target.kvFormats(), "or") << " for "
                                              << target.name() << ", got " << format.name;
      return signalPassFailure();
    }
    lm::ModelOp model = models.front();
    for (lm::StateOp state : model.getBody().getOps<lm::StateOp>())
      if (state.getElement() &&
          !target.kvFormats()(kvFormat(*kvFormatNamed(*state.getElement())))) {
        state.emitOpError("has the element type ")
            << state.getElementAttr() << ", but " << target.name() << " supports "
            << kvFormatNames(target.kvFormats(), "and");
        return signalPassFailure();
      }
    if (failed(lower(model, {exact, kv, target.name()})))
      return signalPassFailure();
    model.erase();
  }

  LogicalResult lower(lm::ModelOp model, LoweringChoices choices) {
    ImplicitLocOpBuilder b(model.getLoc(), model);
    auto program =
        plan::ProgramOp::create(b, model.getSymName(), model.getFamily(), model.getVocab(),
                                model.getHidden(), model.getMaxPositions());
    b.setInsertionPointToStart(&program.getBody().emplaceBlock());
    for (lm::WeightOp weight : model.getBody().getOps<lm::WeightOp>())
      plan::WeightOp::create(b, weight.getSymName(), weight.getType(), weight.getSourceAttr(),
                             weight.getStoredAttr(), weight.getValuesAttr())
          ->setDiscardableAttrs(weight->getDiscardableAttrDictionary());

    auto entries = model.getBody().getOps<lm::EntryOp>();
    if (entries.empty())
      return model.emitOpError("has no lm.entry, so the model is incomplete");
    lm::EntryOp entry = *entries.begin();
    lm::LayersOp layers;
    for (lm::LayersOp op : entry.getBody().getOps<lm::LayersOp>()) {
      if (layers)
        return op.emitOpError("is the second in this entry; one is supported");
      layers = op;
    }
    if (!layers)
      return entry.emitOpError("expects an lm.layers");

    ProgramBuilder builder(program, model, choices);
    builder.addCarried(layers);
    if (failed(builder.addTables(layers)))
      return failure();
    if (failed(builder.lowerBegin(entry, layers)))
      return failure();
    for (lm::LayerKindOp kind : model.getBody().getOps<lm::LayerKindOp>())
      if (failed(builder.lowerKind(kind)))
        return failure();
    if (failed(builder.lowerEnd(entry, layers)))
      return failure();
    return addEntry(program, layers, builder);
  }

  LogicalResult addEntry(plan::ProgramOp program, lm::LayersOp layers, ProgramBuilder &builder) {
    auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
    auto model = layers->getParentOfType<lm::ModelOp>();
    // For each state, the argument of a layer kind to which it is passed.
    llvm::DenseMap<Attribute, Value> arguments;
    for (auto [kind, states] :
         llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), layers.getStates())) {
      Block &body = model.lookupSymbol<lm::LayerKindOp>(kind.getAttr()).getBody().front();
      for (auto [i, state] :
           llvm::enumerate(cast<ArrayAttr>(states).getAsRange<FlatSymbolRefAttr>()))
        arguments[state.getAttr()] = body.getArgument(1 + i);
    }
    for (lm::StateOp state : model.getBody().getOps<lm::StateOp>())
      if (Value argument = arguments.lookup(state.getSymNameAttr()))
        if (mlir::failed(builder.addState(state, argument)))
          return failure();
    auto modes = plan::ModesAttr::get(b.getContext(), {plan::Mode::Logits});
    auto entry = plan::EntryOp::create(b, "generate", modes);
    b.setInsertionPointToStart(&entry.getBody().emplaceBlock());
    plan::StepOp::create(b, FlatSymbolRefAttr::get(b.getContext(), kBeginSection), ArrayAttr(),
                         ArrayAttr(), IntegerAttr());
    int64_t layer = 0;
    for (auto [kind, weights, states] : llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(),
                                                  layers.getWeights(), layers.getStates())) {
      auto own = cast<ArrayAttr>(states);
      plan::StepOp::create(b, kind, cast<ArrayAttr>(weights), own.empty() ? ArrayAttr() : own,
                           b.getI64IntegerAttr(layer++));
    }
    plan::StepOp::create(b, FlatSymbolRefAttr::get(b.getContext(), kEndSection), ArrayAttr(),
                         ArrayAttr(), IntegerAttr());
    builder.addOutputs(entry);
    return success();
  }
};
} // namespace
