//===- Experts.cpp - kernel.route, group_routes and combine for CPUs ----------===//
//
//   route          a token: scores of all experts, in scratch ▶ ranks ▶ the largest ranks, one by one
//   group_routes   counts of each expert ▶ where its rows begin ▶ a row for each pair
//   combine        a token: sixteen columns at a time, over its rows
//
// Scores are held as vectors of 16 at every ISA level, so sums have the same bits at all levels. Padding after the last
// expert has ranks below all others.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Experts.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/MathApproximation.h"
#include "codegen/cpu/RoutesView.h"
#include "codegen/cpu/RowwiseLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using lm::RouteNorm;
using lm::RouteScore;

static constexpr double kLowest = std::numeric_limits<float>::lowest();
static constexpr double kOut = -std::numeric_limits<double>::infinity();

namespace {

/// Scratch of kernel.route: f32 arrays, each of whole vectors.
struct RouteScratch {
  int64_t experts, scores = 0, ranks, groups, chosen, bytes;

  explicit RouteScratch(kernel::RouteOp op) : experts(op.routesType().getExperts()) {
    auto array = [](int64_t count) { return roundUp(count, kRowLanes) * 4; };
    ranks = scores + array(experts);
    groups = ranks + array(experts);
    chosen = groups + array(int64_t(op.getGroups()));
    bytes = roundUp(chosen + array(op.routesType().getUsed()), 64);
  }
  int64_t vectors() const { return roundUp(experts, kRowLanes) / kRowLanes; }
};

class RouteEmitter {
public:
  RouteEmitter(KernelBuilder &k, kernel::RouteOp op)
      : k(k), op(op), place(op), used(op.routesType().getUsed()), f32x16(k.vec(k.f32, kRowLanes)),
        i32x16(k.vec(k.i32, kRowLanes)), view(k, k.operand(op.getRoutes()), used) {
    SmallVector<int32_t> numbers(kRowLanes);
    std::iota(numbers.begin(), numbers.end(), 0);
    laneNumbers = k.constant(numbers);
  }

  void emit() {
    k.forEachItem([&](Value token) {
      emitScores(token);
      emitRanks();
      if (op.getGroups() > 1)
        emitGroups();
      emitChoice(token);
      emitWeights(token);
    });
  }

private:
  using Values = KernelBuilder::Values;

  Value scratch(int64_t array, Value byte) { return k.at(k.at(k.scratch, array), byte); }
  Value element(int64_t array, Value index) { return scratch(array, k.mul(index, 4)); }

  /// Calls body(byte from the start of an array, mask of the vector's existing experts or null) for all vectors.
  void forEachVector(function_ref<void(Value byte, Value exists)> body) {
    const int64_t full = place.experts / kRowLanes;
    if (full)
      k.loop(0, full * kVectorBytes, kVectorBytes, [&](Value byte) { body(byte, Value()); });
    if (int64_t rest = place.experts % kRowLanes)
      body(k.word(full * kVectorBytes), firstLanesMask(k, rest));
  }
  Value whereExists(Value exists, Value v, double otherwise) {
    return exists ? k.select(exists, v, k.splat(f32x16, otherwise)) : v;
  }
  /// Reduces all vectors of an array to one, lane by lane.
  Value overVectors(int64_t array, double start, function_ref<Value(Value carried, Value v)> body) {
    return k.loop(k.word(0), k.word(place.vectors() * kVectorBytes), k.word(kVectorBytes),
                  k.splat(f32x16, start), [&](Value byte, ValueRange carried) {
                    return Values{body(carried[0], k.load(f32x16, scratch(array, byte), 64))};
                  })[0];
  }

  /// Returns sqrt(ln(1 + e^x)). For z = e^-|x|, ln(1 + z) is 2 atanh(z / (2 + z)). The argument of atanh is at most
  /// 1/3.
  Value sqrtSoftplus(Value x) {
    Value zero = k.splat(f32x16, 0), size = math::AbsFOp::create(k.b, x);
    Value z = emitExp(k.b, k.fsub(zero, size));
    Value s = k.fdiv(z, k.fadd(z, k.splat(f32x16, 2))), square = k.fmul(s, s);
    Value sum = k.splat(f32x16, 1.0 / 15);
    for (int term : {13, 11, 9, 7, 5, 3, 1})
      sum = k.fma(sum, square, k.splat(f32x16, 1.0 / term));
    Value log = k.fmul(k.fmul(s, k.splat(f32x16, 2)), sum);
    return math::SqrtOp::create(k.b, k.fadd(k.fmax(x, zero), log));
  }

