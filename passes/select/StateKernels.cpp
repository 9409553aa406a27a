//===- StateKernels.cpp - Kernels that read or write states ------------------===//
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/CausalConv.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/CausalConv.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Norm.h"
#include "passes/select/HeadChain.h"
#include "passes/select/KernelSelection.h"

using namespace mlir;
using namespace ingot;

Value KernelSelection::tableFor(lm::RopeOp rope) {
  for (auto [other, table] : tables)
    if (other.getFrequencies() == rope.getFrequencies() &&
        other.getAttentionFactor() == rope.getAttentionFactor())
      return table;
  const Location location = block.getParentOp()->getParentOp()->getLoc();
  auto b = ImplicitLocOpBuilder::atBlockBegin(location, &block);
  lm::WeightType frequencies = rope.getFrequencies().getType();
  auto rows = RankedTensorType::get({ShapedType::kDynamic, 2 * frequencies.rows()}, b.getF32Type());
  auto op = kernel::DispatchOp::create(b, TypeRange(rows), "rope_table", rope.getFrequencies(),
                                       "rope", ArrayRef<int64_t>{-1});
  Block *body = b.createBlock(&op.getBody(), {}, {frequencies, rowsOf(rows)}, {location, location});
  kernel::RopeTableOp::create(b, body->getArgument(0), body->getArgument(1),
                              rope.getAttentionFactorAttr());
  made.push_back(op);
  return tables.emplace_back(rope, op.getResult(0)).second;
}

LogicalResult KernelSelection::selectRopeAppend(Operation *top, ArrayRef<Operation *> ops) {
  auto append = cast<lm::KvAppendOp>(*llvm::find_if(ops, llvm::IsaPred<lm::KvAppendOp>));
  llvm::SmallPtrSet<Operation *, 8> within(ops.begin(), ops.end());
  auto isWithin = [&](Operation *op, Operation *) { return within.contains(op); };
  HeadChain k(append.getK(), append, isWithin);
  Value qOutside, qInside;
  for (OpResult result : top->getResults())
    if (isa<RankedTensorType>(result.getType()))
      qInside = inside(result), qOutside = result;
  if (!qInside) { // neither norm nor rotation: attention reads q unchanged
    for (Operation *user : top->getUsers())
      if (auto attention = dyn_cast<lm::AttentionOp>(user))
        qInside = qOutside = attention.getQ();
    if (!qInside)
      return append.emitOpError("expects an attention to read the appended state");
  }
  HeadChain q(qInside, top, isWithin);
  if (q.norm && k.norm &&
      (q.norm.getEps() != k.norm.getEps() || q.norm.getWeightOffset() != k.norm.getWeightOffset() ||
       q.norm.isCentred() != k.norm.isCentred() || q.normAfter != k.normAfter))
    return append.emitOpError("expects norms with the same kind, epsilon, weight offset and place");

  const int64_t headDim = cast<kernel::KvPoolType>(memoryOf(append.getKv())).getHeadDim();
  SmallVector<Value> operands{q.start, k.start, append.getV()};
  if (k.rope)
    operands.push_back(tableFor(k.rope));
  for (Value vector : {q.norm ? q.norm.getWeight() : Value(), k.norm ? k.norm.getWeight() : Value(),
                       q.temperature ? q.temperature.getFactors() : Value()})
    if (vector)
      operands.push_back(vector);
  operands.push_back(append.getKv());
  const int64_t pool = operands.size() - 1;
  OpResult state = *llvm::find_if(
      top->getResults(), [](Value result) { return isa<lm::StateType>(result.getType()); });
  dispatch("rope_append", "rope_append", operands, {Result(state, pool), Result(qOutside, 0)},
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange) {
             size_t at = 3;
             Value table = k.rope ? in[at++] : Value(), qNorm = q.norm ? in[at++] : Value(),
                   kNorm = k.norm ? in[at++] : Value(),
                   temperature = q.temperature ? in[at++] : Value();
             lm::NormInterface norm = q.norm ? q.norm : k.norm;
             kernel::RopeAppendOp::create(
                 b, /*rotated=*/Type(), in[0], in[1], in[2], table, qNorm, kNorm, temperature,
                 in[pool], lm::widthOf(q.start) / headDim,
                 k.rope ? k.rope.getStyle() : lm::RopeStyle::Half,
                 norm ? norm.getEps() : APFloat(0.0f),
                 norm ? norm.getWeightOffset() : APFloat(0.0f), q.normAfter || k.normAfter,
                 norm && norm.isCentred(), q.temperature ? q.temperature.getPeriod() : 1);
           });
  return success();
}

LogicalResult KernelSelection::selectAttention(Operation *top, lm::AttentionOp op) {
  if (isa<BlockArgument>(op.getKv()))
    return op.emitOpError("expects keys to be appended before it");
  SmallVector<Value> operands{op.getQ(), op.getKv()};
  if (op.getSinks())
    operands.push_back(op.getSinks());
  dispatch("attention", "attention", operands, Result(top->getResult(0)),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::AttentionOp::create(b, in[0], in[1], out[0], op.getSinks() ? in[2] : Value(),
                                         /*workspace=*/Value(), op.getHeadsAttr(),
                                         op.getScaleAttr(), op.getWindowAttr(),
                                         op.getSoftcapAttr());
           });
  return success();
}

LogicalResult KernelSelection::selectCausalConv(lm::CausalConvOp op) {
  SmallVector<Value> operands{op.getX(), op.getWeight()};
  if (op.getBias())
    operands.push_back(op.getBias());
  operands.push_back(op.getBefore());
  const int64_t state = operands.size() - 1;
  dispatch("conv", "conv", operands, {Result(op.getResult()), Result(op.getAfter(), state)},
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::CausalConvOp::create(b, in[0], in[1], op.getBias() ? in[2] : Value(),
                                          in[state], out[0]);
           });
  return success();
}
