//===- FuseProjections.cpp - q, k and v in one launch ---------------------===//
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {
struct FuseProjections : ingot::impl::FuseProjectionsPassBase<FuseProjections> {
  void runOnOperation() override {
    // Floating-point (including fp8) and integer weights read the input in different encodings, so they stay
    // apart.
    llvm::MapVector<std::pair<Value, unsigned>, OpGroup> byInput;
    getOperation().walk([&](LinearOp op) {
      if (!isa<FusedOp>(op->getParentOp()) && !op.getRoutes()) // each expert projection is a launch
                                                               // of its own
        byInput[{op.getX(), !op.getWeight().getType().numeric().hasIntegerCodes()}].insert(op);
    });
    for (auto &[input, group] : byInput) {
      if (input.second && byInput.contains({input.first, false}))
        remarkMissed(group.front(), "projections",
                     "float and quantised weights read the same input in different encodings");
      if (group.size() > 1) // projections of one value cannot depend on each other
        fuse(group, "projections");
    }
  }
};
} // namespace
