//===- EngineTable.cpp - One to one from the plan to FlatBuffers ----------===//
#include "compiler/driver/EngineTable.h"
#include "codegen/cpu/CpuCodegen.h"
#include "runtime/formats/FragmentLayout.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static fb::BufferClass classOf(plan::BufferClass kind) {
  switch (kind) {
  case plan::BufferClass::PerToken: return fb::BufferClass::PerToken;
  case plan::BufferClass::PerRow: return fb::BufferClass::PerRow;
  case plan::BufferClass::Fixed: return fb::BufferClass::Fixed;
  }
  llvm_unreachable("all classes are covered");
}

static fb::ElementType elementOf(StringRef name) {
  return name == "f32"   ? fb::ElementType::F32
         : name == "f16" ? fb::ElementType::F16
         : name == "fp8" ? fb::ElementType::Fp8
         : name == "int8" ? fb::ElementType::Int8
                          : fb::ElementType::BF16;
}

static std::unique_ptr<fb::GridT> gridOf(kernel::WorkItems items) {
  auto grid = std::make_unique<fb::GridT>();
  constexpr fb::GridBase bases[] = {fb::GridBase::Constant, fb::GridBase::Tokens, fb::GridBase::Rows, fb::GridBase::Tiles};
  grid->base = bases[items.base];
  grid->factor = items.factor;
  return grid;
}

namespace {
/// Numbers of symbols in the lists of the table.
using Numbers = llvm::StringMap<uint32_t>;

struct Lists {
  Numbers kernels, buffers, weights, sections;

  fb::Arg argOf(Attribute operand) const {
    if (auto ref = dyn_cast<plan::BufferRefAttr>(operand))
      return {fb::ArgKind::Buffer, buffers.lookup(ref.getSymbol().getValue())};
    if (auto ref = dyn_cast<plan::WeightRefAttr>(operand))
      return {fb::ArgKind::Weight, weights.lookup(ref.getSymbol().getValue())};
    if (auto ref = dyn_cast<plan::LayerWeightRefAttr>(operand))
      return {fb::ArgKind::LayerWeight, static_cast<uint32_t>(ref.getIndex())};
    return {fb::ArgKind::Kv, 0};
  }
};
} // namespace

/// Places a weight at the end of its region, the segment or the seeded memory.
static std::unique_ptr<fb::WeightT> weightOf(plan::WeightOp op, uint32_t number, const TableChoices &choices, bool made, uint64_t &at) {
  lm::WeightType type = op.getType();
  auto weight = std::make_unique<fb::WeightT>();
  weight->name = op.getSymName().str();
  weight->format = std::string(type.numeric().name);
  weight->shape.assign(type.getShape().begin(), type.getShape().end());
  weight->layout = type.isVector() ? fb::WeightLayout::VectorF32 : choices.layout;
  weight->size = weight->layout == fb::WeightLayout::Fragment16
                     ? fragmentLayout(type.getFormat(), type.rows(), type.columns()).bytes()
                     : kernel::packedBytes(type);
  weight->tensor = made ? number : 0;
  weight->source = made ? fb::WeightSource::Seed : fb::WeightSource::Stored;
  weight->segment = made ? 0 : choices.weightSegment;
  weight->offset = at;
  at += roundUp(weight->size, 64);
  return weight;
}

/// The rows that the head reads, if they are of a kind that the runtime decodes.
static void noteHiddenRows(plan::ProgramOp program, const Lists &lists, ArrayRef<kernel::FuncOp> kernels, fb::EngineT &table) {
  program.walk([&](plan::LaunchOp launch) {
    auto isLogits = [&](Attribute arg) {
      auto ref = dyn_cast<plan::BufferRefAttr>(arg);
      return ref && program.getLogits() && ref.getSymbol().getValue() == *program.getLogits();
    };
    if (launch.getArgs().empty() || llvm::none_of(launch.getArgs(), isLogits))
      return;
    auto source = dyn_cast<plan::BufferRefAttr>(launch.getArgs()[0]);
    kernel::FuncOp fn = kernels[lists.kernels.lookup(launch.getKernel())];
    auto rows = dyn_cast<kernel::RowsType>(fn.getArgumentTypes()[0]);
    if (!source || !rows || (rows.getKind() != kernel::RowKind::F32 && rows.getKind() != kernel::RowKind::Q8x2))
      return;
    const uint32_t buffer = lists.buffers.lookup(source.getSymbol().getValue());
    if (table.buffers[buffer]->class_ != fb::BufferClass::PerRow)
      return;
    table.hidden_rows = int32_t(buffer);
    table.hidden_planes = rows.getKind() == kernel::RowKind::Q8x2;
  });
}

