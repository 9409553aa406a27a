//===- Program.cpp - Parts of a program: weights, buffers, states ---------===//
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Entry.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

#define GET_OP_CLASSES
#include "dialects/plan/ops/Program.cpp.inc"

LogicalResult BufferOp::verify() {
  if (getBytes() <= 0 || getBytes() % 64) // buffer_c1
    return emitOpError("expects a positive multiple of 64 bytes, got ") << getBytes();
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 64)) // buffer_c2
    return emitOpError("expects an offset that is a multiple of 64, got ") << *getOffset();
  return success();
}

Type StateOp::memoryType() {
  if (auto fixed = dyn_cast<lm::FixedAttr>(getLayout()))
    return kernel::FixedStateType::get(getContext(), fixed);
  auto streams = cast<lm::PagedAttr>(getLayout()).getStreams();
  std::optional<KvFormat> format = kvFormatNamed(getElement().value_or(""));
  if (!format || streams.size() != 2)
    return {};
  return kernel::KvPoolType::get(getContext(), streams[0].getRows(), streams[0].getWidth(),
                                 *format);
}

LogicalResult StateOp::verify() {
  const bool paged = isa<lm::PagedAttr>(getLayout());
  if (paged != bool(getElement()) || paged != bool(getWindow()) || !memoryType()) // state_c1
    return emitOpError("expects keys and values of a format and a window if it is paged, and "
                       "neither if it is fixed");
  auto pool = dyn_cast<kernel::KvPoolType>(memoryType());
  const int64_t bytes =
      pool ? pool.pageBytes() : cast<kernel::FixedStateType>(memoryType()).slotBytes();
  if (int64_t(getBytes()) != bytes) // state_c2
    return emitOpError("takes ") << bytes << " bytes, got " << getBytes();
  return success();
}

void ProgramOp::build(OpBuilder &b, OperationState &state, StringRef name, StringRef family,
                      int64_t vocab, int64_t hidden, int64_t maxPositions) {
  state.addAttribute(getSymNameAttrName(state.name), b.getStringAttr(name));
  state.addAttribute(getFamilyAttrName(state.name), b.getStringAttr(family));
  state.addAttribute(getVocabAttrName(state.name), b.getI64IntegerAttr(vocab));
  state.addAttribute(getHiddenAttrName(state.name), b.getI64IntegerAttr(hidden));
  state.addAttribute(getMaxPositionsAttrName(state.name), b.getI64IntegerAttr(maxPositions));
  state.addRegion();
}

EntryOp ProgramOp::generateEntry() {
  auto entries = getBody().getOps<EntryOp>();
  return entries.empty() ? EntryOp() : *entries.begin();
}
