//===- Matmul.cpp - Projections -------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Matmul.cpp.inc"

RowsType MatmulOp::xType() {
  return getX() ? cast<RowsType>(getX().getType())
                : RowsType::get(getContext(), segmentWeight(0).columns(), RowKind::BF16);
}

static LogicalResult verifyPrologue(MatmulOp op) {
  if (bool(op.getX()) != op.getPrologue().empty() ||
      op.getPrologue().empty() != op.getPrologueBody().empty()) // matmul_c8
    return op.emitOpError("expects x, or a prologue with its region instead");
  if (op.getPrologueGather() &&
      (op.getPrologue().empty() || op.getExtent() != Extent::Rows)) // matmul_c9
    return op.emitOpError("expects a prologue over logits rows to gather");
  if (op.getPrologue().empty())
    return success();
  for (Type type : op.getPrologue().getTypes())
    if (!isInputOf(op.xType().getN(), type)) // matmul_c11
      return op.emitOpError("expects a prologue of f32 rows or vectors of ")
             << op.xType().getN() << " values, got " << type;
  return verifyRegion(op, op.getPrologueBody(), op.getPrologue().size(), 1);
}

static LogicalResult verifyKeys(MatmulOp op) {
  if (!op.getKeys())
    return success();
  auto type = cast<RowsType>(op.getKeys().getType());
  if (type.getKind() != RowKind::Key || type.getN() != 1 || op.getExtent() != Extent::Rows ||
      op.segments() != 1 || op.getPair() ||
      llvm::any_of(op.getOutputs().getTypes(), [](Type output) {
        return cast<RowsType>(output).getKind() != RowKind::F32;
      })) // matmul_c13
    return op.emitOpError(
        "expects one key for each logits row of one segment, whose output is f32");
  return success();
}

static LogicalResult verifyMaxima(MatmulOp op) {
  if (!op.getMaxima())
    return success();
  auto type = cast<RowsType>(op.getMaxima().getType());
  auto output =
      op.getOutputs().size() == 1 ? cast<RowsType>(op.getOutputs()[0].getType()) : RowsType();
  if (!output || output.getKind() != RowKind::F32 || op.getExtent() != Extent::Rows ||
      type.getKind() != RowKind::F32 ||
      type.getN() != (output.getN() + kPanelRows - 1) / kPanelRows) // matmul_c18
    return op.emitOpError("expects a maximum for each ")
           << kPanelRows << " values of the logits rows of one f32 output";
  return success();
}

static LogicalResult verifyAppend(MatmulOp op) {
  if (bool(op.getTable()) != bool(op.getStyle()) || (op.getTable() && !op.getKv())) // matmul_c14
    return op.emitOpError("expects a pool, and a table with its style or neither");
  if (!op.getKv())
    return success();
  auto kv = cast<KvPoolType>(op.getKv().getType());
  int64_t width = kv.getKvHeads() * kv.getHeadDim();
  if (op.getPair() || op.getExtent() != Extent::Tokens || op.segments() != 3 ||
      cast<RowsType>(op.getOutputs()[0].getType()).getKind() != RowKind::F32 ||
      op.segmentRows(0) % width || op.segmentRows(1) != width ||
      op.segmentRows(2) != width) // matmul_c15
    return op.emitOpError("expects f32 rows q, k and v of tokens that fit ") << kv;
  if (op.getTable() &&
      !canRotate(kv, cast<RowsType>(op.getTable().getType()), *op.getStyle())) // matmul_c16
    return op.emitOpError(
        "expects rotations whose pairs meet in a tile, or in tiles half a head apart");
  return success();
}

