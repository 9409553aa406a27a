//===- ProgramBuilder.cpp - Kernels, buffers and tables of the program ----===//
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/lowering/SectionLowering.h"

using namespace mlir;
using namespace ingot;
using kernel::ActivationType;
using kernel::RowKind;

ProgramBuilder::ProgramBuilder(plan::ProgramOp program, lm::ModelOp model, LoweringChoices choices)
    : program(program), module(program->getParentOfType<ModuleOp>()), choices(choices) {
  for (auto symbol : model.getBody().getOps<SymbolOpInterface>())
    taken.insert(symbol.getName());
}

void ProgramBuilder::addCarried(lm::LayersOp layers) {
  for (Value value : rowsAmong(layers->getOperands()))
    carried.push_back(
        addBuffer("x", rowsOf(value.getType()), rowCountOf(value), /*persistent=*/true));
}

SmallVector<Value> ingot::rowsAmong(ValueRange values) {
  return llvm::filter_to_vector(values,
                                [](Value value) { return isa<RankedTensorType>(value.getType()); });
}

plan::BufferRefAttr ProgramBuilder::addBuffer(StringRef hint, ActivationType rows, RowCount count,
                                              bool persistent) {
  return addBuffer(hint, rows.rowBytes() * count.ofToken, count.extent, persistent);
}

plan::BufferRefAttr ProgramBuilder::addBuffer(StringRef hint, int64_t bytes, kernel::Extent extent,
                                              bool persistent) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  std::string name;
  do {
    int n = counters[hint]++;
    name = n ? (hint + "_" + Twine(n)).str() : hint.str();
  } while (taken.contains(name));
  auto kind =
      extent == kernel::Extent::Rows ? plan::BufferClass::PerRow : plan::BufferClass::PerToken;
  auto buffer =
      plan::BufferOp::create(b, name, kind, roundUp(bytes, 64), IntegerAttr(), persistent);
  return plan::BufferRefAttr::get(b.getContext(), FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
}

plan::SectionOp ProgramBuilder::addSection(StringRef name) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  auto section = plan::SectionOp::create(b, name);
  section.getBody().emplaceBlock();
  return section;
}

std::string
ProgramBuilder::kernelFor(StringRef hint, ArrayRef<LaunchOperand> operands,
                          llvm::function_ref<void(ImplicitLocOpBuilder &, ValueRange)> build) {
  ImplicitLocOpBuilder b(program.getLoc(), program);
  SmallVector<Type> types;
  for (const LaunchOperand &operand : operands)
    types.push_back(operand.type);
  auto fn = kernel::FuncOp::create(b, "k", b.getFunctionType(types, {}));
  Block &body = fn.getBody().emplaceBlock();
  SmallVector<Location> locations(types.size(), program.getLoc());
  body.addArguments(types, locations);
  b.setInsertionPointToStart(&body);
  build(b, body.getArguments());
  b.setInsertionPointToEnd(&body);
  kernel::ReturnOp::create(b);

  std::string text;
  llvm::raw_string_ostream(text) << fn;
  std::string &known = kernelsByText[text];
  if (!known.empty()) {
    fn.erase();
    return known;
  }
  int n = counters[("kernel " + hint).str()]++;
  known = (hint + "_" + Twine(n)).str();
  fn.setSymName(known);
  return known;
}

LogicalResult ProgramBuilder::addState(lm::StateOp state, Value argument) {
  const StateUse &use = stateUses[argument];
  if (!use.memory)
    return state.emitOpError("is kept, but its layer neither reads nor writes it");
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  if (auto fixed = dyn_cast<kernel::FixedStateType>(use.memory)) {
    plan::StateOp::create(b, state.getSymNameAttr(), state.getLayout(), StringAttr(), IntegerAttr(),
                          b.getI64IntegerAttr(fixed.slotBytes()));
    return success();
  }
  auto pool = cast<kernel::KvPoolType>(use.memory);
  plan::StateOp::create(b, state.getSymNameAttr(), state.getLayout(),
                        b.getStringAttr(pool.info().name), b.getI64IntegerAttr(use.window),
                        b.getI64IntegerAttr(pool.pageBytes()));
  return success();
}

LogicalResult ProgramBuilder::addTables(lm::LayersOp layers) {
  auto model = layers->getParentOfType<lm::ModelOp>();
  LogicalResult result = success();
  model.walk([&](lm::RopeOp rope) {
    auto argument = dyn_cast<BlockArgument>(rope.getFrequencies());
    auto kind = argument ? dyn_cast<lm::LayerKindOp>(argument.getOwner()->getParentOp()) : nullptr;
    if (!kind) {
      rope.emitOpError("expects its frequencies to be a weight argument of a layer kind");
      result = failure();
      return;
    }
    // All layers of the kind must pass the same frequencies, because the table is made once per step.
    FlatSymbolRefAttr symbol;
    for (auto [name, weights] :
         llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), layers.getWeights())) {
      if (name.getValue() != kind.getSymName())
        continue;
      auto passed = cast<FlatSymbolRefAttr>(
          cast<ArrayAttr>(weights)[argument.getArgNumber() - kind.firstWeight()]);
      if (symbol && passed != symbol) {
        rope.emitOpError("expects layers of kind ")
            << kind.getSymName() << " to share their frequencies";
        result = failure();
        return;
      }
      symbol = passed;
    }
    float factor = rope.getAttentionFactor().convertToFloat();
    auto ref = plan::WeightRefAttr::get(rope.getContext(), symbol);
    for (auto [i, table] : llvm::enumerate(tables))
      if (table.frequencies.ref == ref && table.factor == factor) {
        tableOfRope[rope] = i;
        return;
      }
    lm::WeightType frequencies = rope.getFrequencies().getType();
    auto rows = ActivationType::get(rope.getContext(), 2 * frequencies.rows(), RowKind::F32);
    tableOfRope[rope] = tables.size();
    tables.push_back(
        {{frequencies, ref}, factor, {rows, addBuffer("rope", rows, RowCount(), true)}});
  });
  return result;
}

const ProgramBuilder::Table *ProgramBuilder::tableFor(lm::RopeOp rope) const {
  auto it = tableOfRope.find(rope.getOperation());
  return it == tableOfRope.end() ? nullptr : &tables[it->second];
}

void ProgramBuilder::addOutputs(plan::EntryOp entry) const {
  for (const Output &output : outputs)
    entry.addOutput(output.role, output.encoding, output.buffer);
}
