//===- Place.cpp - Values to buffers ----------------------------------------===//
//
// The entry point is cut at lm.layers. The ops before it become the section `begin`, each layer kind becomes a section,
// and the ops after it become `end`. The rows that a layer passes to the next one have a fixed buffer. Any other result
// of a dispatch overwrites a value that nothing reads later, or gets a buffer of its own. A value that is the same in
// all layers of a step, such as the table of a rotation, is computed in `begin`.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Dispatch.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"
#include "passes/select/RowEncodings.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_PLACEPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::DispatchOp;
using kernel::Extent;
using kernel::RowKind;

static constexpr llvm::StringLiteral kBeginSection = "begin", kEndSection = "end";

namespace {

Extent extentOf(DispatchOp dispatch) {
  return dispatch.anchor().isPerRow() ? Extent::Rows : Extent::Tokens;
}

/// Bytes of a result of the dispatch for each token or logits row.
int64_t bytesOf(DispatchOp dispatch, OpResult result) {
  Value memory = dispatch.memoryOf(result);
  auto rows = dyn_cast<kernel::ActivationType>(memory.getType());
  return rows ? rows.rowBytes() * dispatch.anchor().rowsOfUnit(memory)
              : cast<kernel::RoutesType>(memory.getType()).bytesPerToken();
}

/// The program under construction: its buffers and sections.
class ProgramPlacement {
public:
  ProgramPlacement(plan::ProgramOp program, lm::ModelOp model, bool inPlace)
      : program(program), model(model), inPlace(inPlace) {
    for (auto symbol : model.getBody().getOps<SymbolOpInterface>())
      taken.insert(symbol.getName());
  }

  LogicalResult place(lm::EntryOp entry, lm::LayersOp layers);

private:
  friend class SectionPlacement;

  /// A value that is computed once for all layers.
  struct Shared {
    DispatchOp dispatch;
    SmallVector<Attribute> args; ///< weights
    plan::BufferRefAttr buffer;
  };
  /// How kernels use a state of a layer kind.
  struct StateUse {
    Type memory; ///< the memory type that kernels see; null: no kernel uses it
    int64_t window = 0;
  };

  /// Adds a buffer with `bytes` bytes for each token or for each logits row. Its name does not occur in the model:
  /// weights, states and layer kinds keep their names, and a program has one symbol table.
  plan::BufferRefAttr addBuffer(StringRef hint, int64_t bytes, Extent extent, bool persistent);
  plan::SectionOp addSection(StringRef name);
  void shareAmongLayers(lm::LayersOp layers);
  LogicalResult addStates(lm::LayersOp layers);
  void addEntry(lm::LayersOp layers);

  plan::ProgramOp program;
  lm::ModelOp model;
  const bool inPlace;
  llvm::StringSet<> taken; ///< symbols of the model
  llvm::StringMap<int> counters;
  plan::BufferRefAttr carried; ///< the buffer of the rows that pass from layer to layer
  SmallVector<Shared> shared;
  llvm::DenseMap<Value, plan::BufferRefAttr> sharedPlaces;
  llvm::DenseMap<Value, StateUse> stateUses; ///< by argument of a layer kind
  struct Output {
    plan::OutputRole role;
    plan::Encoding encoding;
    FlatSymbolRefAttr buffer;
  };
  SmallVector<Output> outputs;
};

/// Places the values of one section.
class SectionPlacement {
public:
  SectionPlacement(ProgramPlacement &program, plan::SectionOp section, Block &block)
      : program(program), section(section), block(block) {}

  /// Sets the argument that the plan passes for a value: a buffer, a weight, a state.
  void bind(Value value, Attribute place) { places[value] = place; }
  bool has(Value value) const { return places.contains(value); }
  FlatSymbolRefAttr bufferOf(Value value) const {
    return cast<plan::BufferRefAttr>(places.lookup(value)).getSymbol();
  }
  LogicalResult place(DispatchOp dispatch);
  /// Ensures that `value` ends up in the buffer, with a copy if necessary.
  void moveTo(Value value, Attribute buffer);
  void computeShared(const ProgramPlacement::Shared &value);

private:
  /// The place of an operand that nothing reads later and that the kernel may overwrite with this result; null if there
  /// is none.
  Attribute placeOfDying(DispatchOp dispatch, OpResult result) const;
  bool diesAt(Value value, Operation *op) const;
  plan::DispatchOp add(Location location, StringRef name, ArrayRef<Attribute> args);
  /// Adds a launch of a copy of the kernel.
  void add(DispatchOp dispatch, ArrayRef<Attribute> args);

