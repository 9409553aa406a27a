//===- ModelBuilder.cpp - Emitting lm, the part all families share --------===//
#include "models/ModelBuilder.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Norm.h"
#include "dialects/lm/ops/Rows.h"

#include "compiler/import/ImportErrors.h"
#include "models/ModelErrors.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::models;
using import::inQuotes;
using import::line;

static std::string printed(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

/// The dtype of a config.json (bf16 if it has none, as checkpoints are stored today).
static WeightFormat configuredType(const import::Checkpoint &checkpoint) {
  for (const char *key : {"dtype", "torch_dtype"}) {
    auto entry = checkpoint.metadata.find(std::string_view(key));
    const auto *name =
        entry == checkpoint.metadata.end() ? nullptr : std::get_if<std::string>(&entry->second);
    if (name && *name == "float32")
      return WeightFormat::F32;
    if (name && *name == "float16")
      return WeightFormat::F16;
  }
  return WeightFormat::BF16;
}

ModelBuilder::ModelBuilder(MLIRContext &context, const import::Checkpoint &checkpoint,
                           const ModelShape &shape)
    : context(context), checkpoint(checkpoint), shape(shape), dtype(configuredType(checkpoint)),
      builder(&context) {
  context.loadDialect<lm::LmDialect>();
  Location location = NameLoc::get(builder.getStringAttr(checkpoint.name));
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto model = lm::ModelOp::create(builder, location, "model", shape.family, shape.vocab,
                                   shape.hidden, shape.context);
  modelBody = &model.getBody().emplaceBlock();
}

void ModelBuilder::refuse(Error error) {
  if (!first)
    first = std::move(error);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

const import::Tensor *ModelBuilder::find(StringRef source) const { return checkpoint.find(source); }

bool ModelBuilder::hasTensor(StringRef source) const { return find(source) != nullptr; }

int64_t ModelBuilder::rowsOf(StringRef source) const {
  const import::Tensor *tensor = checkpoint.find(source);
  return tensor ? tensor->shape.front() : 0;
}

/// Of a vector, or of one for each expert (lm::WeightType::isVectors).
static bool isVectors(ArrayRef<int64_t> shape) {
  return shape.size() == 1 || (shape.size() == 3 && shape.back() == 1);
}

/// A vector's numbers may lie in a tensor of several dimensions.
static import::Unit unitOf(ArrayRef<int64_t> shape) {
  return isVectors(shape) ? import::Unit::Numbers : import::Unit::Rows;
}

/// Of a weight: the matrices of a stack lie one below the other.
static int64_t rowsOfShape(ArrayRef<int64_t> shape) {
  int64_t rows = 1;
  for (int64_t extent : isVectors(shape) ? shape : shape.drop_back())
    rows *= extent;
  return rows;
}

/// Of vectors dimensions of 1 say nothing: biases of experts lie as [count][length] and as [count][length][1].
static bool isShapeOf(ArrayRef<int64_t> found, ArrayRef<int64_t> expected) {
  if (!isVectors(expected))
    return found == expected;
  auto isLonger = [](int64_t extent) { return extent != 1; };
  return llvm::to_vector(llvm::make_filter_range(found, isLonger)) ==
         llvm::to_vector(llvm::make_filter_range(expected, isLonger));
}

/// As the part sees it: a vector that is transposed is a column.
static std::vector<int64_t> shapeFor(const TensorRows &part, const import::Tensor &tensor) {
  std::vector<int64_t> shape = tensor.shape;
  if (part.transposed && shape.size() == 1)
    shape.push_back(1);
  return shape;
}

void ModelBuilder::refuseShape(const import::Tensor &tensor, ArrayRef<int64_t> expected,
                               const std::string &rows) {
  refuse(import::refuse(
      cause::tensorShape, line("the tensor ", inQuotes(tensor.name), " has the wrong shape"),
      line("found ", printed(tensor.shape), ", the configuration gives ", printed(expected), rows),
      "take configuration and tensors from the same checkpoint"));
}

/// The tensor of one part of a weight of this shape, the whole of it if the part is `alone`.
const import::Tensor *ModelBuilder::findPart(const TensorRows &part, ArrayRef<int64_t> expected,
                                             bool alone) {
  const std::string &source = part.tensor;
  const import::Tensor *tensor = checkpoint.find(source);
  if (const import::UnreadTensor *other = checkpoint.findUnread(source)) {
    refuseType(*other);
    return nullptr;
  }
  if (!tensor) {
    refuse(import::refuse(
        cause::tensorMissing, line("the checkpoint has no tensor ", inQuotes(source)),
        line("the ", shape.family.str(), " family needs it as ", printed(expected),
             "; the checkpoint has ", checkpoint.tensors.size(), " tensors"),
        "download the checkpoint again, all its files"));
    return nullptr;
  }
  const bool whole = alone && part == TensorRows{source}, stack = part.matrix >= 0,
             vectors = isVectors(expected);
  const std::vector<int64_t> found = shapeFor(part, *tensor);
  const bool matrix =
      found.size() == size_t(stack ? 3 : 2) || (expected.size() == 3 && found.size() == 3);
  const int64_t height = stack && matrix ? found[1] : import::rowsOf(*tensor, unitOf(expected)),
                available = part.transposed ? found.back() : height,
                columns = part.transposed ? height : found.back(),
                last = part.order.last(available);
  const bool fits = (vectors ? !stack : matrix && columns == expected.back()) &&
                    (!stack || part.matrix < found[0]) && last >= part.order.first &&
                    last < available;
  if (whole ? !isShapeOf(found, expected) : !fits) {
    refuseShape(*tensor, expected,
                whole ? "" : line(", from rows ", part.order.first, " to ", last, " of it"));
    return nullptr;
  }
  if (vectors && !numericFormat(tensor->format).isFloat()) {
    refuse(import::refuse(
        cause::tensorFormat, line("the vector ", inQuotes(source), " is quantised"),
        line("found ", numericFormat(tensor->format).name, ", supported: f32, f16, bf16"),
        "convert the checkpoint again with a current converter"));
    return nullptr;
  }
  return tensor;
}

/// Notes that the rows of a part have their reader. Returns how many they are, 0 after an error.
int64_t ModelBuilder::markTaken(const TensorRows &part, const import::Tensor &tensor,
                                import::Unit unit) {
  llvm::BitVector &rows = taken[tensor.name];
  const int64_t stacked = part.matrix >= 0 ? tensor.shape[0] : 1;
  const int64_t available = part.transposed    ? shapeFor(part, tensor).back()
                            : part.matrix >= 0 ? tensor.shape[1]
                                               : import::rowsOf(tensor, unit),
                before = part.matrix >= 0 ? part.matrix * available : 0,
                count = part.order.count(available);
  rows.resize(static_cast<unsigned>(stacked * available));
  for (int64_t n = 0; n < count; ++n) {
    const auto row = static_cast<unsigned>(before + part.order.at(n));
    if (rows.test(row)) {
      refuse({ExitCode::Internal, cause::rowsTwice,
              line("row ", row, " of the tensor ", inQuotes(tensor.name), " is taken twice"),
              line("by the ", shape.family.str(), " family, which declares nothing shared"),
              "report this, with the checkpoint's name"});
      return 0;
    }
    rows.set(row);
  }
  return count;
}

const import::Tensor *ModelBuilder::takeRows(ArrayRef<TensorRows> parts,
                                             ArrayRef<int64_t> expected) {
  int64_t rows = 0;
  const import::Tensor *leading = nullptr;
  for (const TensorRows &part : parts) {
    const import::Tensor *tensor = findPart(part, expected, parts.size() == 1);
    const int64_t count = tensor ? markTaken(part, *tensor, unitOf(expected)) : 0;
    if (!count)
      return nullptr;
    rows += count;
    leading = leading ? leading : tensor;
    if (tensor->format != leading->format) {
      refuse(import::refuse(cause::tensorFormat,
                            line("the tensors ", inQuotes(leading->name), " and ",
                                 inQuotes(tensor->name), " are of different formats"),
                            line("found ", numericFormat(leading->format).name, " and ",
                                 numericFormat(tensor->format).name, "; they make up one weight"),
                            "convert the checkpoint again, both in one format"));
      return nullptr;
    }
  }
  if (rows == rowsOfShape(expected))
    return leading;
  refuse(import::refuse(cause::tensorShape,
                        line("the tensor ", inQuotes(leading->name), " has the wrong shape"),
                        line("its part of the weight has ", rows, " rows, the configuration gives ",
                             printed(expected)),
                        "take configuration and tensors from the same checkpoint"));
  return nullptr;
}

void ModelBuilder::takeUnread(StringRef source) {
  if (const import::Tensor *tensor = checkpoint.find(source))
    taken[source] = llvm::BitVector(static_cast<unsigned>(import::rowsOf(*tensor)), true);
  if (checkpoint.findUnread(source))
    needless.insert(source);
}

lm::WeightOp ModelBuilder::addWeight(StringRef symbol, ArrayRef<int64_t> extents,
                                     WeightFormat stored, Attribute source) {
  OpBuilder::InsertionGuard guard(builder);
  if (firstKind)
    builder.setInsertionPoint(firstKind);
  else
    builder.setInsertionPointToEnd(modelBody);
  WeightFormat format = isVectors(extents) ? WeightFormat::F32 : stored;
  return lm::WeightOp::create(builder, NameLoc::get(builder.getStringAttr(symbol)), symbol,
                              lm::WeightType::get(&context, extents, format), source,
                              format == stored ? lm::FormatAttr()
                                               : lm::FormatAttr::get(&context, stored),
                              DenseF32ArrayAttr());
}

lm::WeightOp ModelBuilder::weight(StringRef symbol, StringRef source, ArrayRef<int64_t> extents) {
  return weight(symbol, TensorRows{source.str()}, extents);
}

lm::WeightOp ModelBuilder::weight(StringRef symbol, ArrayRef<TensorRows> parts,
                                  ArrayRef<int64_t> extents) {
  Attribute source = lm::sourceOf(&context, parts);
  if (checkpoint.tensors.empty()) {
    bool ofLayer =
        !isVectors(extents) && StringRef(parts.front().tensor).starts_with(shape.names.layers);
    return addWeight(symbol, extents, ofLayer ? checkpoint.layerFormat.value_or(dtype) : dtype,
                     source);
  }
  const import::Tensor *tensor = takeRows(parts, extents);
  return tensor ? addWeight(symbol, extents, tensor->format, source) : lm::WeightOp();
}

std::string ModelBuilder::sourceOf(int64_t layer, StringRef tensor) const {
  return line(isGguf() ? "blk." : shape.names.layers.str(), layer, '.', tensor.str());
}

std::string ModelBuilder::sourceOf(int64_t layer, const LayerTensor &tensor,
                                   StringRef ending) const {
  return sourceOf(layer,
                  (isGguf() ? tensor.gguf : tensor.hf).str() + (tensor.whole ? "" : ending.str()));
}

std::string ModelBuilder::symbolOf(int64_t layer, StringRef role) {
  return line("blk.", layer, '.', role.str());
}

void ModelBuilder::addBias(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                           int64_t length, Bias bias, const RowOrder &order) {
  std::string source = sourceOf(layer, tensor, ".bias");
  if (bias == Bias::None || (bias == Bias::IfPresent && !hasTensor(source)))
    return;
  std::string role = (tensor.role + "_bias").str();
  weights.add(role, weight(symbolOf(layer, role), TensorRows{source, -1, order}, {length}));
}

void ModelBuilder::addMatrix(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                             int64_t rows, int64_t columns, Bias bias, const RowOrder &order,
                             bool transposed) {
  weights.add(tensor.role,
              weight(symbolOf(layer, tensor.role),
                     TensorRows{sourceOf(layer, tensor, ".weight"), -1, order, transposed},
                     {rows, columns}));
  addColumns(weights, layer, tensor.role, sourceOf(layer, tensor, ".weight"), columns);
  addBias(weights, layer, tensor, rows, bias, order);
}

void ModelBuilder::addVector(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                             int64_t length, Bias bias) {
  weights.add(tensor.role,
              weight(symbolOf(layer, tensor.role), sourceOf(layer, tensor, ".weight"), {length}));
  addBias(weights, layer, tensor, length, bias, {});
}

void ModelBuilder::addVectors(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                              int64_t count, int64_t length, bool apart) {
  SmallVector<TensorRows> parts;
  if (apart && !isGguf()) {
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back({sourceOf(layer, tensor, line(".", i, ".weight"))});
      expectShape(parts.back().tensor, {length});
    }
  } else {
    parts.push_back({sourceOf(layer, tensor, ".weight"), -1, RowOrder::range(0, count * length)});
    expectShape(parts.back().tensor, {count, length});
  }
  weights.add(tensor.role, weight(symbolOf(layer, tensor.role), parts, {count * length}));
}

void ModelBuilder::addStack(LayerWeights &weights, int64_t layer, StringRef role,
                            ArrayRef<TensorRows> parts, std::array<int64_t, 3> extents) {
  weights.add(role, weight(symbolOf(layer, role), parts, extents));
  if (static_cast<int64_t>(parts.size()) == extents[0])
    addStackColumns(weights, layer, role, parts, extents[2]);
}

void ModelBuilder::expectShape(StringRef source, ArrayRef<int64_t> expected) {
  const import::Tensor *tensor = checkpoint.find(source);
  if (tensor && tensor->shape != std::vector<int64_t>(expected))
    refuseShape(*tensor, expected, "");
}

void ModelBuilder::addTaps(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                           int64_t channels, int64_t taps, Bias bias) {
  const std::string source = sourceOf(layer, tensor, ".weight");
  const import::Tensor *stored = checkpoint.find(source);
  const std::vector<int64_t> flat = {channels, taps}, deep = {channels, 1, taps};
  if (stored && stored->shape != flat && stored->shape != deep)
    return refuseShape(*stored, deep, "");
  const RowOrder byTap{0, {{taps}, {channels, taps}}};
  weights.add(tensor.role, weight(symbolOf(layer, tensor.role), TensorRows{source, -1, byTap},
                                  {taps * channels}));
  addBias(weights, layer, tensor, channels, bias, {});
}

lm::WeightOp ModelBuilder::values(StringRef symbol, ArrayRef<float> numbers) {
  OpBuilder::InsertionGuard guard(builder);
  if (firstKind)
    builder.setInsertionPoint(firstKind);
  else
    builder.setInsertionPointToEnd(modelBody);
  return lm::WeightOp::create(
      builder, NameLoc::get(builder.getStringAttr(symbol)), symbol,
      lm::WeightType::get(&context, {int64_t(numbers.size())}, WeightFormat::F32), StringAttr(),
      lm::FormatAttr(), builder.getDenseF32ArrayAttr(numbers));
}

std::vector<float> ModelBuilder::take(StringRef source, int64_t length) {
  const import::Tensor *tensor = takeRows(TensorRows{source.str()}, {length});
  std::vector<float> numbers(length, 1);
  if (!tensor)
    return numbers;
  auto read = import::RowSource(*tensor).read(0, numbers);
  if (!read)
    refuse(std::move(read.error()));
  return numbers;
}

lm::WeightOp ModelBuilder::tiedOutput(lm::WeightOp embedding, StringRef outputSource) {
  const import::Tensor *output = checkpoint.find(outputSource);
  if (!output || !embedding)
    return embedding;
  takeUnread(outputSource);
  const import::Tensor *table = checkpoint.find(cast<StringAttr>(*embedding.getSource()).str());
  if (!import::sameRows(*output, *table))
    refuse(import::refuse(cause::tensorUnused,
                          line("the checkpoint has a head of its own, ", inQuotes(outputSource)),
                          "its configuration ties the head to the embedding, but the two differ",
                          "set tie_word_embeddings to false, or remove the tensor"));
  return embedding;
}

/// Whether it belongs to a layer behind the last: people cut models by num_hidden_layers alone.
bool ModelBuilder::isOfCutLayer(StringRef tensor) const {
  int64_t layer;
  return checkpoint.container == import::Container::Safetensors &&
         tensor.consume_front(shape.names.layers) && !tensor.consumeInteger(10, layer) &&
         tensor.starts_with(".") && layer >= int64_t(layerKinds.size());
}

void ModelBuilder::checkAllTaken() {
  if (first)
    return; // nothing was taken behind it
  std::vector<std::string> unused;
  int64_t cut = 0;
  for (const import::Tensor &tensor : checkpoint.tensors) {
    auto rows = taken.find(tensor.name);
    if (isOfCutLayer(tensor.name))
      ++cut;
    else if (rows == taken.end())
      unused.push_back(tensor.name);
    else if (!rows->second.all())
      refuseHalfUsed(tensor, rows->second);
  }
  for (const import::UnreadTensor &tensor : checkpoint.unread)
    if (isOfCutLayer(tensor.name))
      ++cut;
    else if (!needless.contains(tensor.name))
      refuseType(tensor);
  if (cut)
    mlir::emitWarning(modelBody->getParentOp()->getLoc())
        << "warning: " << cut << " tensors of layers from " << layerKinds.size()
        << " on are left out: config.json has " << layerKinds.size() << " layers";
  if (!unused.empty())
    refuseUnused(unused);
}

void ModelBuilder::refuseUnused(ArrayRef<std::string> unused) {
  const size_t shown = std::min<size_t>(unused.size(), 8); // a checkpoint may have thousands
  std::string names;
  for (const std::string &name : unused.take_front(shown))
    names += (names.empty() ? "" : ", ") + inQuotes(name);
  if (shown < unused.size())
    names += line(", and ", unused.size() - shown, " more");
  refuse(import::refuse(cause::tensorUnused,
                        line("the checkpoint has ", unused.size() > 1 ? "tensors" : "a tensor",
                             " that its family does not know: ", names),
                        line("the ", shape.family.str(), " family took ",
                             checkpoint.tensors.size() - unused.size(), " of ",
                             checkpoint.tensors.size(), " tensors"),
                        "use a checkpoint of the plain architecture, without adapters"));
}

void ModelBuilder::refuseType(const import::UnreadTensor &tensor) {
  refuse(
      import::refuse(import::cause::typeUnsupported,
                     line("tensor ", inQuotes(tensor.name), " has the type ", tensor.type),
                     line("the ", shape.family.str(), " family knows no tensor of that name and ",
                          "type; weights are F32 F16 BF16 F8_E4M3"),
                     "use the original checkpoint in BF16, F16 or F32"));
}

void ModelBuilder::refuseHalfUsed(const import::Tensor &tensor, const llvm::BitVector &rows) {
  refuse(import::refuse(
      cause::rowsUnused, line("the tensor ", inQuotes(tensor.name), " is used in part"),
      line("the ", shape.family.str(), " family takes ", rows.count(), " of its ", rows.size(),
           " rows; the first that it leaves is row ", rows.find_first_unset()),
      "take configuration and tensors from the same checkpoint"));
}

//===----------------------------------------------------------------------===//
// Layers and entry
//===----------------------------------------------------------------------===//

ModelBuilder::Kind ModelBuilder::emitKind(StringRef name, const LayerWeights &weights,
                                          function_ref<Value(LayerEmitter &)> emit) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(modelBody);
  auto hiddenType = lm::rowsType(&context, shape.hidden);
  Location location = NameLoc::get(builder.getStringAttr(name));
  auto kind = lm::LayerKindOp::create(builder, location, name, builder.getFunctionType({}, {}));
  Block &body = kind.getBody().emplaceBlock();

  LayerEmitter layer(OpBuilder::atBlockEnd(&body), body);
  layer.x = body.addArgument(hiddenType, layer.at("x"));
  layer.batch = body.addArgument(lm::BatchType::get(&context), layer.at("batch"));
  for (auto [role, weight] : weights.list)
    layer.arguments[role] = body.addArgument(weight.getType(), layer.at(role + ".w"));
  for (const auto &[role, other] : weights.shared)
    layer.arguments[role] = layer.arguments[other];
  SmallVector<Value> results = {emit(layer)}; // which adds arguments: states
  Kind made{kind, {}};
  for (auto &[state, value] : layer.states) {
    made.states.push_back(state);
    results.push_back(value);
  }
  lm::ReturnOp::create(layer.builder, location, results);
  kind.setType(builder.getFunctionType(body.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, entry] : llvm::enumerate(weights.list))
    kind.setArgAttr(kind.firstWeight() + i, lm::kRoleAttr, builder.getStringAttr(entry.first));
  return made;
}

