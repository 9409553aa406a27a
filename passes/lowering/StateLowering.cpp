//===- StateLowering.cpp - Launches that read or write states -------------===//
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/CausalConv.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/CausalConv.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Norm.h"
#include "passes/lowering/SectionLowering.h"

using namespace mlir;
using namespace ingot;

LaunchOperand SectionLowering::stateOperand(Value value) {
  BlockArgument argument = lm::stateArgumentOf(value);
  lm::StateType type = cast<lm::StateType>(value.getType());
  Type memory;
  if (lm::FixedAttr fixed = type.fixed()) {
    memory = kernel::FixedStateType::get(type.getContext(), fixed);
  } else {
    lm::StreamAttr keys = type.paged().getStreams().front();
    StringAttr element = cast<lm::LayerKindOp>(argument.getOwner()->getParentOp())
                             .elementOf(argument.getArgNumber() - 1);
    memory =
        kernel::KvPoolType::get(type.getContext(), keys.getRows(), keys.getWidth(),
                                element ? *kvFormatNamed(element.getValue()) : program.choices.kv);
  }
  program.stateUses[argument].memory = memory;
  return {memory, plan::StateRefAttr::get(type.getContext(), argument.getArgNumber() - 1)};
}

LogicalResult SectionLowering::lowerRopeAppend(Operation *top, ArrayRef<Operation *> ops) {
  auto append = cast<lm::KvAppendOp>(*llvm::find_if(ops, llvm::IsaPred<lm::KvAppendOp>));
  llvm::SmallPtrSet<Operation *, 8> within(ops.begin(), ops.end());
  // Follow the chain of keys from the append, and that of queries from the region's other result.
  struct Chain {
    Value start;
    lm::ScaleByPositionOp temperature = {};
    lm::RopeOp rope = {};
    lm::NormInterface norm = {};
    bool normAfter = false; ///< after the rotation
  };
  auto follow = [&](Value value) {
    Chain chain{value};
    auto take = [&]<typename Op>(Op &to) {
      auto op = chain.start.getDefiningOp<Op>();
      if (!op || !within.contains(op))
        return;
      to = op;
      chain.start = op.getX();
    };
    take(chain.temperature);
    take(chain.norm);
    take(chain.rope);
    chain.normAfter = chain.norm && chain.rope;
    if (!chain.norm)
      take(chain.norm);
    return chain;
  };
  Chain k = follow(append.getK());
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
  Chain q = follow(qInside);
  if (q.norm && k.norm &&
      (q.norm.getEps() != k.norm.getEps() || q.norm.getWeightOffset() != k.norm.getWeightOffset() ||
       q.norm.isCentred() != k.norm.isCentred() || q.normAfter != k.normAfter))
    return append.emitOpError("expects norms with the same kind, epsilon, weight offset and place");

  LaunchOperand pool = stateOperand(append.getKv());
  int64_t headDim = cast<kernel::KvPoolType>(pool.type).getHeadDim();
  const ProgramBuilder::Table *table = k.rope ? program.tableFor(k.rope) : nullptr;

  // q is written in place, so the unrotated rows must have no later consumer; the order of ops rules them
  // out.
  if (qOutside != q.start && !diesAt(q.start, top))
    return append.emitOpError("expects the queries before rotation to have no later consumer");
  SmallVector<LaunchOperand> operands{operand(q.start), operand(k.start), operand(append.getV())};
  if (table)
    operands.push_back(table->rows);
  if (q.norm)
    operands.push_back(operand(q.norm.getWeight()));
  if (k.norm)
    operands.push_back(operand(k.norm.getWeight()));
  if (q.temperature)
    operands.push_back(operand(q.temperature.getFactors()));
  operands.push_back(pool);
  launch("rope_append", operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    size_t at = 3;
    Value tableArg = table ? args[at++] : Value(), qNorm = q.norm ? args[at++] : Value(),
          kNorm = k.norm ? args[at++] : Value(), temperature = q.temperature ? args[at++] : Value();
    lm::NormInterface norm = q.norm ? q.norm : k.norm;
    kernel::RopeAppendOp::create(
        b, /*rotated=*/Type(), args[0], args[1], args[2], tableArg, qNorm, kNorm, temperature,
        args[at], lm::widthOf(q.start) / headDim, k.rope ? k.rope.getStyle() : lm::RopeStyle::Half,
        norm ? norm.getEps() : APFloat(0.0f), norm ? norm.getWeightOffset() : APFloat(0.0f),
        q.normAfter || k.normAfter, norm && norm.isCentred(),
        q.temperature ? q.temperature.getPeriod() : 1);
  });
  if (qOutside != q.start)
    bind(qOutside, refs[q.start]);
  return success();
}

LogicalResult SectionLowering::lowerAttention(Operation *top, lm::AttentionOp op) {
  StateUse &use = program.stateUses[lm::stateArgumentOf(op.getKv())];
  if (!use.memory)
    return op.emitOpError("expects keys to be appended before it");
  use.window = op.getWindow();
  SmallVector<LaunchOperand> operands{operand(op.getQ()), stateOperand(op.getKv()),
                                      output("attention", top->getResult(0))};
  if (op.getSinks())
    operands.push_back(operand(op.getSinks()));
  launch("attention", operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::AttentionOp::create(b, args[0], args[1], args[2], op.getSinks() ? args[3] : Value(),
                                /*workspace=*/Value(), op.getHeadsAttr(), op.getScaleAttr(),
                                op.getWindowAttr(), op.getSoftcapAttr());
  });
  return success();
}

LogicalResult SectionLowering::lowerCausalConv(lm::CausalConvOp op) {
  SmallVector<LaunchOperand> operands{operand(op.getX()), operand(op.getWeight())};
  if (op.getBias())
    operands.push_back(operand(op.getBias()));
  operands.push_back(stateOperand(op.getBefore()));
  operands.push_back(output("conv", op.getResult()));
  launch("conv", operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::CausalConvOp::create(b, args[0], args[1], op.getBias() ? args[2] : Value(),
                                 args.take_back(2)[0], args.back());
  });
  return success();
}
