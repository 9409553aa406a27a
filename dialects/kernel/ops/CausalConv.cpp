//===- CausalConv.cpp - Convolutions over the rows of a sequence ----------===//
#include "dialects/kernel/ops/CausalConv.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/CausalConv.cpp.inc"

LogicalResult CausalConvOp::verify() {
  const int64_t channels = getX().getType().getN();
  auto streams = getState().getType().getLayout().getStreams();
  if (getX().getType().getKind() != RowKind::F32 ||
      getOutput().getType() != getX().getType()) // causal_conv_c1
    return emitOpError("expects f32 rows of one width");
  if (streams.size() != 1 || streams.front().getWidth() != channels) // causal_conv_c2
    return emitOpError("expects a state of earlier rows of ")
           << channels << " values, got " << getState().getType();
  auto isVector = [](Value value, int64_t n) {
    return !value || cast<WeightType>(value.getType()).getShape() == ArrayRef<int64_t>(n);
  };
  if (!isVector(getWeight(), (historyRows() + 1) * channels) ||
      !isVector(getBias(), channels)) // causal_conv_c3
    return emitOpError("expects vectors of ")
           << historyRows() + 1 << " x " << channels << " taps and of " << channels << " biases";
  return success();
}

WorkItems CausalConvOp::workItems() {
  return {WorkItems::Spans, (getX().getType().getN() + kConvChannels - 1) / kConvChannels, false};
}
int64_t CausalConvOp::operationsPerUnit() {
  return 2 * (historyRows() + 1) * getX().getType().getN();
}
