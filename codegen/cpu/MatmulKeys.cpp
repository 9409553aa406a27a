//===- MatmulKeys.cpp - See MatmulKeys.h ----------------------------------===//
#include "codegen/cpu/MatmulKeys.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

static constexpr int64_t kBytesOfRow = 2 * kPanelRows * 4;
static constexpr int64_t kNothing = std::numeric_limits<int32_t>::min();

/// Returns the mask of lanes that are rows of the weight, not padding; null: all.
static Value exists(KernelBuilder &k, int64_t n, const TileRows &place, Value panel) {
  if (n % kPanelRows == 0)
    return Value();
  SmallVector<int32_t> lanes;
  for (int lane = 0; lane < k.lanes; ++lane)
    lanes.push_back(int32_t(place.row + lane));
  Value rows = k.constant(lanes);
  Value left = k.sub(k.word(n), k.mul(panel, kPanelRows));
  if (place.part)
    left = k.sub(left, place.part);
  return k.less(rows, k.broadcast(k.i32s, k.narrow(left, k.i32)));
}

int64_t MatmulKeys::scratchBytes(kernel::MatmulOp op) {
  const bool raises = llvm::any_of(op.getFused(), [](Value fusedValue) {
    return bool(kernel::consumerOf<kernel::ArgmaxOp>(fusedValue));
  });
  return raises ? kGreedyRows * kBytesOfRow : 0;
}

Value MatmulKeys::bestAt(Value row) { return k.at(scratch, k.mul(row, kBytesOfRow)); }
Value MatmulKeys::panelAt(Value row) { return k.at(bestAt(row), kPanelRows * 4); }

void MatmulKeys::start(Value rows) {
  k.loop(k.word(0), rows, k.word(1), [&](Value row) {
    for (int64_t lane = 0; lane < kPanelRows; lane += k.lanes) {
      k.store(k.splatInt(k.i32s, kNothing), k.at(bestAt(row), lane * 4), 4 * k.lanes);
      k.store(k.splatInt(k.i32s, 0), k.at(panelAt(row), lane * 4), 4 * k.lanes);
    }
  });
}

/// Maps f32 to integers of the same order: -0 becomes 0, NaN the smallest integer.
Value MatmulKeys::ordered(Value v) {
  Value bits = k.bitcast(k.i32s, k.fadd(v, k.splat(0)));
  Value sign = arith::ShRSIOp::create(k.b, bits, k.splatInt(k.i32s, 31));
  Value order = arith::XOrIOp::create(k.b, bits, k.bitAnd(sign, 0x7fffffff));
  Value number = arith::CmpFOp::create(k.b, arith::CmpFPredicate::ORD, v, v);
  return k.select(number, order, k.splatInt(k.i32s, kNothing));
}

Value MatmulKeys::fold(ArrayRef<Value> values, ArrayRef<TileRows> places, Value panel, Value row) {
  Value largest;
  Value panels = k.broadcast(k.i32s, k.narrow(panel, k.i32));
  for (auto [v, place] : llvm::zip_equal(values, places)) {
    Value at = place.at(k, bestAt(row), 4), panelsAt = place.at(k, panelAt(row), 4);
    Value value = ordered(v);
    if (Value real = exists(k, n, place, panel))
      value = k.select(real, value, k.splatInt(k.i32s, kNothing));
    largest = largest ? k.maxSigned(largest, value) : value;
    Value best = k.load(k.i32s, at, 4 * k.lanes), better = k.less(best, value);
    k.store(k.select(better, value, best), at, 4 * k.lanes);
    k.store(k.select(better, panels, k.load(k.i32s, panelsAt, 4 * k.lanes)), panelsAt, 4 * k.lanes);
  }
  return k.maxLanesSigned(largest);
}

void MatmulKeys::finish(Value rows) {
  k.loop(k.word(0), rows, k.word(1), [&](Value row) {
    auto field = [&](Value from, Value lane) { return k.load(k.i32, k.at(from, k.mul(lane, 4))); };
    Value best = bestAt(row), panels = panelAt(row);
    auto key =
        k.loop(k.word(0), k.word(kPanelRows), k.word(1), {k.word(0)},
               [&](Value lane, ValueRange carried) -> KernelBuilder::Values {
                 Value value =
                     arith::XOrIOp::create(k.b, field(best, lane), k.integer(k.i32, kNothing));
                 Value id = k.add(k.mul(k.widen(field(panels, lane), k.i64), kPanelRows), lane);
                 Value low = k.sub(k.word(0xffffffff), id); // ~id
                 Value made = k.add(k.shiftLeft(k.widenUnsigned(value, k.i64), 32), low);
                 return {arith::MaxUIOp::create(k.b, made, carried.front())};
               });
    LLVM::AtomicRMWOp::create(k.b, LLVM::AtomicBinOp::umax, k.at(keys, k.mul(row, 8)), key.front(),
                              LLVM::AtomicOrdering::monotonic, StringRef(), 8);
  });
}

void PanelMaxima::store(ArrayRef<Value> values, ArrayRef<TileRows> places, Value panel, Value row) {
  int64_t rowBytes = f32RowBytes(llvm::divideCeil(n, kPanelRows));
  Value to = k.at(k.at(maxima, k.mul(row, rowBytes)), k.mul(panel, 4));
  Value none = k.splat(-std::numeric_limits<double>::infinity()), most = none;
  for (auto [v, place] : llvm::zip_equal(values, places)) {
    Value real = exists(k, n, place, panel);
    most = k.fmax(real ? k.select(real, v, none) : v, most); // this operand order ignores NaN
  }
  Value largest = k.maxLanes(most);
  if (Value part = places.front().part) // include the maximum of the panel's earlier parts
    largest =
        k.fmax(largest, k.select(k.equal(part, k.word(0)), k.lane(none, 0), k.load(k.f32, to)));
  k.store(largest, to);
}
