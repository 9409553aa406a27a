//===- DerivedWeights.cpp - See DerivedWeights.h --------------------------===//
#include "passes/patterns/DerivedWeights.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "passes/patterns/Natives.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

/// The layer kind of which the weight is an argument, or null.
static LayerKindOp kindOf(Value weight) {
  auto argument = dyn_cast<BlockArgument>(weight);
  return argument ? dyn_cast<LayerKindOp>(argument.getOwner()->getParentOp()) : LayerKindOp();
}

/// The weight that the layer passes for an argument of its kind.
static WeightOp passedBy(ArrayAttr layer, Value argument, LayerKindOp kind, ModelOp model) {
  auto symbol = cast<FlatSymbolRefAttr>(
      layer[cast<BlockArgument>(argument).getArgNumber() - kind.firstWeight()]);
  return cast<WeightOp>(SymbolTable::lookupSymbolIn(model, symbol));
}

static WeightOp namedBy(Value weight) {
  auto get = weight.getDefiningOp<GetWeightOp>();
  return cast<WeightOp>(
      SymbolTable::lookupSymbolIn(get->getParentOfType<ModelOp>(), get.getWeightAttr()));
}

/// Replaces the list of weights of each layer of the kind by the result of `change`, which receives the old list.
static void changeLayers(LayerKindOp kind, llvm::function_ref<ArrayAttr(ArrayAttr)> change) {
  auto model = kind->getParentOfType<ModelOp>();
  model.walk([&](LayersOp layers) {
    SmallVector<Attribute> lists(layers.getWeights().getValue());
    for (auto [name, list] : llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), lists))
      if (name.getValue() == kind.getSymName())
        list = change(cast<ArrayAttr>(list));
    layers.setWeightsAttr(ArrayAttr::get(model.getContext(), lists));
  });
}

bool patterns::isNamed(Value weight) {
  auto type = weight ? dyn_cast<WeightType>(weight.getType()) : WeightType();
  if (!type || type.isStack())
    return false;
  return kindOf(weight) || weight.getDefiningOp<GetWeightOp>();
}

bool patterns::areNamedTogether(Value a, Value b) {
  return isNamed(a) && isNamed(b) && isa<BlockArgument>(a) == isa<BlockArgument>(b) &&
         a.getParentBlock() == b.getParentBlock();
}

SmallVector<WeightOp> patterns::weightsOf(Value weight) {
  LayerKindOp kind = kindOf(weight);
  if (!kind)
    return {namedBy(weight)};
  SmallVector<WeightOp> all;
  auto model = kind->getParentOfType<ModelOp>();
  changeLayers(kind, [&](ArrayAttr layer) {
    all.push_back(passedBy(layer, weight, kind, model));
    return layer;
  });
  return all;
}

std::string patterns::roleOf(Value weight) {
  LayerKindOp kind = kindOf(weight);
  if (!kind)
    return namedBy(weight).getSymName().str();
  auto role =
      kind.getArgAttrOfType<StringAttr>(cast<BlockArgument>(weight).getArgNumber(), kRoleAttr);
  return role ? role.getValue().str() : "weight";
}

static Value deriveInLayers(LayerKindOp kind, ArrayRef<Value> from, StringRef role, WeightType type,
                            patterns::MakeWeight make) {
  for (BlockArgument argument : kind.getArguments())
    if (auto known = kind.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
        known && known.getValue() == role && argument.getType() == type)
      return argument;
  auto model = kind->getParentOfType<ModelOp>();
  changeLayers(kind, [&](ArrayAttr layer) {
    SmallVector<WeightOp> passed;
    for (Value value : from)
      passed.push_back(passedBy(layer, value, kind, model));
    SmallVector<Attribute> list(layer.getValue());
    list.push_back(FlatSymbolRefAttr::get(make(passed).getSymNameAttr()));
    return ArrayAttr::get(model.getContext(), list);
  });
  Builder b(model.getContext());
  const unsigned last = kind.getNumArguments();
  (void)kind.insertArgument(last, type,
                            b.getDictionaryAttr({b.getNamedAttr(kRoleAttr, b.getStringAttr(role))}),
                            kind.getLoc());
  return kind.getArgument(last);
}

static Value deriveInEntry(PatternRewriter &rewriter, ArrayRef<Value> from, WeightType type,
                           patterns::MakeWeight make) {
  SmallVector<WeightOp> named;
  Operation *last = from.front().getDefiningOp();
  for (Value value : from) {
    named.push_back(namedBy(value));
    if (last->isBeforeInBlock(value.getDefiningOp()))
      last = value.getDefiningOp();
  }
  WeightOp made = make(named);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(last);
  return GetWeightOp::create(rewriter, last->getLoc(), type,
                             FlatSymbolRefAttr::get(made.getSymNameAttr()));
}

Value patterns::derive(PatternRewriter &rewriter, ArrayRef<Value> from, StringRef role,
                       WeightType type, MakeWeight make) {
  if (LayerKindOp kind = kindOf(from.front()))
    return deriveInLayers(kind, from, role, type, make);
  return deriveInEntry(rewriter, from, type, make);
}

patterns::NewWeight patterns::addWeight(WeightOp like, StringRef symbol, WeightType type) {
  auto model = like->getParentOfType<ModelOp>();
  if (auto there = SymbolTable::lookupSymbolIn(model, symbol))
    return {cast<WeightOp>(there), false};
  OpBuilder b(model.getContext());
  b.setInsertionPointAfter(like);
  auto made = cast<WeightOp>(b.clone(*like));
  made.setSymName(symbol);
  made.setType(type);
  return {made, true};
}

void patterns::dropUnreadWeights(ModelOp model) {
  for (auto kind : model.getBody().getOps<LayerKindOp>())
    for (unsigned i = kind.getNumArguments(); i-- > kind.firstWeight();) {
      if (!kind.getArgument(i).use_empty())
        continue;
      changeLayers(kind, [&](ArrayAttr layer) {
        SmallVector<Attribute> passed(layer.getValue());
        passed.erase(passed.begin() + (i - kind.firstWeight()));
        return ArrayAttr::get(model.getContext(), passed);
      });
      (void)kind.eraseArgument(i);
    }
  llvm::DenseSet<StringAttr> read;
  model.walk([&](GetWeightOp get) { read.insert(get.getWeightAttr().getAttr()); });
  model.walk([&](LayersOp layers) {
    for (auto list : layers.getWeights().getAsRange<ArrayAttr>())
      for (auto symbol : list.getAsRange<FlatSymbolRefAttr>())
        read.insert(symbol.getAttr());
  });
  for (auto weight : llvm::make_early_inc_range(model.getBody().getOps<WeightOp>()))
    if (!read.contains(weight.getSymNameAttr()))
      weight.erase();
}