  void emitScores(Value token) {
    Value logits =
        k.at(k.operand(op.getLogits()), k.mul(token, op.getLogits().getType().rowBytes()));
    const bool softmax = op.getScore() == RouteScore::Softmax;
    forEachVector([&](Value byte, Value exists) {
      Value x = k.load(f32x16, k.at(logits, byte), 64);
      if (op.getScore() == RouteScore::Sigmoid) {
        Value one = k.splat(f32x16, 1);
        x = k.fdiv(one, k.fadd(one, emitExp(k.b, k.fsub(k.splat(f32x16, 0), x))));
      } else if (op.getScore() == RouteScore::SqrtSoftplus) {
        x = sqrtSoftplus(x);
      }
      k.store(whereExists(exists, x, softmax ? kOut : 0), scratch(place.scores, byte), 64);
    });
    if (!softmax)
      return;
    Value most =
        k.broadcast(f32x16, k.maxLanes(overVectors(place.scores, kLowest, [&](Value a, Value v) {
          return k.fmax(v, a);
        })));
    Value sum = overVectors(place.scores, 0, [&](Value a, Value v) {
      return k.fadd(a, emitExp(k.b, k.fsub(v, most)));
    });
    Value total = k.broadcast(f32x16, k.sumLanes(sum));
    forEachVector([&](Value byte, Value) {
      Value at = scratch(place.scores, byte);
      k.store(k.fdiv(emitExp(k.b, k.fsub(k.load(f32x16, at, 64), most)), total), at, 64);
    });
  }

  void emitRanks() {
    forEachVector([&](Value byte, Value exists) {
      Value rank = k.load(f32x16, scratch(place.scores, byte), 64);
      if (op.getBias())
        rank = k.fadd(rank, k.load(f32x16, k.at(k.operand(op.getBias()), byte), 64));
      rank = k.fmax(rank, k.splat(f32x16, kLowest)); // replaces NaN as well
      k.store(whereExists(exists, rank, kOut), scratch(place.ranks, byte), 64);
    });
  }

  /// Sets the ranks of experts to kOut if their groups are not among the best.
  void emitGroups() {
    const int64_t groups = op.getGroups(), size = place.experts / groups;
    Value lowest = k.splat(k.f32, kLowest), out = k.splat(k.f32, kOut);
    k.loop(0, groups, 1, [&](Value group) {
      Value first = element(place.ranks, k.mul(group, size));
      Values best = k.loop(k.word(0), k.word(size * 4), k.word(4), {out, out},
                           [&](Value byte, ValueRange carried) {
                             Value v = k.load(k.f32, k.at(first, byte));
                             Value largest = k.fmax(v, carried[0]);
                             Value other = k.select(greater(v, carried[0]), carried[0], v);
                             return Values{largest, k.fmax(other, carried[1])};
                           });
      Value rank = op.getGroupScore() == lm::GroupScore::Max
                       ? best[0]
                       : k.fmax(k.fadd(best[0], best[1]), lowest);
      k.store(rank, element(place.groups, group));
    });
    // The ranks of the best groups are set to infinity, one after another. Experts of other groups get kOut.
    Value taken = k.splat(k.f32, -kOut);
    k.loop(0, int64_t(op.getUsedGroups()), 1, [&](Value) {
      Values best =
          k.loop(k.word(0), k.word(groups), k.word(1), {k.word(0), out},
                 [&](Value group, ValueRange carried) {
                   Value v = k.load(k.f32, element(place.groups, group));
                   v = k.select(greater(taken, v), v, out);
                   Value more = greater(v, carried[1]);
                   return Values{k.select(more, group, carried[0]), k.select(more, v, carried[1])};
                 });
      k.store(taken, element(place.groups, best[0]));
    });
    k.loop(0, groups, 1, [&](Value group) {
      k.when(greater(taken, k.load(k.f32, element(place.groups, group))), [&] {
        k.loop(k.word(0), k.word(size), k.word(1),
               [&](Value i) { k.store(out, element(place.ranks, k.add(k.mul(group, size), i))); });
      });
    });
  }

  Value greater(Value a, Value c) {
    return arith::CmpFOp::create(k.b, arith::CmpFPredicate::OGT, a, c);
  }

