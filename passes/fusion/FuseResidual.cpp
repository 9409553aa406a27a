//===- FuseResidual.cpp - A projection and its residual -------------------===//
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

namespace ingot {
#define GEN_PASS_DEF_FUSERESIDUALPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {
struct FuseResidual : ingot::impl::FuseResidualPassBase<FuseResidual> {
  void runOnOperation() override {
    SmallVector<AddOp> sums;
    getOperation().walk([&](AddOp op) { sums.push_back(op); });
    for (AddOp sum : sums) {
      if (isa<FusedOp>(sum->getParentOp()))
        continue;
      auto linear = onlyUsedHere<LinearOp>(sum.getB(), sum);
      if (!linear)
        linear = onlyUsedHere<LinearOp>(sum.getA(), sum);
      if (!linear) {
        if (sum.getA().getDefiningOp<LinearOp>() || sum.getB().getDefiningOp<LinearOp>())
          remarkMissed(sum, "residual", "the projection has another use");
        continue;
      }
      OpGroup group;
      group.insert_range(ArrayRef<Operation *>{linear, sum});
      fuse(group, "residual");
    }
  }
};
} // namespace
