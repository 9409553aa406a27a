//===- WeightFormats.cpp - Retype weights and their consumers -------------===//
#include "passes/quantize/WeightFormats.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

static void retype(LayerKindOp kind, ArrayRef<Type> weights) {
  SmallVector<Type> inputs(kind.getArgumentTypes().take_front(kind.firstWeight()));
  inputs.append(weights.begin(), weights.end());
  for (auto [argument, type] : llvm::zip(kind.getBody().getArguments(), inputs))
    argument.setType(type);
  kind.setFunctionType(FunctionType::get(kind.getContext(), inputs, kind.getResultTypes()));
}

/// Gives each layer a kind that matches the types of its weights. The first combination of types keeps the original
/// kind; each other combination gets a copy.
static void splitKinds(ModelOp model, LayersOp layers, const llvm::StringMap<WeightType> &types) {
  SymbolTable symbols(model);
  using Tuple = SmallVector<Type>;
  llvm::StringMap<SmallVector<std::pair<Tuple, LayerKindOp>>> kindsByName;
  SmallVector<Attribute> kinds;
  for (auto [name, weights] :
       llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), layers.getWeights())) {
    Tuple tuple;
    for (auto ref : cast<ArrayAttr>(weights).getAsRange<FlatSymbolRefAttr>())
      tuple.push_back(types.lookup(ref.getValue()));
    auto &known = kindsByName[name.getValue()];
    auto *it = llvm::find_if(known, [&](auto &entry) { return entry.first == tuple; });
    if (it == known.end()) {
      auto original = cast<LayerKindOp>(symbols.lookup(name.getValue()));
      LayerKindOp kind = original;
      if (!known.empty()) {
        kind = original.clone();
        symbols.insert(kind, std::next(original->getIterator())); // gives the copy a unique name
      }
      known.emplace_back(tuple, kind);
      it = &known.back();
    }
    kinds.push_back(FlatSymbolRefAttr::get(it->second.getSymNameAttr()));
  }
  for (auto &[name, known] : kindsByName)
    for (auto &[tuple, kind] : known)
      retype(kind, tuple);
  layers.setKindsAttr(ArrayAttr::get(model.getContext(), kinds));
}

/// The weights of routers, whose products decide which experts process a token.
static llvm::StringSet<> findRouters(ModelOp model) {
  llvm::DenseMap<Attribute, SmallVector<int64_t>> arguments; // by kind
  model.walk([&](RouteOp route) {
    auto linear = route.getLogits().getDefiningOp<LinearOp>();
    auto weight = linear ? dyn_cast<BlockArgument>(linear.getWeight()) : BlockArgument();
    auto kind = weight ? dyn_cast<LayerKindOp>(weight.getOwner()->getParentOp()) : LayerKindOp();
    if (kind)
      arguments[kind.getSymNameAttr()].push_back(weight.getArgNumber() - kind.firstWeight());
  });
  llvm::StringSet<> routers;
  model.walk([&](LayersOp layers) {
    for (auto [kind, weights] :
         llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), layers.getWeights()))
      for (int64_t argument : arguments.lookup(kind.getAttr()))
        routers.insert(cast<FlatSymbolRefAttr>(cast<ArrayAttr>(weights)[argument]).getValue());
  });
  return routers;
}

void ingot::changeMatrixFormats(
    ModelOp model, llvm::function_ref<WeightFormat(WeightOp weight, bool insideLayer)> choose) {
  const llvm::StringSet<> routers = findRouters(model);
  llvm::StringSet<> outside;
  model.walk([&](GetWeightOp get) { outside.insert(get.getWeight()); });

  llvm::StringMap<WeightType> types;
  for (WeightOp weight : model.getBody().getOps<WeightOp>()) {
    WeightType type = weight.getType();
    if (!type.isVectors() && !routers.contains(weight.getSymName())) {
      WeightFormat format = choose(weight, !outside.contains(weight.getSymName()));
      if (format != type.getFormat()) {
        if (!weight.getStored())
          weight.setStoredAttr(FormatAttr::get(model.getContext(), type.getFormat()));
        type = WeightType::get(model.getContext(), type.getShape(), format);
        weight.setType(type);
      }
    }
    types[weight.getSymName()] = type;
  }
  SmallVector<LayersOp> all;
  model.walk([&](LayersOp layers) { all.push_back(layers); });
  for (LayersOp layers : all)
    splitKinds(model, layers, types);
  model.walk([&](GetWeightOp get) { get.getResult().setType(types.lookup(get.getWeight())); });
}
