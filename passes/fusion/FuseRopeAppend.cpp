//===- FuseRopeAppend.cpp - Norm, rotation and KV append ------------------===//
//
//   k = [rope] [head norm] k0                        enters the cache, together with v
//   q = [scale_by_position] [rope] [head norm] q0    enters the attention that reads this cache
//
// The ops in brackets are optional, and the norms may also follow the rotations. All these ops touch each value once,
// so one launch computes them.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"
#include "passes/select/HeadChain.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEROPEAPPENDPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {

bool rotateAlike(HeadChain &a, HeadChain &b) {
  return a.rope && b.rope ? a.rope.getFrequencies() == b.rope.getFrequencies() &&
                                a.rope.getStyle() == b.rope.getStyle() &&
                                a.rope.getAttentionFactor() == b.rope.getAttentionFactor()
                          : !a.rope && !b.rope;
}
bool isCentred(HeadChain &chain) { return chain.norm && chain.norm.isCentred(); }

struct FuseRopeAppend : ingot::impl::FuseRopeAppendPassBase<FuseRopeAppend> {
  void runOnOperation() override {
    SmallVector<KvAppendOp> appends;
    getOperation().walk([&](KvAppendOp op) { appends.push_back(op); });
    for (KvAppendOp append : appends) {
      OpGroup group;
      /// Takes ops whose results nothing else reads. With a single head, a norm of heads is a norm of the whole row and
      /// may have a bias; a norm with a bias is not taken.
      auto takesOf = [&](int64_t heads, bool queries) {
        return [&group, heads, queries](Operation *op, Operation *user) {
          auto rope = dyn_cast<RopeOp>(op);
          auto norm = dyn_cast<NormInterface>(op);
          auto layerNorm = dyn_cast<LayerNormOp>(op);
          if (!op->hasOneUse() || op->getBlock() != user->getBlock() ||
              (rope && int64_t(rope.getHeads()) != heads) ||
              (norm && int64_t(norm.getHeads()) != heads) || (layerNorm && layerNorm.getBias()) ||
              (isa<ScaleByPositionOp>(op) && !queries))
            return false;
          group.insert(op);
          return true;
        };
      };
      HeadChain k(append.getK(), append, takesOf(append.getKvHeads(), /*queries=*/false));
      AttentionOp attention;
      for (Operation *user : append.getResult().getUsers())
        if (auto op = dyn_cast<AttentionOp>(user); op && op->getBlock() == append->getBlock())
          attention = op;
      if (!attention) {
        remarkMissed(append, "rope_append", "no attention in this layer reads the appended state");
        continue;
      }
      HeadChain q(attention.getQ(), attention, takesOf(attention.getHeads(), /*queries=*/true));
      if (!rotateAlike(q, k)) {
        remarkMissed(append, "rope_append", "queries and keys rotate differently");
        continue;
      }
      if (q.normAfter != k.normAfter) {
        remarkMissed(append, "rope_append",
                     "only one of queries and keys has a norm after its rotation");
        continue;
      }
      if (k.normAfter && (isCentred(q) || isCentred(k))) {
        remarkMissed(append, "rope_append", "a layer norm follows the rotation");
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
};
} // namespace
