//===- KernelOps.cpp - Verifiers of the kernel dialect --------------------===//
//
// Each check cites the constraint of SPEC.md that it enforces.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/KernelDialect.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/KernelOps.cpp.inc"

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> args, ArrayRef<Type> results,
                  function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), build,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}
void FuncOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}
void FuncOp::build(OpBuilder &b, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), b.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}
Operation *FuncOp::structuredOp() { return &getBody().front().front(); }
LaunchInterface FuncOp::launch() { return cast<LaunchInterface>(structuredOp()); }

LogicalResult FuncOp::verify() {
  Block &body = getBody().front();
  if (llvm::range_size(body) != 2 || !isa<LaunchInterface>(body.front()) ||
      !isa<ReturnOp>(body.back())) // func_c1
    return emitOpError("expects one structured op and a return");
  if (getFunctionType().getNumResults()) // func_c2
    return emitOpError("expects no results: a kernel writes its operands");
  for (Type type : getArgumentTypes())
    if (!isa<RowsType, KvPoolType, FixedStateType, WeightType, WorkspaceType>(type)) // func_c3
      return emitOpError("expects operands to be rows, weights, a workspace or states, got ")
             << type;
  if (leastCount() < 1 || mostCount() < leastCount()) // func_c4
    return emitOpError("expects counts from at least 1 up, got ") << *getCounts();
  return success();
}

/// A region of f32 arguments that yields `yields` values; ops are elementwise or row_stat.
static LogicalResult verifyRegion(Operation *op, Region &region, size_t arguments, size_t yields) {
  Block &body = region.front();
  if (body.getNumArguments() != arguments ||
      !llvm::all_of(body.getArgumentTypes(), [](Type t) { return t.isF32(); }))
    return op->emitOpError("expects a region of ") << arguments << " f32 arguments";
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != yields)
    return op->emitOpError("expects its region to yield ") << yields << " values";
  for (Operation &inner : body.without_terminator())
    if (!OpTrait::hasElementwiseMappableTraits(&inner) &&
        !inner.hasTrait<OpTrait::ConstantLike>() && !isa<RowStatOp>(inner))
      return inner.emitOpError("is not elementwise and cannot be part of a kernel region");
  return success();
}

/// f32 rows or a vector of n values: what a region reads an element of.
static bool isInputOf(int64_t n, Type type) {
  auto rows = dyn_cast<RowsType>(type);
  auto vector = dyn_cast<WeightType>(type);
  return (rows && rows.getKind() == RowKind::F32 && rows.getN() == n) ||
         (vector && vector.isVector() && vector.rows() == n);
}

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
  if (failed(verifyKeys(*this)) || failed(verifyMaxima(*this)))
    return failure();
  return verifyAppend(*this);
}

LogicalResult Fp8RowsOp::verify() {
  if (getX().getType().getKind() != RowKind::BF16 ||
      getOutput().getType().getKind() != RowKind::FP8 ||
      getX().getType().getN() != getOutput().getType().getN()) // fp8_rows_c1
    return emitOpError("expects bf16 rows and fp8 rows of one width");
  return success();
}

LogicalResult RowwiseOp::verify() {
  int64_t n = cast<RowsType>(getOutputs().front().getType()).getN();
  for (Value v : getInputs())
    if (!isInputOf(n, v.getType())) // rowwise_c1
      return emitOpError("expects inputs to be f32 rows or vectors of ")
             << n << " values, got " << v.getType();
  for (Value v : getOutputs())
    if (cast<RowsType>(v.getType()).getN() != n || // rowwise_c2
        cast<RowsType>(v.getType()).getKind() >= RowKind::FP8)
      return emitOpError("expects outputs of one width");
  if (getGather() && getExtent() != Extent::Rows) // rowwise_c3
    return emitOpError("expects the extent of logits rows to gather");
  return verifyRegion(*this, getBody(), getInputs().size(), getOutputs().size()); // rowwise_c4
}

