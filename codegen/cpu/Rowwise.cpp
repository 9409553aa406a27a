//===- Rowwise.cpp - kernel.rowwise: elementwise rows with statistics -----===//
//
// The kernel passes over a row once for each kernel.row_stat and once more to store:
//
//   pass 1   sum += x*x          16 partial sums: lane j takes elements j, j+16, …
//   (once)   inv = 1/sqrt(mean)  values that depend on statistics only are scalars
//   pass 2   y = x * inv * w     stored, 32 elements at a time
//
// Values that a pass needs from earlier passes are computed again: the row is in L1, and
// an output may be one of the inputs, so nothing is stored before the last pass.
// Vectors have 16 lanes at every level (AVX2 takes two registers), so sums have the same bits at all levels. Padding of
// a row (PanelLayout.h) is read, left out of the sums and written as 0. Padding of `columns` is read as well: it is 0,
// the index of an existing element.
//===----------------------------------------------------------------------===//
#include "codegen/RegionWalker.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/RoutesView.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

class RowwiseEmitter {
public:
  RowwiseEmitter(KernelBuilder &k, kernel::RowwiseOp op)
      : k(k), op(op), body(op.getBody().front()), f32x16(k.vec(k.f32, kRowLanes)),
        n(cast<ActivationType>(op.getOutputs().front().getType()).getN()) {
    for (Operation &inner : body.without_terminator())
      if (isa<kernel::RowStatOp>(inner) ||
          llvm::all_of(inner.getOperands(), [&](Value v) { return uniform.contains(v); }))
        uniform.insert_range(inner.getResults());
  }

  void emit() {
    std::optional<RoutesView> routes;
    if (op.getRoutes())
      routes.emplace(k, k.operand(op.getRoutes()), op.getRowsOfToken());
    k.forEachItem([&](Value item) {
      if (op.getColumns())
        columns = k.operand(op.getColumns());
      Value row = item;
      if (op.ordersByExpert()) { // the item is a pair of a token and an expert
        row = RoutesView::wordAt(k, routes->row, item);
        columns = k.at(columns, k.mul(RoutesView::wordAt(k, routes->expert, item),
                                      orderStride(n) * int64_t(sizeof(float))));
      }
      Value source = row;
      if (op.getGather()) {
        Value tokens = k.batchPointer(offsetof(BatchView, rowTokens));
        source = k.widen(k.load(k.i32, k.at(tokens, k.mul(item, 4))), k.i64);
      } else if (op.dispatches()) {
        source = RoutesView::wordAt(k, routes->token, row);
      }
      inputs.clear(), outputs.clear(), scalars.clear();
      for (Value v : op.getInputs())
        inputs.push_back(rowOf(v, source));
      for (Value v : op.getOutputs())
        outputs.push_back(rowOf(v, row));
      emitStatistics();
      emitStores();
    });
  }

private:
  using Values = KernelBuilder::Values;

  /// Returns the start of a row, or of a vector, which all rows share.
  Value rowOf(Value memory, Value row) {
    auto rows = dyn_cast<ActivationType>(memory.getType());
    return rows ? k.at(k.operand(memory), k.mul(row, rows.rowBytes())) : k.operand(memory);
  }

  /// Returns whether an argument has rows of one value.
  bool isOneValue(BlockArgument argument) {
    auto rows = dyn_cast<ActivationType>(op.getInputs()[argument.getArgNumber()].getType());
    return rows && rows.getN() == 1 && n != 1;
  }

  /// Loads elements byte/4 … byte/4+15 of an input.
  Value loadSixteen(BlockArgument argument, Value byte) {
    Value row = inputs[argument.getArgNumber()];
    if (isOneValue(argument))
      return k.loadSplat(f32x16, row);
    if (!columns)
      return k.load(f32x16, k.at(row, byte), kRowLanes * 4);
    Value places = k.load(f32x16, k.at(columns, byte), kRowLanes * 4);
    return k.gather(f32x16, row, arith::FPToSIOp::create(k.b, k.vec(k.i32, kRowLanes), places));
  }

  /// Emits row statistics and the values that depend on them alone, in order.
  void emitStatistics() {
    for (Operation &inner : body.without_terminator()) {
      if (auto stat = dyn_cast<kernel::RowStatOp>(inner)) {
        Value mean = emitMean(stat.getValue());
        scalars.map(stat.getResult(), mean);
      } else if (inner.getNumResults() && uniform.contains(inner.getResult(0))) {
        k.b.clone(inner, scalars);
      }
    }
  }

