//===- CausalConv.cpp - Convolutions over the rows of a sequence ----------===//
#include "dialects/lm/ops/CausalConv.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/CausalConv.cpp.inc"

LogicalResult CausalConvOp::verify() {
  const int64_t channels = widthOf(getX());
  FixedAttr fixed = getBefore().getType().fixed();
  auto streams = fixed ? fixed.getStreams() : ArrayRef<StreamAttr>();
  if (failed(expectRows(*this, getX(), "x")))
    return failure();
  if (streams.size() != 1 || streams.front().getWidth() != channels) // causal_conv_c1
    return emitOpError("expects a fixed state of earlier rows of ")
           << channels << " values, got " << getBefore().getType();
  if (failed(expectVector(*this, getWeight().getType(), (streams.front().getRows() + 1) * channels,
                          "the weight"))) // causal_conv_c2
    return failure();
  if (getBias()) // causal_conv_c3
    return expectVector(*this, getBias().getType(), channels, "the bias");
  return success();
}
