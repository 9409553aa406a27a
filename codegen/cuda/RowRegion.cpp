//===- RowRegion.cpp - See RowRegion.h ------------------------------------===//
#include "codegen/cuda/RowRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;

std::string ingot::codegen::cuda::elementAt(const KernelText &k, Value memory, StringRef row,
                                            StringRef index) {
  auto rows = dyn_cast<ActivationType>(memory.getType());
  if (!rows)
    return (k.nameOf(memory) + "[" + index + "]").str();
  return llvm::formatv("{0}[(i64){1} * {2}{3}]", k.nameOf(memory), row, rowStride(rows),
                       rows.getN() == 1 ? "" : " + " + index.str());
}

RowRegion::RowRegion(KernelText &k, Region &region, ValueRange inputs)
    : k(k), body(region.front()), inputs(inputs),
      texts("CUDA", [this](Operation *op, ArrayRef<std::string> operands) {
        std::string name = "s" + std::to_string(nextNumber());
        return this->k.define(op, operands, [&] { return name; });
      }) {
  for (Operation &op : body.without_terminator()) {
    auto stat = dyn_cast<kernel::RowStatOp>(op);
    if (stat)
      statistics.push_back(stat);
    if (stat || llvm::all_of(op.getOperands(), [&](Value v) { return uniform.contains(v); }))
      uniform.insert_range(op.getResults());
  }
}

void RowRegion::restart() {
  texts.clear();
  count = 0;
}

LogicalResult RowRegion::emitUniform(Operation *end) {
  for (Operation &op : body.without_terminator()) {
    if (&op == end)
      break;
    if (isa<kernel::RowStatOp>(op) || !op.getNumResults() || !uniform.contains(op.getResult(0)) ||
        texts.knows(op.getResult(0)))
      continue;
    if (failed(texts.walk(op)))
      return failure();
  }
  return success();
}

RowRegion::Elements::Elements(RowRegion &region, StringRef row, StringRef index)
    : walker(
          "CUDA",
          [this, &region](Operation *op, ArrayRef<std::string> operands) {
            return region.k.define(op, operands,
                                   [&] { return "v" + std::to_string(walker.size()); });
          },
          [&region, row = row.str(), index = index.str()](Value value) -> std::string {
            if (region.uniform.contains(value))
              return region.texts.known(value);
            auto argument = dyn_cast<BlockArgument>(value);
            if (!argument)
              return "";
            unsigned number = argument.getArgNumber();
            std::string name = "e" + std::to_string(number);
            region.k.line("const float {0} = {1};", name,
                          elementAt(region.k, region.inputs[number], row, index));
            return name;
          }) {}