void ModelBuilder::layer(StringRef name, const LayerWeights &weights,
                         function_ref<Value(LayerEmitter &)> emit) {
  if (first)
    return;
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << name;
  SmallVector<Attribute> symbols;
  for (auto [role, weight] : weights.list) {
    stream << '|' << role << ':' << weight.getType();
    symbols.push_back(FlatSymbolRefAttr::get(weight.getSymNameAttr()));
  }
  for (const auto &[role, other] : weights.shared)
    stream << '|' << role << '=' << other;
  Kind &kind = kinds[key];
  if (!kind.op) {
    kind = emitKind(name, weights, emit);
    if (!firstKind)
      firstKind = kind.op;
  }
  layerKinds.push_back(&kind);
  layerWeights.push_back(builder.getArrayAttr(symbols));
}

/// Kinds that share a base name are numbered in the order of their first layers.
void ModelBuilder::nameKinds() {
  std::map<std::string, SmallVector<lm::LayerKindOp>> byName;
  for (auto kind : modelBody->getOps<lm::LayerKindOp>())
    byName[kind.getSymName().str()].push_back(kind);
  for (auto &[name, list] : byName)
    if (list.size() > 1)
      for (auto [i, kind] : llvm::enumerate(list))
        kind.setSymName(name + std::to_string(i));
}