uint64_t compiler::planToTable(plan::ProgramOp program, fb::EngineT &table, const TableChoices &choices,
                               SmallVectorImpl<kernel::FuncOp> &kernels) {
  Lists lists;
  uint64_t weightBytes = 0, seedBytes = 0;
  for (auto fn : program->getParentOfType<ModuleOp>().getOps<kernel::FuncOp>()) {
    lists.kernels[fn.getSymName()] = kernels.size();
    kernels.push_back(fn);
    kernel::WorkItems items = kernel::workItems(fn);
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = fn.getSymName().str();
    kernel->family = kernel::family(fn).str();
    kernel->grid = gridOf(items);
    kernel->partition = items.cyclic ? fb::Partition::Cyclic : fb::Partition::Contiguous;
    kernel->args = fn.getNumArguments();
    kernel->scratch_bytes = choices.layout == fb::WeightLayout::Panel32 ? cpu::scratchBytes(fn) : 0;
    table.kernels.push_back(std::move(kernel));
  }
  for (Operation &op : program.getBody().front()) {
    if (auto weight = dyn_cast<plan::WeightOp>(op)) {
      lists.weights[weight.getSymName()] = table.weights.size();
      bool made = choices.seeded && !weight.getValuesAttr();
      table.weights.push_back(weightOf(weight, table.weights.size(), choices, made, made ? seedBytes : weightBytes));
    } else if (auto buffer = dyn_cast<plan::BufferOp>(op)) {
      lists.buffers[buffer.getSymName()] = table.buffers.size();
      auto entry = std::make_unique<fb::BufferT>();
      entry->name = buffer.getSymName().str();
      entry->class_ = classOf(buffer.getClassKind());
      entry->per_unit = buffer.getBytes();
      entry->offset = buffer.getOffset().value_or(0);
      table.buffers.push_back(std::move(entry));
    } else if (auto slot = dyn_cast<plan::KvSlotOp>(op)) {
      auto entry = std::make_unique<fb::KvSlotT>();
      entry->kv_heads = slot.getKvHeads();
      entry->head_dim = slot.getHeadDim();
      entry->type = elementOf(slot.getElement());
      entry->window = slot.getWindow();
      entry->page_bytes = slot.getPageBytes();
      table.kv_slots.push_back(std::move(entry));
    }
  }
  for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>()) {
    lists.sections[section.getSymName()] = table.sections.size();
    auto entry = std::make_unique<fb::SectionT>();
    entry->name = section.getSymName().str();
    for (plan::LaunchOp launch : section.getBody().getOps<plan::LaunchOp>()) {
      auto item = std::make_unique<fb::LaunchT>();
      item->kernel = lists.kernels.lookup(launch.getKernel());
      for (Attribute operand : launch.getArgs())
        item->args.push_back(lists.argOf(operand));
      item->barrier = !launch.getNoBarrier();
      entry->launches.push_back(std::move(item));
    }
    table.sections.push_back(std::move(entry));
  }
  for (plan::StepOp step : program.getBody().getOps<plan::StepOp>()) {
    auto entry = std::make_unique<fb::StepT>();
    entry->section = lists.sections.lookup(step.getSection());
    if (step.getWeights())
      for (auto ref : step.getWeights()->getAsRange<FlatSymbolRefAttr>())
        entry->weights.push_back(lists.weights.lookup(ref.getValue()));
    entry->kv_slot = step.getKvSlot() ? int32_t(*step.getKvSlot()) : -1;
    entry->layer = step.getLayer() ? int32_t(*step.getLayer()) : -1;
    table.steps.push_back(std::move(entry));
  }
  table.logits_buffer = lists.buffers.lookup(program.getLogits().value_or(""));
  if (program.getGreedyKeys())
    table.greedy_keys = lists.buffers.lookup(*program.getGreedyKeys());
  if (program.getMaxima())
    table.logit_maxima = lists.buffers.lookup(*program.getMaxima());
  if (choices.layout == fb::WeightLayout::Panel32)
    noteHiddenRows(program, lists, kernels, table);
  return weightBytes;
}
