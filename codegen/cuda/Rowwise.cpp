//===- Rowwise.cpp - kernel.rowwise and kernel.gather for GPUs -------------===//
//
// A block a row. As on CPUs the row is walked once for each kernel.row_stat and once more to store;
// values that depend on statistics alone are computed once, by every thread. A thread reads and
// writes its own elements, so that an output may be one of the inputs.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::RowKind;
using kernel::RowsType;

namespace {

class RowwiseEmitter {
public:
  RowwiseEmitter(KernelText &k, kernel::RowwiseOp op)
      : k(k), op(op), body(op.getBody().front()),
        n(cast<RowsType>(op.getOutputs().front().getType()).getN()) {
    for (Operation &inner : body.without_terminator())
      if (isa<kernel::RowStatOp>(inner) ||
          llvm::all_of(inner.getOperands(), [&](Value v) { return uniform.contains(v); }))
        uniform.insert_range(inner.getResults());
    warps = n >= 1024 ? 8 : 4;
  }

  LogicalResult emit() {
    for (Value v : op.getOutputs())
      if (RowKind kind = cast<RowsType>(v.getType()).getKind();
          kind != RowKind::F32 && kind != RowKind::BF16)
        return op.emitOpError("expects outputs of f32 or bf16 on GPUs, got ") << v.getType();
    k.include("batch.cuh");
    k.include("region_math.cuh");
    for (auto [i, v] : llvm::enumerate(op.getOutputs()))
      k.name(v, ("y" + Twine(i)).str(), /*written=*/true);
    for (auto [i, v] : llvm::enumerate(op.getInputs()))
      k.name(v, ((isa<RowsType>(v.getType()) ? "x" : "w") + Twine(i)).str());
    CudaVariant &variant = k.open("", 32 * warps);
    bool rows = op.getExtent() == kernel::Extent::Rows;
    variant.grid[0] = {rows ? LaunchExtent::Rows : LaunchExtent::Tokens, 1, 1};
    k.line("pdl_wait();");
    k.line("const i32 row = blockIdx.x;");
    k.line("if (row >= batch->{0}) {{", rows ? "rows" : "tokens");
    k.line("return;");
    k.write("}");
    if (op.getGather())
      k.line("const i32 source = batch->rowTokens[row];");

    for (Operation &inner : body.without_terminator())
      if (auto stat = dyn_cast<kernel::RowStatOp>(inner)) {
        if (failed(emitMean(stat)))
          return failure();
      } else if (inner.getNumResults() && uniform.contains(inner.getResult(0))) {
        std::string name = "s" + std::to_string(count++);
        if (failed(emitOp(inner, texts, name)))
          return failure();
      }
    return emitStores();
  }

private:
  using Memo = llvm::DenseMap<Value, std::string>;

  /// Start of the row that an operand is read or written at, as an expression of element i.
  std::string element(Value memory, StringRef row) {
    auto rows = dyn_cast<RowsType>(memory.getType());
    if (!rows)
      return (k.nameOf(memory) + "[i]").str();
    return llvm::formatv("{0}[(i64){1} * {2} + i]", k.nameOf(memory), row, rowStride(rows));
  }

  LogicalResult emitOp(Operation &inner, Memo &memo, const std::string &name) {
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      memo[constant.getResult()] =
          floatText(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
      return success();
    }
    KernelText::Texts operands;
    for (Value operand : inner.getOperands())
      operands.push_back(memo.lookup(operand));
    std::string text = KernelText::expression(&inner, operands);
    if (text.empty())
      return inner.emitOpError("has no CUDA rendering in the region of this op");
    k.line("const float {0} = {1};", name, text);
    memo[inner.getResult(0)] = name;
    return success();
  }

  /// Prints what `value` of element i needs, each operation once.
  LogicalResult emitElement(Value value, Memo &memo) {
    if (memo.contains(value))
      return success();
    if (uniform.contains(value)) {
      memo[value] = texts.lookup(value);
      return success();
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Value input = op.getInputs()[argument.getArgNumber()];
      std::string name = ("e" + Twine(argument.getArgNumber())).str();
      k.line("const float {0} = {1};", name, element(input, op.getGather() ? "source" : "row"));
      memo[value] = name;
      return success();
    }
    Operation *source = value.getDefiningOp();
    for (Value operand : source->getOperands())
      if (failed(emitElement(operand, memo)))
        return failure();
    return emitOp(*source, memo, "v" + std::to_string(memo.size()));
  }

  LogicalResult emitMean(kernel::RowStatOp stat) {
    int number = count++;
    k.line("SHARED(float, partial{0}, [{1}]);", number, warps);
    k.line("float sum{0} = 0.0f;", number);
    k.line("for (i32 i = threadIdx.x; i < {0}; i += {1}) {{", n, 32 * warps);
    Memo memo;
    if (failed(emitElement(stat.getValue(), memo)))
      return failure();
    k.line("sum{0} += {1};", number, memo.lookup(stat.getValue()));
    k.write("}");
    k.line("const float s{0} = div_f32(block_sum<{1}>(sum{0}, partial{0}), {2});", number, warps,
           floatText(double(n)));
    texts[stat.getResult()] = "s" + std::to_string(number);
    return success();
  }

  LogicalResult emitStores() {
    int64_t widest = n;
    for (Value v : op.getOutputs())
      widest = std::max(widest, rowStride(cast<RowsType>(v.getType())));
    k.line("for (i32 i = threadIdx.x; i < {0}; i += {1}) {{", n, 32 * warps);
    Memo memo;
    auto yielded = body.getTerminator()->getOperands();
    for (Value v : yielded)
      if (failed(emitElement(v, memo)))
        return failure();
    for (auto [output, v] : llvm::zip(op.getOutputs(), yielded)) {
      bool bf16 = cast<RowsType>(output.getType()).getKind() == RowKind::BF16;
      std::string text = memo.lookup(v);
      k.line("{0} = {1};", element(output, "row"), bf16 ? "f32_to_bf16(" + text + ")" : text);
    }
    k.write("}");
    for (Value output : op.getOutputs())
      if (int64_t stride = rowStride(cast<RowsType>(output.getType())); stride != n)
        k.line("pad_rows<{0}, {1}>({2}, row, row + 1);", n, stride, k.nameOf(output));
    k.close();
    return success();
  }

  KernelText &k;
  kernel::RowwiseOp op;
  Block &body;
  int64_t n, warps;
  int count = 0;
  llvm::DenseSet<Value> uniform; ///< of the region: one value per row
  Memo texts;                    ///< of the uniform ones
};

} // namespace

LogicalResult ingot::cuda::emitRowwise(KernelText &k, kernel::RowwiseOp op) {
  return RowwiseEmitter(k, op).emit();
}

LogicalResult ingot::cuda::emitGather(KernelText &k, kernel::GatherOp op) {
  lm::WeightType weight = op.getWeight().getType();
  k.include("gather.cuh");
  k.name(op.getWeight(), "w");
  k.name(op.getOutput(), "y", /*written=*/true);
  k.open("", 256).grid[0] = {LaunchExtent::Tokens, 1, 1};
  k.line("gather<{0}, {1}>(w, y, batch, {2});", formatText(weight.getFormat()), weight.columns(),
         floatText(op.getScale().convertToDouble()));
  k.close();
  return success();
}