  ProgramPlacement &program;
  plan::SectionOp section;
  Block &block;
  llvm::DenseMap<Value, Attribute> places;
};

//===----------------------------------------------------------------------===//
// One section
//===----------------------------------------------------------------------===//

plan::DispatchOp SectionPlacement::add(Location location, StringRef name,
                                       ArrayRef<Attribute> args) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(location, &section.getBody().front());
  return plan::DispatchOp::create(b, name, b.getArrayAttr(args));
}

void SectionPlacement::add(DispatchOp dispatch, ArrayRef<Attribute> args) {
  IRMapping mapping;
  dispatch.getBody().cloneInto(&add(dispatch.getLoc(), dispatch.getName(), args).getBody(),
                               mapping);
}

bool SectionPlacement::diesAt(Value value, Operation *op) const {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return (user == op || user->isBeforeInBlock(op)) && !user->hasTrait<OpTrait::IsTerminator>();
  });
}

Attribute SectionPlacement::placeOfDying(DispatchOp dispatch, OpResult result) const {
  kernel::LaunchInterface anchor = dispatch.anchor();
  Value output = dispatch.memoryOf(result);
  // An input may be several operands of the kernel; all of them must permit it.
  auto mayOverwrite = [&](Value input) {
    return llvm::all_of(llvm::enumerate(dispatch.getInputs()), [&](auto other) {
      return other.value() != input ||
             anchor.mayOverwrite(output, dispatch.memoryOfInput(other.index()));
    });
  };
  for (Value input : llvm::reverse(dispatch.getInputs()))
    if (Attribute place = places.lookup(input);
        input.getType() == result.getType() && !program.sharedPlaces.contains(input) &&
        mayOverwrite(input) && diesAt(input, dispatch) &&
        llvm::none_of(dispatch.getResults(),
                      [&](Value other) { return places.lookup(other) == place; }))
      return place;
  return {};
}

LogicalResult SectionPlacement::place(DispatchOp dispatch) {
  SmallVector<Attribute> args;
  for (auto [i, input] : llvm::enumerate(dispatch.getInputs())) {
    args.push_back(places.lookup(input));
    if (!args.back())
      return dispatch.emitOpError("expects operand ")
             << i << " to be a value of its own stage, or one that lm.layers passes on";
    if (!isa<lm::StateType>(input.getType()))
      continue;
    ProgramPlacement::StateUse &use = program.stateUses[lm::stateArgumentOf(input)];
    use.memory = dispatch.memoryOfInput(i).getType();
    if (auto attention = dyn_cast<kernel::AttentionOp>(dispatch.anchor().getOperation()))
      use.window = attention.getWindow();
  }
  for (OpResult result : dispatch.getResults()) {
    if (int64_t tied = dispatch.getTied()[result.getResultNumber()]; tied >= 0) {
      if (!diesAt(dispatch.getInputs()[tied], dispatch))
        return dispatch.emitOpError("updates operand ")
               << tied << ", which is read later as it was before";
      bind(result, args[tied]);
      continue;
    }
    if (!places.contains(result)) {
      Attribute place = program.inPlace ? placeOfDying(dispatch, result) : Attribute();
      if (!place)
        place = program.addBuffer(dispatch.getRows(), bytesOf(dispatch, result), extentOf(dispatch),
                                  /*persistent=*/false);
      bind(result, place);
    }
    args.push_back(places.lookup(result));
  }
  add(dispatch, args);
  return success();
}

void SectionPlacement::computeShared(const ProgramPlacement::Shared &value) {
  SmallVector<Attribute> args = value.args;
  args.push_back(value.buffer);
  add(value.dispatch, args);
}

void SectionPlacement::moveTo(Value value, Attribute buffer) {
  Attribute from = places.lookup(value);
  if (from == buffer)
    return;
  Extent extent = Extent::Tokens;
  int64_t rowsOfToken = 1;
  if (auto dispatch = value.getDefiningOp<DispatchOp>()) {
    extent = extentOf(dispatch);
    rowsOfToken = dispatch.anchor().rowsOfUnit(dispatch.memoryOf(cast<OpResult>(value)));
  }
  plan::DispatchOp copy = add(section.getLoc(), "copy", {from, buffer});
  OpBuilder b(copy);
  const Location location = section.getLoc();
  Type rows = rowsOf(value.getType());
  Block *body = b.createBlock(&copy.getBody(), {}, {rows, rows}, {location, location});
  kernel::copyRows(b, location, body->getArgument(0), body->getArgument(1), extent, rowsOfToken);
  bind(value, buffer);
}

