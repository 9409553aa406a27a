//===- Rowwise.cpp - kernel.rowwise and kernel.gather for GPUs -------------===//
//
// One block per row. As on CPUs, the row is read once for each kernel.row_stat and once more to
// store. Values that depend on statistics alone are computed once, by every thread. A thread reads
// and writes only its own elements, so an output may be one of the inputs.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Emitters.h"
#include "codegen/cuda/RowRegion.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rows.h"
#include "runtime/abi/Routes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

class RowwiseEmitter {
public:
  RowwiseEmitter(KernelText &k, kernel::RowwiseOp op)
      : k(k), op(op), region(k, op.getBody(), op.getInputs()),
        source(op.getGather() || op.dispatches() ? "source" : "row"),
        index(op.getColumns() ? "column" : "i"), order(op.ordersByExpert() ? "order" : "columns"),
        n(cast<ActivationType>(op.getOutputs().front().getType()).getN()), warps(rowWarps(n)) {}

  LogicalResult emit() {
    for (Value v : op.getOutputs())
      if (RowKind kind = cast<ActivationType>(v.getType()).getKind();
          kind != RowKind::F32 && kind != RowKind::BF16)
        return op.emitOpError("expects outputs of f32 or bf16 on GPUs, got ") << v.getType();
    k.include("batch.cuh");
    k.include("region_math.cuh");
    for (auto [i, v] : llvm::enumerate(op.getOutputs()))
      k.name(v, ("y" + Twine(i)).str(), /*written=*/true);
    for (auto [i, v] : llvm::enumerate(op.getInputs()))
      k.name(v, ((isa<ActivationType>(v.getType()) ? "x" : "w") + Twine(i)).str());
    if (op.getColumns())
      k.name(op.getColumns(), "columns");
    if (op.getRoutes()) {
      k.include("routes.cuh");
      k.name(op.getRoutes(), "routes");
    }
    bool rows = op.getExtent() == kernel::Extent::Rows;
    LaunchExtent::Base base = rows ? LaunchExtent::Rows : LaunchExtent::Tokens;
    const int64_t ofToken = op.getRowsOfToken();
    k.open("", 32 * warps).grid[0] = {base, ofToken, 1};
    const bool ofPair = op.ordersByExpert();
    k.line("pdl_wait();");
    k.line("const i32 {0} = blockIdx.x;", ofPair ? "pair" : "row");
    k.line("if ({0} >= batch->{1}{2}) {{", ofPair ? "pair" : "row", rows ? "rows" : "tokens",
           ofToken > 1 ? " * " + std::to_string(ofToken) : "");
    k.line("return;");
    k.write("}");
    if (op.getGather())
      k.line("const i32 source = batch->rowTokens[row];");
    if (ofPair) {
      k.line("const i32 row = Routes(routes, batch, {0}).row[pair];", ofToken);
      k.line("const float *order = columns + (i64)Routes(routes, batch, {0}).expert[pair] * {1};",
             ofToken, orderStride(n));
    }
    if (op.dispatches())
      k.line("const i32 source = Routes(routes, batch, {0}).token[row];", ofToken);
    for (kernel::RowStatOp stat : region.stats())
      if (failed(region.emitUniform(stat)) || failed(emitMean(stat)))
        return failure();
    if (failed(region.emitUniform(nullptr)))
      return failure();
    return emitStores();
  }

private:
  /// Opens the loop over a thread's elements of the row.
  void openElements() {
    k.line("for (i32 i = threadIdx.x; i < {0}; i += {1}) {{", n, 32 * warps);
    if (op.getColumns())
      k.line("const i32 column = (i32){0}[i];", order);
  }

  LogicalResult emitMean(kernel::RowStatOp stat) {
    int number = region.nextNumber();
    k.line("SHARED(float, partial{0}, [{1}]);", number, warps);
    k.line("float sum{0} = 0.0f;", number);
    openElements();
    FailureOr<std::string> value = RowRegion::Elements(region, source, index)(stat.getValue());
    if (failed(value))
      return failure();
    k.line("sum{0} += {1};", number, *value);
    k.write("}");
    k.line("const float s{0} = div_f32(block_sum<{1}>(sum{0}, partial{0}), {2});", number, warps,
           floatText(double(n)));
    region.setMean(stat, "s" + std::to_string(number));
    return success();
  }

  LogicalResult emitStores() {
    openElements();
    RowRegion::Elements element(region, source, index);
    KernelText::Texts values; // all are computed before an in-place output changes an input
    for (Value v : region.yielded()) {
      FailureOr<std::string> value = element(v);
      if (failed(value))
        return failure();
      values.push_back(*value);
    }
    for (auto [output, text] : llvm::zip(op.getOutputs(), values)) {
      bool bf16 = cast<ActivationType>(output.getType()).getKind() == RowKind::BF16;
      k.line("{0} = {1};", elementAt(k, output, "row"), bf16 ? "f32_to_bf16(" + text + ")" : text);
    }
    k.write("}");
    for (Value output : op.getOutputs())
      if (int64_t stride = rowStride(cast<ActivationType>(output.getType())); stride != n)
        k.line("pad_rows<{0}, {1}>({2}, row, row + 1);", n, stride, k.nameOf(output));
    k.close();
    return success();
  }

  KernelText &k;
  kernel::RowwiseOp op;
  RowRegion region;
  const char *source; ///< text of the inputs' row index
  const char *index;  ///< text of the element's index in that row
  const char *order;  ///< text of the array that holds the column permutation
  int64_t n, warps;
};

} // namespace

LogicalResult ingot::codegen::cuda::emitRowwise(KernelText &k, kernel::RowwiseOp op) {
  if (op.getFused())
    return op.emitOpError("expects rows to write where it anchors a kernel");
  return RowwiseEmitter(k, op).emit();
}

LogicalResult ingot::codegen::cuda::emitGather(KernelText &k, kernel::GatherOp op) {
  lm::WeightType weight = op.getWeight().getType();
  k.include("gather.cuh");
  k.name(op.getWeight(), "w");
  k.name(op.getOutput(), "y", /*written=*/true);
  k.open("", 256).grid[0] = {LaunchExtent::Tokens, 1, 1};
  if (op.getByPosition())
    k.line("gather_positions<{0}, {1}, {2}>(w, y, batch);", k.format(weight.getFormat()),
           weight.columns(), weight.rows());
  else
    k.line("gather<{0}, {1}>(w, y, batch, {2});", k.format(weight.getFormat()), weight.columns(),
           floatText(op.getScale().convertToDouble()));
  k.close();
  return success();
}