  /// Returns the expert with the largest rank, the lowest-numbered if several are equal.
  Value best() {
    Value none = k.splatInt(i32x16, std::numeric_limits<int32_t>::max());
    Values found =
        k.loop(k.word(0), k.word(place.vectors()), k.word(1), {k.splat(f32x16, kOut), none},
               [&](Value vector, ValueRange carried) {
                 Value v = k.load(f32x16, scratch(place.ranks, k.mul(vector, kVectorBytes)), 64);
                 Value first = k.broadcast(i32x16, k.narrow(k.mul(vector, kRowLanes), k.i32));
                 Value more = greater(v, carried[0]);
                 return Values{k.select(more, v, carried[0]),
                               k.select(more, k.add(laneNumbers, first), carried[1])};
               });
    Value most = k.broadcast(f32x16, k.maxLanes(found[0]));
    Value equal = arith::CmpFOp::create(k.b, arith::CmpFPredicate::OEQ, found[0], most);
    Value numbers = k.select(equal, found[1], none);
    Value zero = k.splatInt(i32x16, 0);
    Value least = k.sub(k.integer(k.i32, 0), k.maxLanesSigned(k.sub(zero, numbers)));
    return k.widen(least, k.i64);
  }

  /// Writes the chosen experts, in ascending order, to the token's pairs.
  void emitChoice(Value token) {
    k.loop(0, used, 1, [&](Value i) {
      Value expert = best();
      k.store(k.splat(k.f32, kOut), element(place.ranks, expert));
      k.store(k.narrow(expert, k.i32), element(place.chosen, i));
    });
    Value beyond = k.word(place.experts);
    (void)k.loop(k.word(0), k.word(used), k.word(1), k.word(-1), [&](Value i, ValueRange last) {
      Values next =
          k.loop(k.word(0), k.word(used), k.word(1), beyond, [&](Value j, ValueRange least) {
            Value one = RoutesView::wordAt(k, k.at(k.scratch, place.chosen), j);
            Value later = k.select(k.less(last[0], one), one, beyond);
            return Values{k.minSigned(later, least[0])};
          });
      k.store(k.narrow(next[0], k.i32), k.at(view.expert, k.mul(pair(token, i), 4)));
      return next;
    });
  }

  Value pair(Value token, Value i) { return k.add(k.mul(token, used), i); }
  Value weightAt(Value token, Value i) { return k.at(view.weight, k.mul(pair(token, i), 4)); }
  /// Reduces the weights of the token's pairs, in order.
  Value overPairs(Value token, double start, function_ref<Value(Value carried, Value w)> body) {
    return k.loop(k.word(0), k.word(used), k.word(1), k.splat(k.f32, start),
                  [&](Value i, ValueRange carried) {
                    return Values{body(carried[0], k.load(k.f32, weightAt(token, i)))};
                  })[0];
  }
  void eachWeight(Value token, function_ref<Value(Value w, Value expert)> body) {
    k.loop(0, used, 1, [&](Value i) {
      Value at = weightAt(token, i);
      k.store(body(k.load(k.f32, at), RoutesView::wordAt(k, view.expert, pair(token, i))), at);
    });
  }

  void emitWeights(Value token) {
    k.loop(0, used, 1, [&](Value i) {
      Value expert = RoutesView::wordAt(k, view.expert, pair(token, i));
      k.store(k.load(k.f32, element(place.scores, expert)), weightAt(token, i));
    });
    Value divisor;
    if (op.getNormalize() == RouteNorm::Softmax) {
      Value most = overPairs(token, kLowest, [&](Value a, Value w) { return k.fmax(w, a); });
      eachWeight(token, [&](Value w, Value) { return emitExp(k.b, k.fsub(w, most)); });
    }
    if (op.getNormalize() != RouteNorm::None)
      divisor = overPairs(token, 0, [&](Value a, Value w) { return k.fadd(a, w); });
    if (op.getNormalize() == RouteNorm::Sum)
      divisor = k.fmax(k.fadd(divisor, constant(op.getNormEps())), constant(op.getNormFloor()));
    eachWeight(token, [&](Value w, Value expert) {
      if (divisor)
        w = k.fdiv(w, divisor);
      w = k.fmul(w, constant(op.getScale()));
      return op.getExpertScale()
                 ? k.fmul(w, k.load(k.f32, k.at(k.operand(op.getExpertScale()), k.mul(expert, 4))))
                 : w;
    });
  }
  Value constant(const APFloat &v) { return k.splat(k.f32, v.convertToFloat()); }

