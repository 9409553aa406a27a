//===- Region.cpp - Contents of the regions of structured ops -------------===//
#include "dialects/kernel/ops/Region.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Region.cpp.inc"

LogicalResult kernel::verifyRegion(Operation *op, Region &region, size_t arguments, size_t yields) {
  Block &body = region.front();
  if (body.getNumArguments() != arguments ||
      !llvm::all_of(body.getArgumentTypes(), [](Type t) { return t.isF32(); }))
    return op->emitOpError("expects a region of ") << arguments << " f32 arguments";
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield || yield.getValues().size() != yields)
    return op->emitOpError("expects its region to yield ") << yields << " values";
  for (Operation &inner : body.without_terminator())
    if (!OpTrait::hasElementwiseMappableTraits(&inner) &&
        !inner.hasTrait<OpTrait::ConstantLike>() && !isa<RowStatOp>(inner))
      return inner.emitOpError("is not elementwise and cannot be part of a kernel region");
  return success();
}

bool kernel::isInputOf(int64_t n, Type type) {
  auto rows = dyn_cast<ActivationType>(type);
  auto vector = dyn_cast<WeightType>(type);
  return (rows && rows.getKind() == RowKind::F32 && rows.getN() == n) ||
         (vector && vector.isVector() && vector.rows() == n);
}
