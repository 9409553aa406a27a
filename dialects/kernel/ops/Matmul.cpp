//===- Matmul.cpp - Projections -------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Matmul.cpp.inc"

MatmulOp MatmulOp::withFusedResults(OpBuilder &b) {
  SmallVector<Type> fusedValues;
  for (int64_t s = 0; s < segments(); ++s)
    fusedValues.push_back(FusedType::get(getContext(), segmentRows(s), RowKind::F32));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(*this);
  auto made = MatmulOp::create(b, getLoc(), fusedValues, getX(), getWeights(), getAux(),
                               ValueRange(), getXFp8(), getRoutes(), getAuxCounts(), getExtent(),
                               getGated(), getFastFloat(), getScheduleAttr(), unsigned(segments()));
  for (auto [to, from] : llvm::zip_equal(made.getEpilogues(), getEpilogues()))
    to.takeBody(from);
  erase();
  return made;
}

/// f32 rows of n values, or a stack of vectors.
static bool isInputOfExperts(int64_t n, int64_t experts, Type type) {
  auto stack = dyn_cast<WeightType>(type);
  return stack ? stack.getShape() == ArrayRef<int64_t>({experts, n, 1}) : isInputOf(n, type);
}

LogicalResult MatmulOp::verify() {
  const int64_t perSegment = getGated() ? 2 : 1, count = segments();
  if (!count || int64_t(getWeights().size()) != count * perSegment ||
      int64_t(getAuxCounts().size()) != count ||
      int64_t(getEpilogues().size()) != count) // matmul_c1
    return emitOpError("expects ")
           << perSegment << " weights, an aux count and an epilogue for each segment";
  const bool writes = getFused().empty();
  if (int64_t(getOutputs().size()) != (writes ? count : 0) ||
      (!writes && int64_t(getFused().size()) != count)) // matmul_c12
    return emitOpError("expects ")
           << count << " outputs, or as many fused values, for " << count << " segments";
  int64_t used = 0;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t n = segmentRows(s);
    for (Value w : getWeights().slice(s * perSegment, perSegment)) {
      auto type = cast<WeightType>(w.getType());
      if (type.isVector() || type.rows() != n || type.columns() != xType().getN()) // matmul_c2
        return emitOpError("expects weights of ")
               << n << "x" << xType().getN() << " in segment " << s << ", got " << type;
    }
    ActivationType output = activationTypeOf(writes ? getOutputs()[s] : getFused()[s]);
    if (output.getN() != n) // matmul_c10
      return emitOpError("expects an output of ") << n << " values in segment " << s;
    if (output.getKind() != RowKind::F32 &&
        (!writes ||
         (output.getKind() != RowKind::Q8 && output.getKind() != RowKind::BF16))) // matmul_c7
      return emitOpError("expects outputs to be f32, q8 or bf16, and fused values to be f32");
    if (getGated() &&
        getWeights()[2 * s].getType() != getWeights()[2 * s + 1].getType()) // matmul_c3
      return emitOpError("expects the two gated weights to be of one type");
    int64_t aux = getAuxCounts()[s];
    if (failed(verifyRegion(*this, getEpilogues()[s], perSegment + aux, 1))) // matmul_c4
      return failure();
    for (Value operand : getAux().slice(used, std::min<int64_t>(aux, getAux().size() - used)))
      if (getRoutes() ? !isInputOfExperts(n, experts(), operand.getType())
                      : !isInputOf(n, operand.getType())) // matmul_c5
        return emitOpError("expects aux operands of ") << n << " f32 values in segment " << s;
    used += aux;
  }
  if (used != int64_t(getAux().size())) // matmul_c6
    return emitOpError("expects ") << used << " aux operands, got " << getAux().size();
  if (getXFp8()) { // matmul_c17
    auto fp8 = cast<ActivationType>(getXFp8().getType());
    bool all = llvm::all_of(getWeights().getTypes(), [](Type type) {
      return cast<WeightType>(type).numeric().isScaledFloat();
    });
    if (!all || xType().getKind() != RowKind::BF16 || fp8.getKind() != RowKind::FP8 ||
        fp8.getN() != xType().getN())
      return emitOpError(
          "expects fp8 rows together with bf16 rows of the same width, and fp8 weights");
  }
  const int64_t matrices = getRoutes() ? getRoutes().getType().getExperts() : 1;
  if (getRoutes() && (count != 1 || getExtent() != Extent::Tokens || !writes)) // matmul_c20
    return emitOpError("expects one segment of tokens, whose results are written, for experts");
  if (llvm::any_of(getWeights().getTypes(), [&](Type type) {
        return cast<WeightType>(type).matrices() != matrices;
      })) // matmul_c21
    return emitOpError("expects a matrix for each of ") << matrices << " experts";
  auto layout = [](Type type) { return cast<WeightType>(type).getLayout(); };
  if (!llvm::all_equal(llvm::map_range(getWeights().getTypes(), layout))) // matmul_c19
    return emitOpError("expects all of its weights to have the same layout");
  return success();
}

Value MatmulOp::rowOperand() { return getX(); }

WorkItems MatmulOp::workItems() {
  int64_t panels = 0;
  for (int64_t s = 0; s < segments(); ++s)
    panels += (segmentRows(s) + kPanelRows - 1) / kPanelRows;
  return {WorkItems::Constant, panels * experts(), false};
}
int64_t MatmulOp::rowsOfUnit(Value) { return rowsOfToken(); }
/// A residual may be the output of its segment. x may not: every panel reads whole rows of it.
bool MatmulOp::mayOverwrite(Value output, Value input) {
  const int64_t segment = llvm::find(getOutputs(), output) - getOutputs().begin();
  int64_t first = 0;
  for (int64_t count : getAuxCounts().take_front(segment))
    first += count;
  return input != getX() &&
         llvm::is_contained(getAux().slice(first, getAuxCounts()[segment]), input);
}
bool MatmulOp::isPerRow() { return getExtent() == Extent::Rows; }
/// Sums 2 N K over all weights. For q8x2 both planes count, as in steps of one row and in sampled steps (greedy
/// steps of several rows skip most of the second plane: codegen/cpu/MatmulCandidates.h).
int64_t MatmulOp::operationsPerUnit() {
  int64_t operations = 0;
  for (Type type : getWeights().getTypes())
    operations += 2 * cast<WeightType>(type).rows() * cast<WeightType>(type).columns();
  return operations * rowsOfToken() * (xType().getKind() == RowKind::Q8x2 ? 2 : 1);
}
