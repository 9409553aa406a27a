//===- WeightFormats.cpp - Retype weights and their readers ---------------===//
#include "passes/quantize/WeightFormats.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

void ingot::changeMatrixFormats(ModelOp model,
                                llvm::function_ref<WeightFormat(WeightType type, bool insideLayer)> choose) {
  // A weight that the entry reads itself is an embedding or a head, also if layers read it too.
  llvm::StringSet<> outside;
  model.walk([&](GetWeightOp get) { outside.insert(get.getWeight()); });

  auto retyped = [&](WeightType type, bool insideLayer) {
    return type.isVector() ? type : WeightType::get(type.getContext(), type.getShape(), choose(type, insideLayer));
  };
  for (WeightOp weight : model.getBody().getOps<WeightOp>()) {
    WeightType type = weight.getType(), next = retyped(type, !outside.contains(weight.getSymName()));
    if (next == type)
      continue;
    if (!weight.getStored())
      weight.setStoredAttr(FormatAttr::get(model.getContext(), type.getFormat()));
    weight.setType(next);
  }
  for (LayerKindOp kind : model.getBody().getOps<LayerKindOp>()) {
    SmallVector<Type> inputs(kind.getArgumentTypes());
    for (auto [type, argument] : llvm::zip(inputs, kind.getBody().getArguments()))
      if (auto weight = dyn_cast<WeightType>(type)) {
        type = retyped(weight, true);
        argument.setType(type);
      }
    kind.setFunctionType(FunctionType::get(model.getContext(), inputs, kind.getResultTypes()));
  }
  model.walk([&](GetWeightOp get) { get.getResult().setType(retyped(get.getType(), false)); });
}
