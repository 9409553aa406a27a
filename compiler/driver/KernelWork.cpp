//===- KernelWork.cpp - See KernelWork.h ----------------------------------===//
#include "compiler/driver/KernelWork.h"
#include "codegen/schedule/MatmulCost.h"
#include "passes/planning/KernelEffects.h"
#include "runtime/device/Batch.h"
#include "runtime/formats/FragmentLayout.h"
#include "runtime/formats/PanelLayout.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// Of one row of a matrix that is stored so.
static int64_t rowBytes(lm::WeightType weight, fb::WeightLayout layout) {
  if (layout != fb::WeightLayout::Fragment16)
    return kernel::packedBytes(weight) / roundUp(weight.rows(), kPanelRows);
  return fragmentLayout(weight.getFormat(), weight.rows(), weight.columns()).bytes() /
         roundUp(weight.rows(), kFragmentRows);
}

/// Bytes that a launch moves per token (or row) beside weights and the KV cache it reads. What a GPU touches in steps of few
/// tokens alone is left out, as the plan's traffic does (passes/planning/CountTraffic.cpp).
static int64_t bytesPerUnit(kernel::FuncOp fn, fb::WeightLayout layout) {
  int64_t bytes = 0;
  const bool gathers = isa<kernel::GatherOp>(fn.structuredOp());
  auto matmul = dyn_cast<kernel::MatmulOp>(fn.structuredOp());
  for (auto [argument, effect] : llvm::zip(fn.getArguments(), operandEffects(fn))) {
    if (layout == fb::WeightLayout::Fragment16 && matmul && matmul.isForFewTokens(argument))
      continue;
    if (auto rows = dyn_cast<kernel::RowsType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * rows.rowBytes();
    else if (auto pool = dyn_cast<kernel::KvPoolType>(argument.getType()))
      bytes += effect.writes * pool.pageBytes() / kPageTokens;
    else if (auto weight = cast<lm::WeightType>(argument.getType()); gathers)
      bytes += rowBytes(weight, layout);
  }
  return bytes;
}

/// An operation of the region per element; statistics and exp count as one: such kernels move bytes.
static int64_t rowwiseOperations(kernel::RowwiseOp op) {
  int64_t elements = 0;
  for (Value y : op.getOutputs())
    elements = std::max(elements, cast<kernel::RowsType>(y.getType()).getN());
  int64_t operations = 0;
  op.getBody().walk([&](Operation *inner) { operations += !isa<kernel::YieldOp>(inner); });
  return operations * elements;
}

std::unique_ptr<fb::KernelCostT> compiler::kernelWork(kernel::FuncOp fn, fb::WeightLayout layout) {
  auto cost = std::make_unique<fb::KernelCostT>();
  cost->arithmetic = fb::Arithmetic::F32;
  cost->per_row = kernel::isPerRow(fn);
  cost->bytes_per_unit = bytesPerUnit(fn, layout);
  Operation *op = fn.structuredOp();
  if (auto matmul = dyn_cast<kernel::MatmulOp>(op))
    cost->operations_per_unit = cpu::matmulOperations(matmul);
  else if (auto rowwise = dyn_cast<kernel::RowwiseOp>(op))
    cost->operations_per_unit = rowwiseOperations(rowwise);
  else if (auto attention = dyn_cast<kernel::AttentionOp>(op)) {
    kernel::KvPoolType pool = attention.getKv().getType();
    cost->bytes_per_position = pool.pageBytes() / kPageTokens;
    cost->operations_per_position = 4 * attention.getHeads() * pool.getHeadDim(); // q k and p v
  } else if (auto append = dyn_cast<kernel::RopeAppendOp>(op))
    cost->operations_per_unit =
        append.getTable() ? 3 * (append.getQ().getType().getN() + append.getK().getType().getN())
                          : 0;
  else if (auto gather = dyn_cast<kernel::GatherOp>(op))
    cost->operations_per_unit = 2 * gather.getOutput().getType().getN();
  return cost;
}
