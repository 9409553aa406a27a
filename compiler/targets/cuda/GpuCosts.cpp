//===- GpuCosts.cpp - See GpuCosts.h --------------------------------------===//
#include "compiler/targets/cuda/GpuCosts.h"
#include "compiler/targets/KernelWork.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/Routes.h"
#include "runtime/engine/GpuMachine.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// The unit counts for which the time of a launch is predicted. The predicted time is the maximum of a time for memory
/// and a time for arithmetic. Between these counts both are linear, except where multiplication in fp8 begins
/// (fp8From).
static constexpr uint64_t kUnits[] = {1, 8, 64, 65, 512, 2048};
/// The unit counts for experts. Few tokens read only some of the experts, and the share that is read is not linear in
/// the number of tokens.
static constexpr uint64_t kUnitsOfExperts[] = {1, 2, 4, 8, 16, 32, 64, 128, 512, 2048};

/// Returns the section's first launch of the kernel in any specialisation, or null if there is none.
static const fb::LaunchT *launchOf(const fb::SectionT &section, uint32_t kernel) {
  for (const auto &one : section.cases)
    for (const auto &launch : one->launches)
      if (launch->kernel == kernel)
        return launch.get();
  return nullptr;
}

/// Returns the stored bytes of all weights that are operands of one launch of the kernel. The layers of a kind have the
/// same sizes, so the first launch is enough.
static uint64_t weightBytes(const fb::ProgramT &program, uint32_t kernel) {
  for (const auto &step : program.entries.front()->steps)
    if (const fb::LaunchT *launch = launchOf(*program.sections[step->section], kernel)) {
      uint64_t bytes = 0;
      for (const fb::Arg &arg : launch->args)
        if (arg.kind() == fb::ArgKind::Weight)
          bytes += program.weights[arg.index()]->size;
        else if (arg.kind() == fb::ArgKind::LayerWeight)
          bytes += program.weights[step->weights[arg.index()]]->size;
      return bytes;
    }
  return 0;
}

/// Returns the smallest number of units that is multiplied in fp8, or 0 if nothing is. It is one more than the largest
/// number that earlier variants accept. If a kernel has no earlier variants, it is the smallest count for which the
/// kernel is launched.
static uint64_t fp8From(kernel::FuncOp kernel, const fb::KernelVariantsT &variants) {
  uint64_t from = uint64_t(kernel.leastCount());
  for (const auto &v : variants.variants) {
    if (StringRef(v->symbol).ends_with("_wgmma_fp8"))
      return from;
    from = std::max(v->max_tokens, v->max_rows) + 1;
  }
  return 0;
}

/// Returns the unit counts for which the time of a projection is predicted. The projection multiplies in fp8 from `fp8`
/// units on (0: never).
static SmallVector<uint64_t> unitsOf(kernel::MatmulOp op, uint64_t fp8) {
  if (!op.getRoutes())
    return SmallVector<uint64_t>(ArrayRef(kUnits));
  SmallVector<uint64_t> units{ArrayRef(kUnitsOfExperts)};
  if (fp8 > 1)
    units.append({fp8 - 1, fp8});
  llvm::sort(units);
  units.erase(llvm::unique(units), units.end());
  return units;
}

/// Predicts the time of a projection. Other kernels need no prediction: they have no weights, and their work is
/// proportional to their units.
static void predict(fb::KernelCostT &cost, kernel::MatmulOp op, uint64_t weights, uint64_t fp8,
                    const runtime::GpuMachine &machine) {
  auto read = [&](uint64_t tokens) {
    const double share = op.getRoutes() ? shareOfExperts(double(op.experts()),
                                                         double(op.rowsOfToken()), double(tokens))
                                        : 1;
    return static_cast<uint64_t>(share * double(weights));
  };
  for (uint64_t units : unitsOf(op, fp8)) {
    const double perClock = fp8 && units >= fp8 ? machine.fp8PerClock : machine.bf16PerClock;
    const double nanoseconds = static_cast<double>(units * cost.operations_per_unit) /
                               (machine.gops(perClock) * machine.reached);
    cost.predicted.push_back(
        {units, static_cast<uint64_t>(nanoseconds), read(units) + units * cost.bytes_per_unit});
  }
}

std::vector<std::unique_ptr<fb::KernelCostT>> compiler::gpuCosts(ArrayRef<kernel::FuncOp> kernels,
                                                                 const fb::ProgramT &program,
                                                                 const fb::CodeObjectT &code) {
  const runtime::GpuMachine &machine = *runtime::gpuMachineFor(code.target);
  std::vector<std::unique_ptr<fb::KernelCostT>> all;
  for (auto [k, kernel] : llvm::enumerate(kernels)) {
    auto cost = kernelWork(kernel);
    Operation *op = kernel::FuncOp(kernel).anchor();
    if (isa<kernel::AttentionOp, kernel::MatmulOp>(op))
      cost->arithmetic = fb::Arithmetic::Bf16;
    if (auto matmul = dyn_cast<kernel::MatmulOp>(op))
      predict(*cost, matmul, weightBytes(program, k), fp8From(kernel, *code.variants[k]), machine);
    all.push_back(std::move(cost));
  }
  return all;
}
