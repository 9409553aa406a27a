//===- Schedules.cpp - See Schedules.h ------------------------------------===//
#include "compiler/targets/cpu/Schedules.h"
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "compiler/targets/KernelWork.h"
#include "dialects/kernel/ops/Matmul.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static constexpr const char *kModel = "model", *kGiven = "given";

Result<Rows> compiler::rowsFor(const CompileOptions &options) {
  if (options.tuning.empty())
    return Rows();
  auto file = llvm::MemoryBuffer::getFile(options.tuning, /*IsText=*/true);
  if (!file)
    return Error{ExitCode::File, "E0444", "cannot read the tuning rows",
                 options.tuning + ": " + file.getError().message(),
                 "write them with: ingot tune MODEL -o rows.json"};
  auto table = cpu::parseTuningRows((*file)->getBuffer(), options.tuning);
  if (!table)
    return table.error();
  return Rows(std::move(*table));
}

ScheduledKernels::ScheduledKernels(ArrayRef<kernel::FuncOp> kernels, const cpu::Isa &isa,
                                   const Rows &rows)
    : isa(isa) {
  for (kernel::FuncOp original : kernels) {
    kernel::FuncOp copy = original.clone();
    owned.emplace_back(copy);
    functions.push_back(copy);
    std::string &source = sources.emplace_back();
    auto matmul = dyn_cast<kernel::MatmulOp>(copy.anchor());
    if (!matmul)
      continue;
    const cpu::TuningRow *row = rows ? rows->find(cpu::shapeOf(matmul), isa) : nullptr;
    source = matmul.getScheduleAttr() ? kGiven : row ? rows->origin : kModel;
    if (row && !matmul.getScheduleAttr())
      matmul.setScheduleAttr(cpu::scheduleOf(*row, copy.getContext()));
    else
      matmul.setScheduleAttr(cpu::matmulSchedule(matmul, isa));
  }
}

size_t ScheduledKernels::rowsUsed() const {
  return llvm::count_if(
      sources, [](const std::string &s) { return !s.empty() && s != kModel && s != kGiven; });
}
size_t ScheduledKernels::matmuls() const {
  return llvm::count_if(sources, [](const std::string &s) { return !s.empty(); });
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// "tiles = [6, 4, 2, 1], block = 120, prefetch = 4096", as printed in the attribute.
static std::string textOf(kernel::ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << Attribute(schedule);
  StringRef inner(text);
  return inner.slice(inner.find('<') + 1, inner.rfind('>')).str();
}

static fb::Arithmetic arithmeticOf(cpu::Arithmetic unit) {
  return unit == cpu::Arithmetic::Int8   ? fb::Arithmetic::Int8
         : unit == cpu::Arithmetic::Bf16 ? fb::Arithmetic::Bf16
                                         : fb::Arithmetic::F32;
}

static void addMatmul(kernel::MatmulOp op, const cpu::Isa &isa, fb::KernelCostT &cost) {
  cost.schedule = textOf(op.getScheduleAttr());
  cost.shape = cpu::shapeOf(op).text();
  cost.arithmetic = arithmeticOf(cpu::arithmeticOf(op, isa));
  for (int64_t tokens : cpu::kModelTokens) {
    cpu::MatmulCost predicted =
        cpu::matmulCost(op, op.getScheduleAttr(), isa, *isa.machine, tokens);
    cost.predicted.push_back({static_cast<uint64_t>(tokens),
                              static_cast<uint64_t>(predicted.coreSeconds * 1e9),
                              static_cast<uint64_t>(predicted.memoryBytes)});
  }
}

std::vector<std::unique_ptr<fb::KernelCostT>> ScheduledKernels::costs() const {
  std::vector<std::unique_ptr<fb::KernelCostT>> all;
  for (auto [fn, source] : llvm::zip_equal(functions, sources)) {
    auto cost = kernelWork(fn);
    cost->source = source;
    if (auto matmul = dyn_cast<kernel::MatmulOp>(kernel::FuncOp(fn).anchor()))
      addMatmul(matmul, isa, *cost);
    all.push_back(std::move(cost));
  }
  return all;
}
