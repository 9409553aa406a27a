//===- ModelBuilder.cpp - Emits lm: the part all families share -----------===//
// ModelTensors.cpp and ModelWeights.cpp take tensors from the checkpoint.
//===----------------------------------------------------------------------===//
#include "models/ModelBuilder.h"
#include "compiler/import/error/ImportErrors.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Norm.h"
#include "dialects/lm/ops/Rows.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::models;
using import::line;

/// Returns the dtype of a config.json (bf16 by default, since that is how checkpoints are stored today).
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
  SmallVector<Value> results = {emit(layer)}; // emit() adds arguments for states
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

/// Numbers kinds that share a base name, in the order of their first layers.
void ModelBuilder::nameKinds() {
  std::map<std::string, SmallVector<lm::LayerKindOp>> byName;
  for (auto kind : modelBody->getOps<lm::LayerKindOp>())
    byName[kind.getSymName().str()].push_back(kind);
  for (auto &[name, list] : byName)
    if (list.size() > 1)
      for (auto [i, kind] : llvm::enumerate(list))
        kind.setSymName(name + std::to_string(i));
}

/// Emits the states of all layers, in order. Returns each layer's list of states.
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
      refuse({ExitCode::Internal, "E0903", "the imported model is not valid IR",
              "the diagnostics above say where", "report this, with the checkpoint's name"});
  }
  if (first) {
    why = std::move(*first);
    return failure();
  }
  return std::move(module);
}
