//===- FuseRopeAppend.cpp - Norm, rotation and KV append ------------------===//
//
// k = [rope] [head norm] k0 and v enter the cache; the attention that reads this
// cache has q = [rope] [head norm] q0. All of it touches each value once, so one
// launch per token does it.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Norm.h"
#include "dialects/lm/ops/Structure.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEROPEAPPENDPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {
struct FuseRopeAppend : ingot::impl::FuseRopeAppendPassBase<FuseRopeAppend> {
  void runOnOperation() override {
    SmallVector<KvAppendOp> appends;
    getOperation().walk([&](KvAppendOp op) { appends.push_back(op); });
    for (KvAppendOp append : appends) {
      OpGroup group;
      RopeOp kRope, qRope;
      collectChain(append.getK(), append, append.getKvHeads(), group, kRope);
      AttentionOp attention;
      for (Operation *user : append.getResult().getUsers())
        if (auto op = dyn_cast<AttentionOp>(user); op && op->getBlock() == append->getBlock())
          attention = op;
      if (!attention) {
        remarkMissed(append, "rope_append", "no attention in this layer reads the appended state");
        continue;
      }
      collectChain(attention.getQ(), attention, attention.getHeads(), group, qRope);
      if (bool(kRope) != bool(qRope) ||
          (kRope && (kRope.getFrequencies() != qRope.getFrequencies() ||
                     kRope.getStyle() != qRope.getStyle() ||
                     kRope.getAttentionFactor() != qRope.getAttentionFactor()))) {
        remarkMissed(append, "rope_append", "queries and keys rotate differently");
        continue;
      }
      group.insert(append);
      if (!isConvex(group)) {
        remarkMissed(append, "rope_append", "the queries depend on the appended keys");
        continue;
      }
      fuse(group, "rope_append");
    }
  }

  /// Walks from `value` up through a rotation and a head norm.
  static void collectChain(Value value, Operation *user, int64_t heads, OpGroup &group,
                           RopeOp &rope) {
    if ((rope = onlyUsedHere<RopeOp>(value, user)) && int64_t(rope.getHeads()) == heads) {
      group.insert(rope);
      value = rope.getX(), user = rope;
    }
    if (auto norm = onlyUsedHere<RmsNormOp>(value, user); norm && int64_t(norm.getHeads()) == heads)
      group.insert(norm);
  }
};
} // namespace
