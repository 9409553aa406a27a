//===- FuseGateUp.cpp - activation(gate) * up -----------------------------===//
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEGATEUPPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {
struct FuseGateUp : ingot::impl::FuseGateUpPassBase<FuseGateUp> {
  void runOnOperation() override {
    SmallVector<MulOp> products;
    getOperation().walk([&](MulOp op) { products.push_back(op); });
    for (MulOp product : products)
      if (!tryFuse(product, product.getA(), product.getB()))
        tryFuse(product, product.getB(), product.getA());
    SmallVector<SwigluOaiOp> units;
    getOperation().walk([&](SwigluOaiOp op) { units.push_back(op); });
    for (SwigluOaiOp unit : units)
      fusePair({unit}, onlyUsedHere<LinearOp>(unit.getGate(), unit),
               onlyUsedHere<LinearOp>(unit.getUp(), unit));
  }

  bool tryFuse(MulOp product, Value activated, Value upValue) {
    auto activation = onlyUsedHere<ActivationOp>(activated, product);
    return activation &&
           fusePair({activation, product}, onlyUsedHere<LinearOp>(activation.getX(), activation),
                    onlyUsedHere<LinearOp>(upValue, product));
  }

  /// Gate and up, of which either may be null, with what joins them; the last op has the result.
  bool fusePair(ArrayRef<Operation *> joined, LinearOp gate, LinearOp up) {
    if (!gate || !up || gate.getX() != up.getX())
      return false;
    Operation *product = joined.back();
    if (gate.getWeight().getType() != up.getWeight().getType()) {
      remarkMissed(product, "gate_up", "gate and up have weights of different types");
      return false;
    }
    if (bool(gate.getBias()) != bool(up.getBias())) {
      remarkMissed(product, "gate_up", "only one of gate and up has a bias");
      return false;
    }
    OpGroup group;
    group.insert_range(ArrayRef<Operation *>{gate, up});
    group.insert_range(joined);
    if (!isConvex(group))
      return false;
    fuse(group, "gate_up");
    return true;
  }
};
} // namespace