/// States of all layers, in order. Returns the list of each layer.
SmallVector<Attribute> ModelBuilder::emitStates() {
  OpBuilder::InsertionGuard guard(builder);
  if (firstKind)
    builder.setInsertionPoint(firstKind);
  SmallVector<Attribute> lists;
  for (auto [layer, kind] : llvm::enumerate(layerKinds)) {
    SmallVector<Attribute> own;
    lm::LayerKindOp op = kind->op;
    for (auto [name, type] : llvm::zip(kind->states, op.stateTypes())) {
      std::string symbol = line(name, '.', layer);
      lm::StateOp::create(builder, NameLoc::get(builder.getStringAttr(symbol)), symbol,
                          cast<lm::StateType>(type).getLayout());
      own.push_back(FlatSymbolRefAttr::get(&context, symbol));
    }
    lists.push_back(builder.getArrayAttr(own));
  }
  return lists;
}

void ModelBuilder::emitEntry(const EntryWeights &entry) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(modelBody);
  auto named = [&](StringRef name) { return NameLoc::get(builder.getStringAttr(name)); };
  auto f32 = [&](double value) { return builder.getF32FloatAttr(static_cast<float>(value)); };
  auto idsType = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  auto statesType = lm::StatesType::get(&context);
  auto batchType = lm::BatchType::get(&context);
  auto hiddenType = lm::rowsType(&context, shape.hidden);
  auto logitsType = lm::rowsType(&context, shape.vocab);
  auto function = lm::EntryOp::create(
      builder, named("step"), "step",
      builder.getFunctionType({idsType, statesType, batchType}, {logitsType, statesType}));
  Block &body = function.getBody().emplaceBlock();
  for (Type input : function.getArgumentTypes())
    body.addArgument(input, function.getLoc());
  Value ids = body.getArgument(0), states = body.getArgument(1), batch = body.getArgument(2);

  builder.setInsertionPointToEnd(&body);
  auto get = [&](lm::WeightOp weight) -> Value {
    return lm::GetWeightOp::create(builder, weight.getLoc(), weight.getType(), weight.getSymName());
  };
  Value x = lm::EmbedOp::create(builder, named("token_embd"), hiddenType, ids, get(entry.embedding),
                                f32(entry.embeddingScale));
  if (entry.positions) {
    Value positions = lm::EmbedPositionsOp::create(builder, named("position_embd"), hiddenType,
                                                   get(entry.positions), batch);
    x = lm::AddOp::create(builder, named("embedded"), hiddenType, x, positions);
  }
  SmallVector<Attribute> kindSymbols;
  for (const Kind *kind : layerKinds) {
    lm::LayerKindOp op = kind->op;
    kindSymbols.push_back(FlatSymbolRefAttr::get(op.getSymNameAttr()));
  }
  auto layers =
      lm::LayersOp::create(builder, named("layers"), hiddenType, statesType, x, states, batch,
                           builder.getArrayAttr(kindSymbols), builder.getArrayAttr(emitStates()),
                           builder.getArrayAttr(layerWeights));
  x = lm::SelectRowsOp::create(builder, named("select_rows"), hiddenType, layers.getY(), batch);
  if (entry.norm == Norm::Layer)
    x = lm::LayerNormOp::create(builder, named("output_norm"), hiddenType, x, get(entry.outputNorm),
                                entry.outputNormBias ? get(entry.outputNormBias) : Value(),
                                f32(entry.normEps), builder.getI64IntegerAttr(1),
                                f32(entry.normWeightOffset));
  else
    x = lm::RmsNormOp::create(builder, named("output_norm"), hiddenType, x, get(entry.outputNorm),
                              f32(entry.normEps), builder.getI64IntegerAttr(1),
                              f32(entry.normWeightOffset));
  if (entry.outputColumns)
    x = lm::PermuteOp::create(builder, named("permute"), hiddenType, x, get(entry.outputColumns),
                              /*routes=*/Value());
  Value logits = lm::LinearOp::create(builder, named("output"), logitsType, x, get(entry.output),
                                      entry.outputBias ? get(entry.outputBias) : Value());
  if (entry.logitsScale != 1)
    logits = lm::ScaleOp::create(builder, named("logits_scale"), logitsType, logits,
                                 f32(entry.logitsScale));
  if (entry.softcap > 0)
    logits =
        lm::SoftcapOp::create(builder, named("softcap"), logitsType, logits, f32(entry.softcap));
  lm::ReturnOp::create(builder, function.getLoc(), ValueRange{logits, layers.getAfter()});
}

ImportedModel ModelBuilder::finish(const EntryWeights &entry, Error &why) {
  checkAllTaken();
  if (!first) {
    nameKinds();
    emitEntry(entry);
    if (mlir::failed(verify(*module)))
      refuse({ExitCode::Internal, "E0901", "the imported model is not valid IR",
              "the diagnostics above say where", "report this, with the checkpoint's name"});
  }
  if (first) {
    why = std::move(*first);
    return failure();
  }
  return std::move(module);
}
