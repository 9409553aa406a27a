//===- EngineTable.cpp - See EngineTable.h --------------------------------===//
#include "compiler/driver/engine/EngineTable.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "runtime/abi/Batch.h"
#include "runtime/kv/KvGroup.h"

#include "llvm/ADT/StringMap.h"

#include <cassert>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using runtime::kReadBlock;

static fb::BufferClass classOf(plan::BufferClass kind) {
  switch (kind) {
  case plan::BufferClass::PerToken:
    return fb::BufferClass::PerToken;
  case plan::BufferClass::PerRow:
    return fb::BufferClass::PerRow;
  case plan::BufferClass::Fixed:
    return fb::BufferClass::Fixed;
  }
  llvm_unreachable("all classes are covered");
}

static std::unique_ptr<fb::GridT> gridOf(kernel::WorkItems items) {
  auto grid = std::make_unique<fb::GridT>();
  constexpr fb::GridBase bases[] = {fb::GridBase::Constant, fb::GridBase::Tokens,
                                    fb::GridBase::Rows, fb::GridBase::Tiles, fb::GridBase::Spans};
  assert(size_t(items.base) < std::size(bases) && items.factor >= 1 && "a kernel has work items");
  grid->base = bases[items.base];
  grid->factor = items.factor;
  return grid;
}

// The plan's enumerations have the same numbers as the engine's.
template <typename To, typename From> static To sameAs(From value) {
  static_assert(plan::getMaxEnumValForMode() == uint32_t(fb::Mode::MAX) &&
                plan::getMaxEnumValForQuantity() == uint32_t(fb::Quantity::MAX) &&
                plan::getMaxEnumValForOutputRole() == uint32_t(fb::OutputRole::MAX) &&
                plan::getMaxEnumValForEncoding() == uint32_t(fb::Encoding::MAX));
  return static_cast<To>(static_cast<uint32_t>(value));
}

namespace {
/// The indices of symbols in the lists of the table.
using Numbers = llvm::StringMap<uint32_t>;

struct Lists {
  Numbers kernels, buffers, weights, states, sections;

  fb::Arg argOf(Attribute operand) const {
    if (auto ref = dyn_cast<plan::BufferRefAttr>(operand)) {
      assert(buffers.contains(ref.getSymbol().getValue()) && "the verifier of plans finds buffers");
      return {fb::ArgKind::Buffer, buffers.lookup(ref.getSymbol().getValue())};
    }
    if (auto ref = dyn_cast<plan::WeightRefAttr>(operand)) {
      assert(weights.contains(ref.getSymbol().getValue()) && "the verifier of plans finds weights");
      return {fb::ArgKind::Weight, weights.lookup(ref.getSymbol().getValue())};
    }
    if (auto ref = dyn_cast<plan::LayerWeightRefAttr>(operand))
      return {fb::ArgKind::LayerWeight, static_cast<uint32_t>(ref.getIndex())};
    return {fb::ArgKind::State,
            static_cast<uint32_t>(cast<plan::StateRefAttr>(operand).getIndex())};
  }
};
} // namespace

static fb::WeightLayout layoutOf(lm::WeightType type) {
  if (type.isVector())
    return fb::WeightLayout::VectorF32;
  assert(type.getLayout() != lm::WeightLayout::Open && "kernel-choose-layouts has run");
  return type.getLayout() == lm::WeightLayout::Panel32 ? fb::WeightLayout::Panel32
                                                       : fb::WeightLayout::Fragment16;
}

/// Places a weight at the end of its region. The region is the weight segment, or the memory for weights that the
/// device generates.
static std::unique_ptr<fb::WeightT> weightOf(plan::WeightOp op, uint32_t number,
                                             const TableChoices &choices, bool made, uint64_t &at) {
  lm::WeightType type = op.getType();
  auto weight = std::make_unique<fb::WeightT>();
  weight->name = op.getSymName().str();
  weight->format = std::string(type.numeric().name);
  weight->shape.assign(type.getShape().begin(), type.getShape().end());
  weight->layout = layoutOf(type);
  weight->size = kernel::packedBytes(type);
  weight->tensor = made ? number : 0;
  weight->source = made ? fb::WeightSource::Seed : fb::WeightSource::Stored;
  weight->segment = made ? 0 : choices.weightSegment;
  weight->offset = at;
  at += roundUp(weight->size, 64);
  return weight;
}

static std::unique_ptr<fb::StateT> stateOf(plan::StateOp from) {
  auto state = std::make_unique<fb::StateT>();
  state->name = from.getSymName().str();
  auto fixed = dyn_cast<lm::FixedAttr>(from.getLayout());
  state->kind = fixed ? fb::StateKind::Fixed : fb::StateKind::Paged;
  for (lm::StreamAttr own :
       fixed ? fixed.getStreams() : cast<lm::PagedAttr>(from.getLayout()).getStreams()) {
    auto stream = std::make_unique<fb::StreamT>();
    stream->name = own.getName().str();
    stream->heads = own.getRows();
    stream->width = own.getWidth();
    stream->format = fixed ? "f32" : from.getElement()->str();
    state->streams.push_back(std::move(stream));
  }
  state->window = from.getWindow().value_or(0);
  (fixed ? state->slot_bytes : state->page_bytes) = from.getBytes();
  return state;
}