//===----------------------------------------------------------------------===//
// Buffers and sections
//===----------------------------------------------------------------------===//

plan::BufferRefAttr ProgramPlacement::addBuffer(StringRef hint, int64_t bytes, Extent extent,
                                                bool persistent) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  std::string name;
  do {
    int n = counters[hint]++;
    name = n ? (hint + "_" + Twine(n)).str() : hint.str();
  } while (taken.contains(name));
  auto kind = extent == Extent::Rows ? plan::BufferClass::PerRow : plan::BufferClass::PerToken;
  auto buffer =
      plan::BufferOp::create(b, name, kind, roundUp(bytes, 64), IntegerAttr(), persistent);
  return plan::BufferRefAttr::get(b.getContext(), FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
}

plan::SectionOp ProgramPlacement::addSection(StringRef name) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  auto section = plan::SectionOp::create(b, name);
  section.getBody().emplaceBlock();
  return section;
}

/// The weight that all layers of a kind pass for an argument; null if they differ.
FlatSymbolRefAttr weightOfAllLayers(lm::LayersOp layers, lm::LayerKindOp kind,
                                    BlockArgument argument) {
  FlatSymbolRefAttr symbol;
  for (auto [name, weights] :
       llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), layers.getWeights())) {
    if (name.getValue() != kind.getSymName())
      continue;
    auto passed = cast<FlatSymbolRefAttr>(
        cast<ArrayAttr>(weights)[argument.getArgNumber() - kind.firstWeight()]);
    if (symbol && passed != symbol)
      return {};
    symbol = passed;
  }
  return symbol;
}

void ProgramPlacement::shareAmongLayers(lm::LayersOp layers) {
  for (lm::LayerKindOp kind : model.getBody().getOps<lm::LayerKindOp>())
    for (DispatchOp dispatch : kind.getBody().getOps<DispatchOp>()) {
      SmallVector<Attribute> args;
      for (Value input : dispatch.getInputs())
        if (auto weight = dyn_cast<BlockArgument>(input);
            weight && isa<lm::WeightType>(input.getType()))
          if (FlatSymbolRefAttr symbol = weightOfAllLayers(layers, kind, weight))
            args.push_back(plan::WeightRefAttr::get(model.getContext(), symbol));
      if (args.size() != dispatch.getInputs().size() || dispatch.getNumResults() != 1)
        continue;
      auto same = llvm::find_if(shared, [&](Shared &other) {
        return other.args == args && OperationEquivalence::isRegionEquivalentTo(
                                         &other.dispatch.getBody(), &dispatch.getBody(),
                                         OperationEquivalence::IgnoreLocations);
      });
      OpResult result = dispatch->getResult(0);
      if (same == shared.end())
        same = &shared.emplace_back(
            Shared{dispatch, args,
                   addBuffer(dispatch.getRows(), bytesOf(dispatch, result), extentOf(dispatch),
                             /*persistent=*/true)});
      sharedPlaces[result] = same->buffer;
    }
}

/// The rows whose projection, possibly followed by row-wise kernels, gives the logits; null if there are none.
Value readByHead(Value logits) {
  while (auto dispatch = logits.getDefiningOp<DispatchOp>()) {
    auto matmul = dyn_cast<kernel::MatmulOp>(dispatch.anchor().getOperation());
    if (!matmul && !isa<kernel::RowwiseOp>(dispatch.anchor().getOperation()))
      break;
    logits = dispatch.getInputs().front();
    if (matmul)
      return logits;
  }
  return {};
}

/// The rows before their columns were permuted for the head; `rows` itself if they were not permuted.
Value beforeOrder(Value rows) {
  auto rowwiseOf = [](Value value) {
    auto dispatch = value.getDefiningOp<DispatchOp>();
    return dispatch ? dyn_cast<kernel::RowwiseOp>(dispatch.anchor().getOperation())
                    : kernel::RowwiseOp();
  };
  auto inputOf = [](Value value) { return value.getDefiningOp<DispatchOp>().getInputs().front(); };
  Value made = rows;
  if (auto cast = rowwiseOf(made); cast && !cast.getGather() && !cast.getRoutes() &&
                                   !cast.getColumns() &&
                                   llvm::hasSingleElement(cast.getBody().front())) // it only yields
    made = inputOf(made);
  auto permute = rowwiseOf(made);
  return permute && permute.getColumns() ? inputOf(made) : rows;
}

