//===- Attention.cpp - Rotations, the KV cache, attention -----------------===//
#include "dialects/lm/ops/Attention.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Attention.cpp.inc"

LogicalResult RopeOp::verify() {
  int64_t width = widthOf(getX()), heads = getHeads();
  if (heads < 1 || width % heads) // rope_c1
    return emitOpError("expects heads to divide the width ") << width << ", got " << heads;
  WeightType f = getFrequencies().getType();
  if (!f.isVector() || 2 * f.rows() > width / heads) // rope_c2
    return emitOpError("expects at most ") << width / heads / 2 << " frequencies, got " << f;
  return success();
}

LogicalResult ScaleByPositionOp::verify() {
  WeightType factors = getFactors().getType();
  if (!factors.isVector() || factors.getFormat() != WeightFormat::F32) // scale_by_position_c1
    return emitOpError("expects an f32 vector of factors, got ") << factors;
  if (int64_t(getPeriod()) < 1) // scale_by_position_c2
    return emitOpError("expects a period of 1 or more positions");
  return success();
}

/// Checks for a paged state of keys and values of one shape.
static LogicalResult expectKeysAndValues(Operation *op, TypedValue<StateType> state) {
  PagedAttr paged = state.getType().paged();
  auto streams = paged ? paged.getStreams() : ArrayRef<StreamAttr>();
  if (streams.size() != 2 || streams[0].getRows() != streams[1].getRows() ||
      streams[0].getWidth() != streams[1].getWidth())
    return op->emitOpError("expects a paged state of keys and values of one shape, got ")
           << state.getType();
  return success();
}

LogicalResult KvAppendOp::verify() {
  if (failed(expectKeysAndValues(*this, getKv()))) // kv_append_c1
    return failure();
  StreamAttr keys = getKv().getType().paged().getStreams().front();
  if (widthOf(getK()) != keys.values() || getK().getType() != getV().getType()) // kv_append_c2
    return emitOpError("expects k and v of ")
           << keys.values() << " values for " << getKv().getType();
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(expectKeysAndValues(*this, getKv()))) // attention_c4
    return failure();
  int64_t heads = getHeads();
  StreamAttr keys = getKv().getType().paged().getStreams().front();
  if (heads < 1 || heads % keys.getRows()) // attention_c1
    return emitOpError("expects the KV heads to divide heads, got ")
           << keys.getRows() << " and " << heads;
  if (widthOf(getQ()) != heads * keys.getWidth() ||
      getQ().getType() != getResult().getType()) // attention_c2
    return emitOpError("expects q of ")
           << heads << " heads of " << keys.getWidth() << " values, and a result of its type";
  if (int64_t(getWindow()) < 0) // attention_c3
    return emitOpError("expects a window of 0 (all positions) or more");
  if (getSinks()) // attention_c5
    return expectVector(*this, getSinks().getType(), heads, "the sinks");
  return success();
}

// Inferred types: see LinearOp.

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                            ValueRange operands, DictionaryAttr, OpaqueProperties,
                                            RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return failure();
  types.push_back(operands[0].getType());
  return success();
}
