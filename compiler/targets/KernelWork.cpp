//===- KernelWork.cpp - See KernelWork.h ----------------------------------===//
#include "compiler/targets/KernelWork.h"
#include "dialects/kernel/ops/Structure.h"
#include "passes/planning/KernelEffects.h"
#include "runtime/abi/Batch.h"
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
/// tokens alone is left out, as the plan's traffic does (passes/planning/CountTraffic.cpp), and so are workspaces.
static int64_t bytesPerUnit(kernel::FuncOp fn, fb::WeightLayout layout) {
  int64_t bytes = 0;
  kernel::LaunchInterface op = fn.launch();
  for (auto [argument, effect] : llvm::zip(fn.getArguments(), operandEffects(fn))) {
    if (layout == fb::WeightLayout::Fragment16 && op.isForFewTokens(argument))
      continue;
    if (auto rows = dyn_cast<kernel::RowsType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * rows.rowBytes();
    else if (auto pool = dyn_cast<kernel::KvPoolType>(argument.getType()))
      bytes += effect.writes * pool.pageBytes() / kPageTokens;
    else if (auto state = dyn_cast<kernel::FixedStateType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * state.slotBytes(); // of a sequence that decodes
    else if (auto weight = dyn_cast<lm::WeightType>(argument.getType());
             weight && op.gathersWeights())
      bytes += rowBytes(weight, layout);
  }
  return bytes;
}

std::unique_ptr<fb::KernelCostT> compiler::kernelWork(kernel::FuncOp fn, fb::WeightLayout layout) {
  kernel::LaunchInterface op = fn.launch();
  auto cost = std::make_unique<fb::KernelCostT>();
  cost->arithmetic = fb::Arithmetic::F32;
  cost->per_row = op.isPerRow();
  cost->bytes_per_unit = bytesPerUnit(fn, layout);
  cost->operations_per_unit = op.operationsPerUnit();
  cost->bytes_per_position = op.bytesPerPosition();
  cost->operations_per_position = op.operationsPerPosition();
  return cost;
}