LogicalResult ProgramPlacement::place(lm::EntryOp entry, lm::LayersOp layers) {
  carried = addBuffer("x", rowsOf(layers.getX().getType()).rowBytes(), Extent::Tokens, true);
  shareAmongLayers(layers);

  Block &block = entry.getBody().front();
  auto bindWeights = [&](SectionPlacement &section) {
    for (auto get : block.getOps<lm::GetWeightOp>())
      section.bind(get, plan::WeightRefAttr::get(get.getContext(), get.getWeightAttr()));
  };
  SectionPlacement begin(*this, addSection(kBeginSection), block);
  for (const Shared &value : shared)
    begin.computeShared(value);
  bindWeights(begin);
  begin.bind(layers.getX(), carried);
  auto placeRange = [](SectionPlacement &section, Block::iterator first, Block::iterator last) {
    for (Operation &op : llvm::make_range(first, last))
      if (auto dispatch = dyn_cast<DispatchOp>(op); dispatch && failed(section.place(dispatch)))
        return failure();
    return success();
  };
  if (failed(placeRange(begin, block.begin(), layers->getIterator())))
    return failure();

  for (lm::LayerKindOp kind : model.getBody().getOps<lm::LayerKindOp>()) {
    Block &body = kind.getBody().front();
    SectionPlacement section(*this, addSection(kind.getSymName()), body);
    section.bind(body.getArgument(0), carried);
    for (unsigned i = 0; i < kind.stateCount(); ++i)
      section.bind(body.getArgument(1 + i), plan::StateRefAttr::get(model.getContext(), i));
    for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front(kind.firstWeight())))
      section.bind(argument, plan::LayerWeightRefAttr::get(model.getContext(), i));
    for (DispatchOp dispatch : body.getOps<DispatchOp>())
      if (auto place = dispatch.getNumResults() == 1 ? sharedPlaces.lookup(dispatch->getResult(0))
                                                     : plan::BufferRefAttr())
        section.bind(dispatch->getResult(0), place);
      else if (failed(section.place(dispatch)))
        return failure();
    section.moveTo(body.getTerminator()->getOperand(0), carried);
  }

  SectionPlacement end(*this, addSection(kEndSection), block);
  end.bind(layers.getY(), carried);
  bindWeights(end);
  Value logits = block.getTerminator()->getOperand(0), read = readByHead(logits), hidden;
  if (auto producer = read ? read.getDefiningOp<DispatchOp>() : DispatchOp();
      producer && extentOf(producer) == Extent::Rows)
    hidden = beforeOrder(read);
  if (failed(placeRange(end, std::next(layers->getIterator()), block.end())))
    return failure();
  if (!end.has(logits))
    return entry.emitOpError("expects its logits to be computed after lm.layers");
  outputs.push_back({plan::OutputRole::Logits, plan::Encoding::F32, end.bufferOf(logits)});
  // The rows that the head reads, the model's last hidden state, are an output as well if the runtime can decode them.
  auto isDecoded = [](Value rows) {
    return encodingOf(rows.getType()) == RowKind::F32 ||
           encodingOf(rows.getType()) == RowKind::Q8x2;
  };
  if (hidden && isDecoded(read))
    outputs.push_back(
        {plan::OutputRole::Hidden,
         encodingOf(hidden.getType()) == RowKind::F32 ? plan::Encoding::F32 : plan::Encoding::Q8x2,
         end.bufferOf(hidden)});
  if (failed(addStates(layers)))
    return failure();
  addEntry(layers);
  return success();
}

//===----------------------------------------------------------------------===//
// States and steps
//===----------------------------------------------------------------------===//

