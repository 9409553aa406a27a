//===- FuseNorms.cpp - Norms that carry an addition or a selection --------===//
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Rows.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

namespace ingot {
#define GEN_PASS_DEF_FUSENORMSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {
struct FuseNorms : ingot::impl::FuseNormsPassBase<FuseNorms> {
  void runOnOperation() override {
    SmallVector<Operation *> norms;
    getOperation().walk([&](Operation *op) {
      if (isRowNorm(op) && !isa<FusedOp>(op->getParentOp()))
        norms.push_back(op);
    });
    for (Operation *norm : norms) {
      if (isa<FusedOp>(norm->getParentOp()))
        continue; // taken by an earlier group
      OpGroup group;
      // the last norm reads only the rows whose logits are asked for
      if (auto select = onlyUsedHere<SelectRowsOp>(norm->getOperand(0), norm)) {
        group.insert_range(ArrayRef<Operation *>{select, norm});
        fuse(group, "select_norm");
        continue;
      }
      // sum = x + norm(y), and what norms the sum next
      auto sum = norm->hasOneUse() ? dyn_cast<AddOp>(*norm->user_begin()) : AddOp();
      if (!sum || sum->getBlock() != norm->getBlock())
        continue;
      group.insert_range(ArrayRef<Operation *>{norm, sum});
      for (Operation *user : sum->getUsers())
        if (isRowNorm(user) && user->getBlock() == sum->getBlock())
          group.insert(user);
      if (!isConvex(group)) {
        remarkMissed(sum, "norm_residual", "the residual depends on the norm");
        continue;
      }
      fuse(group, group.size() == 3 ? "norm_residual_norm" : "norm_residual");
    }
  }
};
} // namespace