  KernelBuilder &k;
  kernel::RouteOp op;
  const RouteScratch place;
  const int64_t used;
  VectorType f32x16, i32x16;
  RoutesView view;
  Value laneNumbers;
};

} // namespace

LogicalResult ingot::codegen::cpu::emitRoute(KernelBuilder &k, kernel::RouteOp op) {
  RouteEmitter(k, op).emit();
  return success();
}
int64_t ingot::codegen::cpu::routeScratchBytes(kernel::RouteOp op) {
  return RouteScratch(op).bytes;
}

LogicalResult ingot::codegen::cpu::emitGroupRoutes(KernelBuilder &k, kernel::GroupRoutesOp op) {
  const kernel::RoutesType type = op.getRoutes().getType();
  const int64_t used = type.getUsed();
  k.forEachItem([&](Value) {
    RoutesView view(k, k.operand(op.getRoutes()), used);
    Value tokens = k.extent(kernel::Extent::Tokens);
    auto next = [&](Value expert) { return k.at(k.scratch, k.mul(expert, 4)); };
    Value zero = k.integer(k.i32, 0), one = k.integer(k.i32, 1);
    k.loop(0, type.getExperts(), 1, [&](Value expert) { k.store(zero, next(expert)); });
    k.loop(k.word(0), k.mul(tokens, used), k.word(1), [&](Value pair) {
      Value at = next(RoutesView::wordAt(k, view.expert, pair));
      k.store(k.add(k.load(k.i32, at), one), at);
    });
    // Replaces each expert's row count by the index of its first row.
    KernelBuilder::Values ends =
        k.loop(k.word(0), k.word(type.getExperts()), k.word(1), {zero, k.word(0)},
               [&](Value expert, ValueRange carried) {
                 Value first = carried[0], segments = carried[1];
                 Value end = k.add(first, k.load(k.i32, next(expert)));
                 k.store(first, next(expert));
                 Value to = k.at(view.segments, k.mul(segments, sizeof(RouteSegment)));
                 Value some = k.less(first, end);
                 k.when(some, [&] {
                   k.store(k.narrow(expert, k.i32), k.at(to, offsetof(RouteSegment, expert)));
                   k.store(first, k.at(to, offsetof(RouteSegment, first)));
                   k.store(end, k.at(to, offsetof(RouteSegment, end)));
                 });
                 return KernelBuilder::Values{end, k.select(some, k.add(segments, 1), segments)};
               });
    k.store(k.narrow(ends[1], k.i32), view.count);
    k.loop(k.word(0), tokens, k.word(1), [&](Value token) {
      k.loop(0, used, 1, [&](Value i) {
        Value pair = k.add(k.mul(token, used), i);
        Value at = next(RoutesView::wordAt(k, view.expert, pair)), row = k.load(k.i32, at);
        k.store(k.add(row, one), at);
        k.store(row, k.at(view.row, k.mul(pair, 4)));
        k.store(k.narrow(token, k.i32), k.at(view.token, k.mul(k.widen(row, k.i64), 4)));
      });
    });
  });
  return success();
}
int64_t ingot::codegen::cpu::groupRoutesScratchBytes(kernel::GroupRoutesOp op) {
  return roundUp(op.getRoutes().getType().getExperts() * 4, 64);
}

LogicalResult ingot::codegen::cpu::emitCombine(KernelBuilder &k, kernel::CombineOp op) {
  const int64_t used = op.getRoutes().getType().getUsed(),
                rowBytes = op.getOutput().getType().rowBytes();
  VectorType f32x16 = k.vec(k.f32, kRowLanes);
  RoutesView view(k, k.operand(op.getRoutes()), used);
  k.forEachItem([&](Value token) {
    SmallVector<std::pair<Value, Value>> rows; // address, weight
    for (int64_t i = 0; i < used; ++i) {
      Value pair = k.add(k.mul(token, used), i);
      rows.emplace_back(
          k.at(k.operand(op.getX()), k.mul(RoutesView::wordAt(k, view.row, pair), rowBytes)),
          k.loadSplat(f32x16, k.at(view.weight, k.mul(pair, 4))));
    }
    Value to = k.at(k.operand(op.getOutput()), k.mul(token, rowBytes));
    k.loop(0, rowBytes, kVectorBytes, [&](Value byte) {
      Value sum = k.splat(f32x16, 0);
      for (auto [row, weight] : rows)
        sum = k.fma(weight, k.load(f32x16, k.at(row, byte), 64), sum);
      k.store(sum, k.at(to, byte), 64);
    });
  });
  return success();
}
