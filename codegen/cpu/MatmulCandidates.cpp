//===- MatmulCandidates.cpp - See MatmulCandidates.h ----------------------===//
#include "codegen/cpu/MatmulCandidates.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

// Scratch: i64 credit; for each row, f32 most (NaN: none yet) and i32 the same in integer order;
// for each row, f32 r[groups].
static constexpr int64_t kMosts = 64, kSlacks = kMosts + kGreedyRows * 8;
/// Initial credit for each row after the first. Tokens survive in the first panels, which uses up some of it.
static constexpr int64_t kCredit = 64;

static int64_t slackBytes(const Q8Row &row) { return row.groups * 4; }

/// Returns the largest magnitude of a code, times the largest sub-scale if dots include sub-scales.
static double largestCode(const NumericFormat &format) {
  int code = std::max(format.zeroPoint, format.largest() - format.zeroPoint);
  return code * (format.group == 16 ? 128.0 : 1.0);
}

bool CandidateFilter::applies(kernel::MatmulOp op) {
  // Values can be skipped only if nothing stores them.
  if (op.getFused().size() != 1 || !op.getFused()[0].hasOneUse() ||
      !kernel::consumerOf<kernel::ArgmaxOp>(op.getFused()[0]) ||
      op.xType().getKind() != kernel::RowKind::Q8x2)
    return false;
  auto weight = cast<lm::WeightType>(op.getWeights().front().getType());
  Block &epilogue = op.getEpilogues().front().front();
  return weight.numeric().zeroPoint && !weight.numeric().floatSubScales &&
         epilogue.getTerminator()->getOperands() == ValueRange(epilogue.getArguments());
}

int64_t CandidateFilter::scratchBytes(kernel::MatmulOp op) {
  return applies(op) ? kSlacks + kGreedyRows * slackBytes(q8Row(op.xType().getN())) : 0;
}

CandidateFilter::CandidateFilter(KernelBuilder &k, const PanelLayout &layout, Value scratch)
    : k(k), layout(layout), q8(q8Row(layout.k)), scratch(scratch) {}

Value CandidateFilter::mostAt(Value row) { return k.at(k.at(scratch, kMosts), k.mul(row, 8)); }
Value CandidateFilter::slackAt(Value row) {
  return k.at(k.at(scratch, kSlacks), k.mul(row, slackBytes(q8)));
}

void CandidateFilter::start(Value x, Value rows) {
  const double code = largestCode(numericFormat(layout.format));
  const double rounding = (4 * double(q8.groups) + 8) * 0x1p-23;
  auto number = [&](double v) { return k.splat(k.f32, v); };
  auto inOrder = [&](Value a, Value c) -> Value {
    return arith::CmpFOp::create(k.b, arith::CmpFPredicate::OLE, a, c);
  };
  k.store(k.mul(k.sub(rows, 1), kCredit), scratch);
  k.loop(k.word(0), rows, k.word(1), [&](Value row) {
    Value planes = k.at(x, k.mul(row, 2 * q8.bytes)), slacks = slackAt(row);
    k.store(number(std::numeric_limits<double>::quiet_NaN()), mostAt(row));
    k.store(k.integer(k.i32, std::numeric_limits<int32_t>::min()), k.at(mostAt(row), 4));
    k.loop(k.word(0), k.word(q8.groups), k.word(1), [&](Value g) {
      auto magnitudes = [&](Value plane) {
        VectorType bytes = k.vec(k.i8, kGroupK);
        Value codes = k.load(bytes, k.at(plane, k.mul(g, kGroupK)), kGroupK);
        Value sums = k.intrinsic("llvm.x86.avx2.psad.bw", k.vec(k.i64, 4),
                                 {math::AbsIOp::create(k.b, codes), k.splatInt(bytes, 0)});
        return k.toFloat(k.narrow(k.sumLanes(sums), k.i32));
      };
      Value rest = k.fmul(magnitudes(k.at(planes, q8.bytes)), number(0x1p-8));
      Value slack = k.fma(k.fadd(magnitudes(planes), rest), number(rounding), rest);
      Value scale = k.load(k.f32, k.at(k.at(planes, q8.scaleOffset), k.mul(g, 4)));
      Value fits = k.select(inOrder(number(0x1p-60), scale), inOrder(scale, number(0x1p64)),
                            inOrder(scale, number(0)));
      slack = k.select(fits, k.fmul(slack, number(code)),
                       number(std::numeric_limits<double>::infinity()));
      k.store(slack, k.at(slacks, k.mul(g, 4)));
    });
  });
}

Value CandidateFilter::asked() { return k.less(k.word(0), k.load(k.i64, scratch)); }

/// Returns an i64 in which bit t is set if token t could win with its bound in `sums`.
Value CandidateFilter::survivors(ArrayRef<Value> sums, int tokens, Value row) {
  size_t vectors = sums.size() / size_t(tokens);
  Value mask = k.word(0);
  for (int t = 0; t < tokens; ++t) {
    Value most = k.loadSplat(k.f32s, mostAt(k.add(row, t))), lanes;
    for (Value sum : sums.slice(t * vectors, vectors)) {
      Value more = arith::CmpFOp::create(k.b, arith::CmpFPredicate::UGT, sum, most);
      lanes = lanes ? arith::OrIOp::create(k.b, lanes, more) : more;
    }
    Value any = k.intrinsic("llvm.vector.reduce.or", k.b.getI1Type(), lanes);
    mask = k.add(mask, k.shiftLeft(k.widenUnsigned(any, k.i64), t));
  }
  return mask;
}

void CandidateFilter::forSurvivors(const Tile &tile, Value row,
                                   function_ref<void(Tile &one, Value row)> finish) {
  Tile bound = tile;
  bound.planes = 1, bound.slack = slackAt(row), bound.slackBytes = slackBytes(q8);
  Value mask = survivors(emitFastLoop(k, bound, layout), tile.tokens, row);
  Value spent = k.mul(math::CtPopOp::create(k.b, mask), 3);
  k.store(k.add(k.load(k.i64, scratch), k.sub(k.word(tile.tokens), spent)), scratch);
  Value none = k.equal(mask, k.word(0));
  k.loop(k.word(0), k.select(none, k.word(0), k.word(tile.tokens)), k.word(1), [&](Value t) {
    Value bit = k.bitAnd(arith::ShRUIOp::create(k.b, mask, t), 1);
    k.when(k.equal(bit, k.word(1)), [&] {
      Tile one = tile;
      one.tokens = 1, one.x = k.at(tile.x, k.mul(t, tile.xRowBytes));
      one.prefetch = 0, one.next = Value(); // the first pass has prefetched
      finish(one, k.add(row, t));
    });
  });
}

void CandidateFilter::raise(Value largest, Value row) {
  Value most = mostAt(row), at = k.at(most, 4);
  Value order = k.maxSigned(largest, k.load(k.i32, at));
  k.store(order, at);
  // Back to f32; the least integer, which stands for NaN, becomes NaN.
  Value sign = arith::ShRSIOp::create(k.b, order, k.integer(k.i32, 31));
  Value bits = arith::XOrIOp::create(k.b, order, k.bitAnd(sign, 0x7fffffff));
  k.store(k.bitcast(k.f32, bits), most);
}
