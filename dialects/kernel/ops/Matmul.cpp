//===- Matmul.cpp - Projections -------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Matmul.cpp.inc"

static LogicalResult verifyPrologue(MatmulOp op) {
  if (op.getPrologue().empty() != !op.getPrologueUpTo() || op.getPrologueUpTo().value_or(1) == 0 ||
      op.getPrologue().empty() != op.getPrologueBody().empty()) // matmul_c8
    return op.emitOpError(
        "expects a prologue with its region and the count up to which it is used, or nothing of it");
  if (op.getPrologueGather() &&
      (op.getPrologue().empty() || op.getExtent() != Extent::Rows)) // matmul_c9
    return op.emitOpError("expects a prologue over logits rows to gather");
  if (op.getPrologue().empty())
    return success();
  if (op.getX().getType().getKind() != RowKind::BF16) // matmul_c10
    return op.emitOpError("expects bf16 rows to be computed in a prologue, got ")
           << op.getX().getType();
  for (Type type : op.getPrologue().getTypes())
    if (!isInputOf(op.getX().getType().getN(), type)) // matmul_c11
      return op.emitOpError("expects a prologue of f32 rows or vectors of ")
             << op.getX().getType().getN() << " values, got " << type;
  return verifyRegion(op, op.getPrologueBody(), op.getPrologue().size(), 1);
}

static LogicalResult verifyKeys(MatmulOp op) {
  Value keys = op.getKeys();
  if (bool(keys) != bool(op.getKeysUpTo()) || op.getKeysUpTo().value_or(1) == 0) // matmul_c12
    return op.emitOpError(
        "expects keys with the count of rows up to which they are folded, or nothing of it");
  if (!keys)
    return success();
  auto type = cast<RowsType>(keys.getType());
  if (type.getKind() != RowKind::Key || type.getN() != 1 || op.getExtent() != Extent::Rows ||
      op.getOutputs().size() != 1 ||
      cast<RowsType>(op.getOutputs()[0].getType()).getKind() != RowKind::F32) // matmul_c13
    return op.emitOpError("expects one key for each logits row of one f32 output");
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
  if (bool(op.getKv()) != bool(op.getAppendUpTo()) || op.getAppendUpTo().value_or(1) == 0 ||
      bool(op.getTable()) != bool(op.getStyle()) || (op.getTable() && !op.getKv())) // matmul_c14
    return op.emitOpError(
        "expects a pool, the count up to which it is appended to, and a table with its style or neither");
  if (!op.getKv())
    return success();
  auto kv = cast<KvPoolType>(op.getKv().getType());
  int64_t width = kv.getKvHeads() * kv.getHeadDim();
  SmallVector<int64_t> widths;
  for (Type type : op.getOutputs().getTypes())
    if (cast<RowsType>(type).getKind() == RowKind::F32)
      widths.push_back(cast<RowsType>(type).getN());
  if (op.getPair() || op.getExtent() != Extent::Tokens || op.getOutputs().size() != 3 ||
      widths.size() != 3 || widths[0] % width || widths[1] != width ||
      widths[2] != width) // matmul_c15
    return op.emitOpError("expects f32 rows q, k and v of tokens that fit ") << kv;
  if (op.getTable() &&
      !canRotate(kv, cast<RowsType>(op.getTable().getType()), *op.getStyle())) // matmul_c16
    return op.emitOpError(
        "expects rotations whose pairs meet in a tile, or in tiles half a head apart");
  return success();
}

LogicalResult MatmulOp::verify() {
  size_t segments = getOutputs().size(), perSegment = getPair() ? 2 : 1;
  if (!segments || getWeights().size() != segments * perSegment ||
      getAuxCounts().size() != segments || getEpilogues().size() != segments) // matmul_c1
    return emitOpError("expects ")
           << perSegment << " weights, an aux count and an epilogue for each output";
  int64_t used = 0;
  for (auto [s, y] : llvm::enumerate(getOutputs())) {
    int64_t n = cast<RowsType>(y.getType()).getN();
    RowKind kind = cast<RowsType>(y.getType()).getKind();
    if (kind != RowKind::F32 && kind != RowKind::Q8 && kind != RowKind::BF16) // matmul_c7
      return emitOpError("expects outputs to be f32, q8 or bf16");
    for (Value w : getWeights().slice(s * perSegment, perSegment)) {
      auto type = cast<WeightType>(w.getType());
      if (type.isVector() || type.rows() != n ||
          type.columns() != getX().getType().getN()) // matmul_c2
        return emitOpError("expects weights of ")
               << n << "x" << getX().getType().getN() << " in segment " << s << ", got " << type;
    }
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
    RowsType x = getX().getType(), fp8 = getXFp8().getType();
    bool all = llvm::all_of(getWeights().getTypes(), [](Type type) {
      return cast<WeightType>(type).numeric().isScaledFloat();
    });
    if (!all || x.getKind() != RowKind::BF16 || fp8.getKind() != RowKind::FP8 ||
        fp8.getN() != x.getN())
      return emitOpError("expects fp8 rows beside bf16 rows of one width, and fp8 weights");
  }
  auto layout = [](Type type) { return cast<WeightType>(type).getLayout(); };
  if (!llvm::all_equal(llvm::map_range(getWeights().getTypes(), layout))) // matmul_c19
    return emitOpError("expects its weights to lie in one layout");
  if (failed(verifyPrologue(*this)) || failed(verifyKeys(*this)) || failed(verifyMaxima(*this)))
    return failure();
  return verifyAppend(*this);
}

WorkItems MatmulOp::workItems() {
  int64_t panels = 0;
  for (Value y : getOutputs())
    panels += (cast<RowsType>(y.getType()).getN() + kPanelRows - 1) / kPanelRows;
  return {WorkItems::Constant, panels, false};
}
bool MatmulOp::isPerRow() { return getExtent() == Extent::Rows; }
bool MatmulOp::isForFewTokens(Value operand) {
  return llvm::is_contained(getPrologue(), operand) || operand == getKv() || operand == getTable();
}
/// 2 N K over all weights; of both planes of q8x2, as steps of one row and sampled ones take them (greedy ones of several
/// leave most of the second out: codegen/cpu/MatmulScreen.h).
int64_t MatmulOp::operationsPerUnit() {
  int64_t operations = 0;
  for (Type type : getWeights().getTypes())
    operations += 2 * cast<WeightType>(type).rows() * cast<WeightType>(type).columns();
  return operations * (getX().getType().getKind() == RowKind::Q8x2 ? 2 : 1);
}
