//===- Schedules.cpp - See Schedules.h ------------------------------------===//
#include "compiler/targets/cpu/Schedules.h"
#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "compiler/targets/KernelWork.h"
#include "dialects/kernel/ops/Matmul.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

ScheduledKernels::ScheduledKernels(ArrayRef<kernel::FuncOp> kernels, const codegen::cpu::Isa &isa)
    : isa(isa) {
  for (kernel::FuncOp original : kernels) {
    kernel::FuncOp copy = original.clone();
    owned.emplace_back(copy);
    functions.push_back(copy);
    std::string &source = sources.emplace_back();
    auto matmul = dyn_cast<kernel::MatmulOp>(copy.anchor());
    if (!matmul)
      continue;
    source = matmul.getScheduleAttr() ? "given" : "model";
    matmul.setScheduleAttr(codegen::cpu::matmulSchedule(matmul, isa));
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Returns the schedule as the attribute prints it: "tiles = [6, 4, 2, 1], block = 120, prefetch = 4096".
static std::string textOf(kernel::ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << Attribute(schedule);
  StringRef inner(text);
  return inner.slice(inner.find('<') + 1, inner.rfind('>')).str();
}

/// Returns "q8 x q4_0 2048x2048, 2 * q4_0 512x2048 pair": the encoding of the rows as they are multiplied (f32 rows may
/// be rounded to bf16), and the format, N and K of the weights.
static std::string shapeOf(kernel::MatmulOp op) {
  kernel::RowKind kind = op.xType().getKind();
  std::string text = kind == kernel::RowKind::F32 && op.getFastFloat()
                         ? "bf16"
                         : kernel::stringifyRowKind(kind).str();
  TypeRange weights = op.getWeights().getTypes();
  for (size_t i = 0, end; i < weights.size(); i = end) {
    for (end = i + 1; end < weights.size() && weights[end] == weights[i];)
      ++end;
    auto type = cast<lm::WeightType>(weights[i]);
    text += i ? ", " : " x ";
    if (end - i > 1)
      text += std::to_string(end - i) + " * ";
    text += std::string(type.numeric().name) + " ";
    if (type.isStack())
      text += std::to_string(type.matrices()) + "x";
    text += std::to_string(type.rows()) + "x" + std::to_string(type.columns());
  }
  return text + (op.getGated() ? " pair" : "");
}

static fb::Arithmetic arithmeticOf(codegen::cpu::Arithmetic unit) {
  return unit == codegen::cpu::Arithmetic::Int8   ? fb::Arithmetic::Int8
         : unit == codegen::cpu::Arithmetic::Bf16 ? fb::Arithmetic::Bf16
                                                  : fb::Arithmetic::F32;
}

static void addMatmul(kernel::MatmulOp op, const codegen::cpu::Isa &isa, fb::KernelCostT &cost) {
  cost.schedule = textOf(op.getScheduleAttr());
  cost.shape = shapeOf(op);
  cost.arithmetic = arithmeticOf(codegen::cpu::arithmeticOf(op, isa));
  for (int64_t tokens : codegen::cpu::kModelTokens) {
    codegen::cpu::MatmulCost predicted =
        codegen::cpu::matmulCost(op, op.getScheduleAttr(), isa, *isa.machine, tokens);
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