  Value emitMean(Value value) {
    int64_t full = n / kRowLanes;
    Values sum{k.splat(f32x16, 0)};
    if (full)
      sum = k.loop(k.word(0), k.word(full * kRowLanes * 4), k.word(kRowLanes * 4), sum,
                   [&](Value byte, ValueRange sums) {
                     return Values{k.fadd(sums[0], Sixteen(*this, byte)(value))};
                   });
    if (n % kRowLanes) {
      Value tail = Sixteen(*this, k.word(full * kRowLanes * 4))(value);
      sum[0] = k.fadd(sum[0], firstLanes(k, tail, n % kRowLanes));
    }
    return k.fdiv(k.sumLanes(sum[0]), k.splat(k.f32, double(n)));
  }

  void emitStores() {
    int64_t full = n / kGroupK;
    if (full)
      k.loop(0, full, 1, [&](Value group) { emitGroup(group, kGroupK); });
    if (n % kGroupK)
      emitGroup(k.word(full), n % kGroupK);
  }

  /// Emits 32 elements of every output, of which the first `valid` exist. All inputs are read
  /// before anything is stored.
  void emitGroup(Value group, int64_t valid) {
    SmallVector<Values> results(outputs.size());
    for (int64_t from = 0; from < kGroupK; from += kRowLanes) {
      Sixteen sixteen(*this, k.add(k.mul(group, kGroupK * 4), from * 4));
      for (auto [result, yielded] : llvm::zip(results, body.getTerminator()->getOperands()))
        result.push_back(valid <= from ? k.splat(f32x16, 0)
                                       : firstLanes(k, sixteen(yielded), valid - from));
    }
    for (auto [memory, row, result] : llvm::zip(op.getOutputs(), outputs, results)) {
      auto type = cast<ActivationType>(memory.getType());
      if (type.getKind() != RowKind::F32) {
        auto store = type.getKind() == RowKind::Q8x2 ? storeTwoPlanes : storeQuantizedGroup;
        store(k, registersOf(k, result), row, group, q8Row(n));
        continue;
      }
      Value to = k.at(row, k.mul(group, kGroupK * 4));
      for (auto [i, v] : llvm::enumerate(result))
        k.store(v, k.at(to, int64_t(i) * kRowLanes * 4), kRowLanes * 4);
    }
  }

  /// Computes values of the region for elements byte/4 … byte/4+15, on demand.
  class Sixteen {
  public:
    Sixteen(RowwiseEmitter &e, Value byte)
        : walker(
              "CPU",
              [&e](Operation *op, ArrayRef<Value> operands) {
                return e.k.elementwise(op, operands, kRowLanes);
              },
              [&e, byte](Value value) -> Value {
                if (auto argument = dyn_cast<BlockArgument>(value))
                  return e.loadSixteen(argument, byte);
                if (e.uniform.contains(value) && !value.getDefiningOp<arith::ConstantOp>())
                  return e.k.broadcast(e.k.vec(value.getType(), kRowLanes),
                                       e.scalars.lookup(value));
                return Value();
              }) {}
    Value operator()(Value value) {
      FailureOr<Value> form = walker(value);
      assert(succeeded(form) && "the verifier lets elementwise operations and statistics in");
      return *form;
    }

  private:
    RegionWalker<Value> walker;
  };

  KernelBuilder &k;
  kernel::RowwiseOp op;
  Block &body;
  VectorType f32x16;
  int64_t n;
  llvm::DenseSet<Value> uniform; ///< values of the region with one value per row
  IRMapping scalars;             ///< the emitted uniform values
  Values inputs, outputs;        ///< rows of this item
  Value columns;                 ///< address of the column permutation; null: not permuted
};

} // namespace

LogicalResult ingot::codegen::cpu::emitRowwise(KernelBuilder &k, kernel::RowwiseOp op) {
  if (op.getFused())
    return op.emitOpError("expects rows to write where it anchors a kernel");
  RowwiseEmitter(k, op).emit();
  return success();
}

int64_t ingot::codegen::cpu::rowwiseScratchBytes(kernel::RowwiseOp) { return 0; }