LogicalResult MatmulOp::verify() {
  const int64_t perSegment = getPair() ? 2 : 1, count = segments();
  if (!count || int64_t(getWeights().size()) != count * perSegment ||
      int64_t(getAuxCounts().size()) != count ||
      int64_t(getEpilogues().size()) != count) // matmul_c1
    return emitOpError("expects ")
           << perSegment << " weights, an aux count and an epilogue for each segment";
  const int64_t outputs = getKv() ? 1 : getKeys() && getOutputs().empty() ? 0 : count;
  if (int64_t(getOutputs().size()) != outputs) // matmul_c12
    return emitOpError("expects ")
           << outputs << " outputs for " << count << " segments, got " << getOutputs().size();
  if (failed(verifyPrologue(*this))) // who has no x has a prologue
    return failure();
  int64_t used = 0;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t n = segmentRows(s);
    for (Value w : getWeights().slice(s * perSegment, perSegment)) {
      auto type = cast<WeightType>(w.getType());
      if (type.isVector() || type.rows() != n || type.columns() != xType().getN()) // matmul_c2
        return emitOpError("expects weights of ")
               << n << "x" << xType().getN() << " in segment " << s << ", got " << type;
    }
    auto output = s < outputs ? cast<RowsType>(getOutputs()[s].getType()) : RowsType();
    if (output && output.getN() != n) // matmul_c10
      return emitOpError("expects an output of ") << n << " values in segment " << s;
    if (output && output.getKind() != RowKind::F32 && output.getKind() != RowKind::Q8 &&
        output.getKind() != RowKind::BF16) // matmul_c7
      return emitOpError("expects outputs to be f32, q8 or bf16");
    if (getPair() &&
        getWeights()[2 * s].getType() != getWeights()[2 * s + 1].getType()) // matmul_c3
      return emitOpError("expects the two weights of a pair to be of one type");
    int64_t aux = getAuxCounts()[s];
    if (failed(verifyRegion(*this, getEpilogues()[s], perSegment + aux, 1))) // matmul_c4
      return failure();
    for (Value operand : getAux().slice(used, std::min<int64_t>(aux, getAux().size() - used)))
      if (!isInputOf(n, operand.getType())) // matmul_c5
        return emitOpError("expects aux operands of ") << n << " f32 values in segment " << s;
    used += aux;
  }
  if (used != int64_t(getAux().size())) // matmul_c6
    return emitOpError("expects ") << used << " aux operands, got " << getAux().size();
  if (getXFp8()) { // matmul_c17
    auto fp8 = cast<RowsType>(getXFp8().getType());
    bool all = llvm::all_of(getWeights().getTypes(), [](Type type) {
      return cast<WeightType>(type).numeric().isScaledFloat();
    });
    if (!all || !getX() || xType().getKind() != RowKind::BF16 || fp8.getKind() != RowKind::FP8 ||
        fp8.getN() != xType().getN())
      return emitOpError("expects fp8 rows beside bf16 rows of one width, and fp8 weights");
  }
  auto layout = [](Type type) { return cast<WeightType>(type).getLayout(); };
  if (!llvm::all_equal(llvm::map_range(getWeights().getTypes(), layout))) // matmul_c19
    return emitOpError("expects its weights to lie in one layout");
  if (failed(verifyKeys(*this)) || failed(verifyMaxima(*this)))
    return failure();
  return verifyAppend(*this);
}

WorkItems MatmulOp::workItems() {
  int64_t panels = 0;
  for (int64_t s = 0; s < segments(); ++s)
    panels += (segmentRows(s) + kPanelRows - 1) / kPanelRows;
  return {WorkItems::Constant, panels, false};
}
bool MatmulOp::isPerRow() { return getExtent() == Extent::Rows; }
/// 2 N K over all weights; of both planes of q8x2, as steps of one row and sampled ones take them (greedy ones of several
/// leave most of the second out: codegen/cpu/MatmulScreen.h).
int64_t MatmulOp::operationsPerUnit() {
  int64_t operations = 0;
  for (Type type : getWeights().getTypes())
    operations += 2 * cast<WeightType>(type).rows() * cast<WeightType>(type).columns();
  return operations * (xType().getKind() == RowKind::Q8x2 ? 2 : 1);
}
