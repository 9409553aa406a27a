//===- FuseRopeAppend.cpp - Norm, rotation and KV append ------------------===//
//
// k = [rope] [head norm] k0 and v enter the cache; the attention that reads this cache has q =
// [scale_by_position] [rope] [head norm] q0. The norms may also follow the rotations. All these ops touch
// each value once, so one launch per token computes them.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Norm.h"
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

/// The ops that heads pass through on their way to attention or to the cache.
struct Chain {
  RopeOp rope;
  bool normAfter = false; ///< the norm follows the rotation
  bool centred = false;   ///< the norm subtracts the mean

  /// If there is only one head, a norm of heads is a norm of the whole row and may have a bias; such a norm
  /// is not taken.
  static NormInterface normOfHeads(Value value, Operation *user) {
    auto norm = onlyUsedHere<NormInterface>(value, user);
    auto layerNorm = dyn_cast_or_null<LayerNormOp>(norm ? norm.getOperation() : nullptr);
    return layerNorm && layerNorm.getBias() ? NormInterface() : norm;
  }

  /// Walks from `value` up through a rotation and a norm of heads, in either order.
  void collect(Value value, Operation *user, int64_t heads, OpGroup &group) {
    auto take = [&]<typename Op>(Op op) {
      if (!op || int64_t(op.getHeads()) != heads)
        return Op();
      group.insert(op);
      value = op.getX(), user = op;
      return op;
    };
    NormInterface norm = take(normOfHeads(value, user));
    rope = take(onlyUsedHere<RopeOp>(value, user));
    normAfter = norm && rope;
    if (!norm)
      norm = take(normOfHeads(value, user));
    centred = norm && norm.isCentred();
  }

  bool rotatesAs(const Chain &other) {
    RopeOp one = rope, two = other.rope;
    return one && two
               ? one.getFrequencies() == two.getFrequencies() && one.getStyle() == two.getStyle() &&
                     one.getAttentionFactor() == two.getAttentionFactor()
               : !one && !two;
  }
};

struct FuseRopeAppend : ingot::impl::FuseRopeAppendPassBase<FuseRopeAppend> {
  void runOnOperation() override {
    SmallVector<KvAppendOp> appends;
    getOperation().walk([&](KvAppendOp op) { appends.push_back(op); });
    for (KvAppendOp append : appends) {
      OpGroup group;
      Chain k, q;
      k.collect(append.getK(), append, append.getKvHeads(), group);
      AttentionOp attention;
      for (Operation *user : append.getResult().getUsers())
        if (auto op = dyn_cast<AttentionOp>(user); op && op->getBlock() == append->getBlock())
          attention = op;
      if (!attention) {
        remarkMissed(append, "rope_append", "no attention in this layer reads the appended state");
        continue;
      }
      Value queries = attention.getQ();
      Operation *consumer = attention;
      if (auto temperature = onlyUsedHere<ScaleByPositionOp>(queries, consumer)) {
        group.insert(temperature);
        queries = temperature.getX(), consumer = temperature;
      }
      q.collect(queries, consumer, attention.getHeads(), group);
      if (!q.rotatesAs(k)) {
        remarkMissed(append, "rope_append", "queries and keys rotate differently");
        continue;
      }
      if (q.normAfter != k.normAfter) {
        remarkMissed(append, "rope_append",
                     "only one of queries and keys has a norm after its rotation");
        continue;
      }
      if (k.normAfter && (q.centred || k.centred)) {
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