static std::unique_ptr<fb::CaseT> caseOf(const plan::Case &from, const Lists &lists) {
  auto to = std::make_unique<fb::CaseT>();
  if (from.when)
    for (const plan::Condition &condition : from.when.getConditions()) {
      to->when.push_back(std::make_unique<fb::ConditionT>());
      to->when.back()->quantity = sameAs<fb::Quantity>(condition.quantity);
      to->when.back()->value = condition.value;
    }
  for (plan::LaunchOp launch : from.launches()) {
    auto item = std::make_unique<fb::LaunchT>();
    item->kernel = lists.kernels.lookup(launch.getKernel());
    for (Attribute operand : launch.getArgs())
      item->args.push_back(lists.argOf(operand));
    item->barrier = !launch.getNoBarrier();
    to->launches.push_back(std::move(item));
  }
  return to;
}

static std::unique_ptr<fb::EntryT> entryOf(plan::EntryOp from, const Lists &lists) {
  auto to = std::make_unique<fb::EntryT>();
  to->name = from.getSymName().str();
  for (plan::Mode mode : from.getModes().getModes())
    to->modes.push_back(sameAs<fb::Mode>(mode));
  for (plan::StepOp op : from.getBody().getOps<plan::StepOp>()) {
    auto step = std::make_unique<fb::StepT>();
    step->section = lists.sections.lookup(op.getSection());
    if (op.getWeights())
      for (auto ref : op.getWeights()->getAsRange<FlatSymbolRefAttr>())
        step->weights.push_back(lists.weights.lookup(ref.getValue()));
    if (op.getStates())
      for (auto ref : op.getStates()->getAsRange<FlatSymbolRefAttr>())
        step->states.push_back(lists.states.lookup(ref.getValue()));
    step->layer = op.getLayer() ? int32_t(*op.getLayer()) : -1;
    to->steps.push_back(std::move(step));
  }
  for (plan::OutputOp op : from.getBody().getOps<plan::OutputOp>()) {
    auto output = std::make_unique<fb::OutputT>();
    output->role = sameAs<fb::OutputRole>(op.getRole());
    output->encoding = sameAs<fb::Encoding>(op.getEncoding());
    output->buffer = lists.buffers.lookup(op.getBuffer());
    to->outputs.push_back(std::move(output));
  }
  return to;
}

static std::unique_ptr<fb::AbiT> abiOf(const TableChoices &choices) {
  auto abi = std::make_unique<fb::AbiT>();
  abi->page_tokens = kPageTokens;
  abi->attention_tile = kAttentionTile;
  abi->greedy_rows = choices.greedyRows;
  abi->read_block = kReadBlock;
  return abi;
}

uint64_t compiler::planToTable(plan::ProgramOp program, fb::ProgramT &table,
                               const TableChoices &choices,
                               SmallVectorImpl<kernel::FuncOp> &kernels) {
  Lists lists;
  uint64_t weightBytes = 0, seedBytes = 0;
  for (auto fn : program->getParentOfType<ModuleOp>().getOps<kernel::FuncOp>()) {
    lists.kernels[fn.getSymName()] = kernels.size();
    kernels.push_back(fn);
    kernel::WorkItems items = fn.launch().workItems();
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = fn.getSymName().str();
    kernel->family = fn.launch().family().str();
    kernel->grid = gridOf(items);
    kernel->partition = items.cyclic ? fb::Partition::Cyclic : fb::Partition::Contiguous;
    kernel->args = fn.getNumArguments();
    for (Type type : fn.getArgumentTypes())
      if (auto routes = dyn_cast<kernel::RoutesType>(type))
        kernel->experts = routes.getExperts(), kernel->experts_used = routes.getUsed();
    table.kernels.push_back(std::move(kernel));
  }
  for (Operation &op : program.getBody().front()) {
    if (auto weight = dyn_cast<plan::WeightOp>(op)) {
      lists.weights[weight.getSymName()] = table.weights.size();
      bool made = choices.seeded && !weight.getValuesAttr();
      table.weights.push_back(
          weightOf(weight, table.weights.size(), choices, made, made ? seedBytes : weightBytes));
    } else if (auto buffer = dyn_cast<plan::BufferOp>(op)) {
      lists.buffers[buffer.getSymName()] = table.buffers.size();
      auto entry = std::make_unique<fb::BufferT>();
      entry->name = buffer.getSymName().str();
      entry->class_ = classOf(buffer.getClassKind());
      entry->per_unit = buffer.getBytes();
      entry->offset = buffer.getOffset().value_or(0);
      table.buffers.push_back(std::move(entry));
    } else if (auto state = dyn_cast<plan::StateOp>(op)) {
      lists.states[state.getSymName()] = table.states.size();
      table.states.push_back(stateOf(state));
    }
  }
  table.abi = abiOf(choices);
  for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>()) {
    lists.sections[section.getSymName()] = table.sections.size();
    auto to = std::make_unique<fb::SectionT>();
    to->name = section.getSymName().str();
    for (const plan::Case &one : section.cases())
      to->cases.push_back(caseOf(one, lists));
    table.sections.push_back(std::move(to));
  }
  for (plan::EntryOp entry : program.getBody().getOps<plan::EntryOp>())
    table.entries.push_back(entryOf(entry, lists));
  return weightBytes;
}

std::unique_ptr<fb::ModelT> compiler::describeModel(const std::string &name,
                                                    plan::ProgramOp program,
                                                    const fb::ProgramT &table) {
  auto model = std::make_unique<fb::ModelT>();
  model->name = name;
  model->family = program.getFamily().str();
  model->vocab = program.getVocab();
  model->hidden = program.getHidden();
  model->context = program.getMaxPositions();
  for (const auto &step : table.entries.front()->steps)
    model->layers += step->layer >= 0;
  for (plan::WeightOp weight : program.getBody().getOps<plan::WeightOp>())
    if (!weight.getValuesAttr())
      model->parameters += llvm::product_of(weight.getType().getShape());
  return model;
}
