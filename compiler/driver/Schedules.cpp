//===- Schedules.cpp - See Schedules.h ------------------------------------===//
#include "compiler/driver/Schedules.h"
#include "codegen/schedule/MatmulSchedule.h"
#include "compiler/driver/HostCpu.h"
#include "passes/planning/KernelEffects.h"
#include "runtime/device/Batch.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static constexpr const char *kModel = "model", *kGiven = "given";

/// The file of that name among those built in; shipped files are ours to keep right.
static const cpu::ShippedRows *shipped(StringRef name) {
  for (const cpu::ShippedRows &rows : cpu::shippedRows())
    if (name == rows.name)
      return &rows;
  return nullptr;
}

static RowsOfLevel parseShipped(const cpu::ShippedRows &rows) {
  auto table = cpu::parseTuningRows(rows.text, rows.name);
  assert(table && "a shipped file of rows is wrong"); // TuningRowsTest reads them all
  return std::move(*table);
}

Result<RowsOfLevel> compiler::rowsFor(const CompileOptions &options, const cpu::Isa &isa) {
  if (options.noTuning)
    return RowsOfLevel();
  if (!options.tuning.empty()) {
    auto file = llvm::MemoryBuffer::getFile(options.tuning, /*IsText=*/true);
    if (!file)
      return Error{ExitCode::File, "E0444", "cannot read the tuning rows", options.tuning + ": " + file.getError().message(),
                   "write them with: ingot tune MODEL -o rows.json"};
    auto table = cpu::parseTuningRows((*file)->getBuffer(), options.tuning);
    if (!table)
      return table.error();
    return RowsOfLevel(std::move(*table));
  }
  if (options.tuneFor == "native") {
    cpu::CpuName host = hostCpuName();
    for (const cpu::ShippedRows &rows : cpu::shippedRows())
      if (RowsOfLevel table = parseShipped(rows); table->cpu.covers(host))
        return table;
    return RowsOfLevel();
  }
  if (options.tuneFor.empty()) {
    const cpu::ShippedRows *rows = shipped(cpu::machineOf(isa).name);
    return rows ? parseShipped(*rows) : RowsOfLevel();
  }
  if (const cpu::ShippedRows *rows = shipped(options.tuneFor))
    return parseShipped(*rows);
  std::string names;
  for (const cpu::ShippedRows &rows : cpu::shippedRows())
    names += std::string(", ") + rows.name;
  return Error{ExitCode::Usage, "E0445", "there are no tuning rows for '" + options.tuneFor + "'",
               "there are: native" + names, "--tune-for native, or your own: --tuning rows.json"};
}

ScheduledKernels::ScheduledKernels(ArrayRef<kernel::FuncOp> kernels, const cpu::Isa &isa, const RowsOfLevel &rows)
    : isa(isa) {
  for (kernel::FuncOp original : kernels) {
    kernel::FuncOp copy = original.clone();
    owned.emplace_back(copy);
    functions.push_back(copy);
    std::string &source = sources.emplace_back();
    auto matmul = dyn_cast<kernel::MatmulOp>(copy.structuredOp());
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
  return llvm::count_if(sources, [](const std::string &s) { return !s.empty() && s != kModel && s != kGiven; });
}
size_t ScheduledKernels::matmuls() const {
  return llvm::count_if(sources, [](const std::string &s) { return !s.empty(); });
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// "tiles = [6, 4, 2, 1], block = 120, prefetch = 4096", as the attribute prints.
static std::string textOf(kernel::ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << Attribute(schedule);
  StringRef inner(text);
  return inner.slice(inner.find('<') + 1, inner.rfind('>')).str();
}

/// Bytes that a launch moves per token (or row) beside weights and the KV cache it reads.
static int64_t bytesPerUnit(kernel::FuncOp fn) {
  int64_t bytes = 0;
  bool gathers = isa<kernel::GatherOp>(fn.structuredOp());
  for (auto [argument, effect] : llvm::zip(fn.getArguments(), operandEffects(fn))) {
    if (auto rows = dyn_cast<kernel::RowsType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * rows.rowBytes();
    else if (auto pool = dyn_cast<kernel::KvPoolType>(argument.getType()))
      bytes += effect.writes * pool.pageBytes() / kPageTokens;
    else if (auto weight = cast<lm::WeightType>(argument.getType()); gathers)
      bytes += kernel::packedBytes(weight) / roundUp(weight.rows(), kPanelRows);
  }
  return bytes;
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
  cost.operations_per_unit = cpu::matmulOperations(op);
  for (int64_t tokens : cpu::kModelTokens) {
    cpu::MatmulCost predicted = cpu::matmulCost(op, op.getScheduleAttr(), isa, cpu::machineOf(isa), tokens);
    cost.predicted.push_back({static_cast<uint64_t>(tokens), static_cast<uint64_t>(predicted.coreSeconds * 1e9),
                              static_cast<uint64_t>(predicted.memoryBytes)});
  }
}

/// An operation of the region per element; statistics and exp count as one: such kernels move bytes.
static void addRowwise(kernel::RowwiseOp op, fb::KernelCostT &cost) {
  int64_t elements = 0;
  for (Value y : op.getOutputs())
    elements = std::max(elements, cast<kernel::RowsType>(y.getType()).getN());
  int64_t operations = 0;
  op.getBody().walk([&](Operation *inner) { operations += !isa<kernel::YieldOp>(inner); });
  cost.operations_per_unit = operations * elements;
}

std::vector<std::unique_ptr<fb::KernelCostT>> ScheduledKernels::costs() const {
  std::vector<std::unique_ptr<fb::KernelCostT>> all;
  for (auto [fn, source] : llvm::zip_equal(functions, sources)) {
    auto cost = std::make_unique<fb::KernelCostT>();
    cost->arithmetic = fb::Arithmetic::F32;
    cost->per_row = kernel::isPerRow(fn);
    cost->bytes_per_unit = bytesPerUnit(fn);
    cost->source = source;
    Operation *op = kernel::FuncOp(fn).structuredOp();
    if (auto matmul = dyn_cast<kernel::MatmulOp>(op))
      addMatmul(matmul, isa, *cost);
    else if (auto rowwise = dyn_cast<kernel::RowwiseOp>(op))
      addRowwise(rowwise, *cost);
    else if (auto attention = dyn_cast<kernel::AttentionOp>(op)) {
      kernel::KvPoolType pool = attention.getKv().getType();
      cost->bytes_per_position = pool.pageBytes() / kPageTokens;
      cost->operations_per_position = 4 * attention.getHeads() * pool.getHeadDim(); // q k and p v
    } else if (auto append = dyn_cast<kernel::RopeAppendOp>(op))
      cost->operations_per_unit = append.getTable() ? 3 * (append.getQ().getType().getN() + append.getK().getType().getN()) : 0;
    else if (auto gather = dyn_cast<kernel::GatherOp>(op))
      cost->operations_per_unit = 2 * gather.getOutput().getType().getN();
    all.push_back(std::move(cost));
  }
  return all;
}