LogicalResult ProgramPlacement::addStates(lm::LayersOp layers) {
  // For each state, the argument of a layer kind to which it is passed.
  llvm::DenseMap<Attribute, Value> arguments;
  for (auto [kind, states] :
       llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), layers.getStates())) {
    Block &body = model.lookupSymbol<lm::LayerKindOp>(kind.getAttr()).getBody().front();
    for (auto [i, state] : llvm::enumerate(cast<ArrayAttr>(states).getAsRange<FlatSymbolRefAttr>()))
      arguments[state.getAttr()] = body.getArgument(1 + i);
  }
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  for (lm::StateOp state : model.getBody().getOps<lm::StateOp>()) {
    Value argument = arguments.lookup(state.getSymNameAttr());
    if (!argument)
      continue;
    const StateUse &use = stateUses[argument];
    if (!use.memory)
      return state.emitOpError("is kept, but its layer neither reads nor writes it");
    if (auto fixed = dyn_cast<kernel::FixedStateType>(use.memory)) {
      plan::StateOp::create(b, state.getSymNameAttr(), state.getLayout(), StringAttr(),
                            IntegerAttr(), b.getI64IntegerAttr(fixed.slotBytes()));
      continue;
    }
    auto pool = cast<kernel::KvPoolType>(use.memory);
    plan::StateOp::create(b, state.getSymNameAttr(), state.getLayout(),
                          b.getStringAttr(pool.info().name), b.getI64IntegerAttr(use.window),
                          b.getI64IntegerAttr(pool.pageBytes()));
  }
  return success();
}

void ProgramPlacement::addEntry(lm::LayersOp layers) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), &program.getBody().front());
  auto modes = plan::ModesAttr::get(b.getContext(), {plan::Mode::Logits});
  auto entry = plan::EntryOp::create(b, "generate", modes);
  b.setInsertionPointToStart(&entry.getBody().emplaceBlock());
  plan::StepOp::create(b, FlatSymbolRefAttr::get(b.getContext(), kBeginSection), ArrayAttr(),
                       ArrayAttr(), IntegerAttr());
  int64_t layer = 0;
  for (auto [kind, weights, states] : llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(),
                                                layers.getWeights(), layers.getStates())) {
    auto own = cast<ArrayAttr>(states);
    plan::StepOp::create(b, kind, cast<ArrayAttr>(weights), own.empty() ? ArrayAttr() : own,
                         b.getI64IntegerAttr(layer++));
  }
  plan::StepOp::create(b, FlatSymbolRefAttr::get(b.getContext(), kEndSection), ArrayAttr(),
                       ArrayAttr(), IntegerAttr());
  for (const Output &output : outputs)
    entry.addOutput(output.role, output.encoding, output.buffer);
}

struct Place : ingot::impl::PlacePassBase<Place> {
  using PlacePassBase::PlacePassBase;

  void runOnOperation() override {
    auto models = llvm::to_vector(getOperation().getOps<lm::ModelOp>());
    if (models.size() != 1) {
      getOperation().emitError("expects one lm.model");
      return signalPassFailure();
    }
    if (failed(place(models.front())))
      return signalPassFailure();
    models.front().erase();
  }

  LogicalResult place(lm::ModelOp model) {
    ImplicitLocOpBuilder b(model.getLoc(), model);
    auto program =
        plan::ProgramOp::create(b, model.getSymName(), model.getFamily(), model.getVocab(),
                                model.getHidden(), model.getMaxPositions());
    b.setInsertionPointToStart(&program.getBody().emplaceBlock());
    for (lm::WeightOp weight : model.getBody().getOps<lm::WeightOp>())
      plan::WeightOp::create(b, weight.getSymName(), weight.getType(), weight.getSourceAttr(),
                             weight.getStoredAttr(), weight.getValuesAttr())
          ->setDiscardableAttrs(weight->getDiscardableAttrDictionary());

    auto entries = model.getBody().getOps<lm::EntryOp>();
    if (entries.empty())
      return model.emitOpError("has no lm.entry, so the model is incomplete");
    lm::EntryOp entry = *entries.begin();
    lm::LayersOp layers;
    for (lm::LayersOp op : entry.getBody().getOps<lm::LayersOp>()) {
      if (layers)
        return op.emitOpError("is the second in this entry; one is supported");
      layers = op;
    }
    if (!layers)
      return entry.emitOpError("expects an lm.layers");
    for (auto function : model.getBody().getOps<FunctionOpInterface>())
      for (Operation &op : function.getFunctionBody().front().without_terminator())
        if (!isa<DispatchOp, lm::GetWeightOp, lm::LayersOp>(op))
          return op.emitOpError("is not a kernel: expects the output of lm-select-kernels");
    return ProgramPlacement(program, model, inPlace).place(entry, layers);
  }
};
} // namespace