LogicalResult GatherOp::verify() {
  if (getWeight().getType().isVector() ||
      getOutput().getType().getN() != getWeight().getType().columns() ||
      getOutput().getType().getKind() != RowKind::F32) // gather_c1
    return emitOpError("expects f32 rows as wide as the weight's rows");
  return success();
}

LogicalResult RopeTableOp::verify() {
  if (!getFrequencies().getType().isVector() ||
      getOutput().getType().getN() != 2 * getFrequencies().getType().rows() ||
      getOutput().getType().getKind() != RowKind::F32) // rope_table_c1
    return emitOpError("expects f32 rows of twice the count of frequencies");
  return success();
}

LogicalResult RopeAppendOp::verify() {
  KvPoolType kv = getKv().getType();
  int64_t width = kv.getKvHeads() * kv.getHeadDim();
  if (getK().getType().getN() != width || getV().getType().getN() != width) // rope_append_c1
    return emitOpError("expects k and v of ") << width << " values for " << kv;
  if (getQ().getType().getN() !=
      static_cast<int64_t>(getHeads()) * kv.getHeadDim()) // rope_append_c2
    return emitOpError("expects q of heads x head_dim values");
  if (getTable() && getTable().getType().getN() > kv.getHeadDim()) // rope_append_c3
    return emitOpError("expects a table of at most head_dim values");
  for (Value norm : {getQNorm(), getKNorm()})
    if (norm && cast<WeightType>(norm.getType()).getShape() !=
                    ArrayRef<int64_t>(kv.getHeadDim())) // rope_append_c4
      return emitOpError("expects norms to be vectors of head_dim values");
  return success();
}

LogicalResult AttentionOp::verify() {
  KvPoolType kv = getKv().getType();
  if (getHeads() < 1 || getHeads() % kv.getKvHeads()) // attention_c1
    return emitOpError("expects kv_heads to divide heads");
  int64_t width = getHeads() * kv.getHeadDim();
  if (getQ().getType().getN() != width || getOutput().getType().getN() != width ||
      getQ().getType().getKind() != RowKind::F32) // attention_c2
    return emitOpError("expects f32 queries and an output of heads x head_dim values");
  RowKind output = getOutput().getType().getKind();
  if ((output != RowKind::F32 && output != RowKind::Q8 && output != RowKind::BF16) ||
      (output == RowKind::Q8 && kv.getHeadDim() % kGroupK)) // attention_c3
    return emitOpError(
        "expects head_dim to be a multiple of 32 to quantise the output, and the output to be f32, q8 or bf16");
  return success();
}

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

/// Logits and what is found in them; any of the last three may be absent.
static LogicalResult verifyIds(Operation *op, Value logits, Value keys, Value sums, Value ids) {
  auto isRows = [](Value value, RowKind kind, bool one) {
    if (!value)
      return true;
    auto type = cast<RowsType>(value.getType());
    return type.getKind() == kind && (!one || type.getN() == 1);
  };
  if (!isRows(logits, RowKind::F32, false) || !isRows(keys, RowKind::Key, true)) // ids_c1
    return op->emitOpError("expects f32 logits and a key of each row");
  if (!isRows(sums, RowKind::Bytes, false) || !isRows(ids, RowKind::I32, true)) // ids_c2
    return op->emitOpError("expects sums of bytes and an i32 id of each row");
  return success();
}

LogicalResult ArgmaxOp::verify() { return verifyIds(*this, getLogits(), getKeys(), {}, {}); }
LogicalResult ArgmaxFinishOp::verify() { return verifyIds(*this, {}, getKeys(), {}, getIds()); }
LogicalResult DrawWeighOp::verify() {
  return verifyIds(*this, getLogits(), getKeys(), getSums(), {});
}
LogicalResult DrawIdsOp::verify() {
  return verifyIds(*this, getLogits(), getKeys(), getSums(), getIds());
}
