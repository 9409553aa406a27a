//===- Interpreter.cpp - A simple, slow interpreter of lm -----------------===//
#include "compiler/reference/Interpreter.h"
#include "compiler/reference/Run.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

Result<SmallVector<Content>> Run::runBlock(Block &block) {
  return runOps(block, std::prev(block.end()), block.getTerminator()->getOperands());
}

Result<SmallVector<Content>> Run::runOps(Block &block, Block::iterator end, ValueRange given) {
  for (Operation &op : llvm::make_range(block.begin(), end))
    if (auto done = runOp(&op); !done)
      return std::move(done.error());
  SmallVector<Content> results;
  for (Value value : given)
    results.push_back(contents.lookup(value));
  // Nothing outside a block reads its values, so free their memory. The next layer of this kind computes them again.
  for (Operation &op : block)
    for (Value result : op.getResults())
      contents.erase(result);
  return results;
}

Result<void> Run::runOp(Operation *op) {
  if (auto get = dyn_cast<lm::GetWeightOp>(op)) {
    bind(get.getResult(), {nullptr, symbols.lookup<lm::WeightOp>(get.getWeight())});
    return {};
  }
  if (auto layersOp = dyn_cast<lm::LayersOp>(op))
    return runLayers(layersOp);
  if (auto fused = dyn_cast<lm::FusedOp>(op))
    return runFused(fused);
  if (auto conv = dyn_cast<lm::CausalConvOp>(op))
    return convolve(conv);
  if (auto routeOp = dyn_cast<lm::RouteOp>(op))
    return route(routeOp);
  if (auto appendOp = dyn_cast<lm::KvAppendOp>(op)) {
    append(appendOp);
    return {};
  }
  if (auto outside = dyn_cast<lm::RowOpInterface>(op))
    return runOutside(outside);
  auto result = compute(op);
  if (!result)
    return std::move(result.error());
  bind(op->getResult(0), {std::make_shared<Matrix>(std::move(*result)), {}});
  return {};
}

Result<Matrix> Run::compute(Operation *op) {
  return TypeSwitch<Operation *, Result<Matrix>>(op)
      .Case([&](lm::EmbedOp o) { return embed(o); })
      .Case([&](lm::EmbedPositionsOp o) { return embedPositions(o); })
      .Case([&](lm::LinearOp o) { return linear(o); })
      .Case([&](lm::RmsNormOp o) -> Result<Matrix> {
        auto weight = vectorOf(o.getWeight());
        if (!weight)
          return std::move(weight.error());
        return rmsNorm(rows(o.getX()), *weight, o.getEps().convertToFloat(), o.getHeads(),
                       o.getWeightOffset().convertToFloat());
      })
      .Case([&](lm::LayerNormOp o) -> Result<Matrix> {
        auto weight = vectorOf(o.getWeight());
        if (!weight)
          return std::move(weight.error());
        auto bias = vectorOf(o.getBias());
        if (!bias)
          return std::move(bias.error());
        return layerNorm(rows(o.getX()), *weight, *bias, o.getEps().convertToFloat(), o.getHeads(),
                         o.getWeightOffset().convertToFloat());
      })
      .Case([&](lm::RopeOp o) -> Result<Matrix> {
        auto frequencies = vectorOf(o.getFrequencies());
        if (!frequencies)
          return std::move(frequencies.error());
        return rope(rows(o.getX()), *frequencies, batch, o.getHeads(), o.getStyle(),
                    o.getAttentionFactor().convertToFloat());
      })
      .Case([&](lm::ScaleByPositionOp o) -> Result<Matrix> {
        auto factors = vectorOf(o.getFactors());
        if (!factors)
          return std::move(factors.error());
        Matrix y = rows(o.getX());
        for (int64_t t = 0; t < y.rows; ++t)
          for (float &value : y.row(t))
            value *= factorAt(*factors, batch.positions[t], int64_t(o.getPeriod()));
        return y;
      })
      .Case([&](lm::AttentionOp o) -> Result<Matrix> {
        const StateValue kv = contents.lookup(o.getKv()).state;
        auto sinks = vectorOf(o.getSinks());
        if (!sinks)
          return std::move(sinks.error());
        return attention(rows(o.getQ()), state, kv.slot, kv.lengths, batch,
                         {static_cast<int64_t>(o.getHeads()), static_cast<int64_t>(o.getKvHeads()),
                          o.getScale().convertToFloat(), static_cast<int64_t>(o.getWindow()),
                          o.getSoftcap().convertToFloat(), *sinks});
      })
      .Case([&](lm::DispatchOp o) { return dispatch(rows(o.getX()), routes(o.getRoutes())); })
      .Case([&](lm::CombineOp o) { return combine(rows(o.getX()), routes(o.getRoutes())); })
      .Case([&](lm::SwigluOaiOp o) {
        return swigluOai(rows(o.getGate()), rows(o.getUp()), o.getAlpha().convertToFloat(),
                         o.getLimit().convertToFloat());
      })
      .Case([&](lm::ScaleRowsOp o) { return scaleRows(rows(o.getX()), rows(o.getFactors())); })
      .Case([&](lm::PermuteOp o) -> Result<Matrix> {
        auto columns = vectorOf(o.getColumns());
        if (!columns)
          return std::move(columns.error());
        return o.getRoutes() ? permute(rows(o.getX()), *columns, routes(o.getRoutes()))
                             : permute(rows(o.getX()), *columns);
      })
      .Case([&](lm::SelectRowsOp o) { return selectRows(rows(o.getX()), batch.logitsRows); })
      // A cast has no effect here. The plan interpreter measures the cost of an encoding.
      .Case([&](lm::CastOp o) -> Result<Matrix> { return rows(o.getX()); })
      .Case([&](lm::AddOp o) { return add(rows(o.getA()), rows(o.getB())); })
      .Case([&](lm::MulOp o) { return multiplyElements(rows(o.getA()), rows(o.getB())); })
      .Case([&](lm::ScaleOp o) { return scale(rows(o.getX()), o.getFactor().convertToFloat()); })
      .Case([&](lm::ActivationOp o) { return activation(rows(o.getX()), o.getKind()); })
      .Case([&](lm::XieluOp o) -> Result<Matrix> {
        const Value weights[] = {o.getLinear(), o.getPositive(), o.getNegative()};
        std::array<std::vector<float>, 3> slopes;
        for (auto [values, weight] : llvm::zip(slopes, weights)) {
          auto vector = vectorOf(weight);
          if (!vector)
            return std::move(vector.error());
          values = std::move(*vector);
        }
        return xielu(rows(o.getX()), slopes[0], slopes[1], slopes[2]);
      })
      .Case([&](lm::SoftcapOp o) { return softcap(rows(o.getX()), o.getCap().convertToFloat()); })
      .Default([](Operation *o) -> Result<Matrix> {
        return Error{ExitCode::Internal, "E0455",
                     "the reference interpreter does not support " +
                         o->getName().getStringRef().str(),
                     "it supports the ops of the lm dialect",
                     "compare before the program is lowered, or give the op a decomposition"};
      });
}

Result<std::vector<float>> Run::vectorOf(Value value) {
  if (!value)
    return std::vector<float>();
  lm::WeightOp weight = contents.lookup(value).weight;
  if (auto values = weight.getValues())
    return std::vector<float>(values->begin(), values->end());
  std::vector<float> numbers(static_cast<size_t>(weight.getType().rows()));
  if (auto read = weights.row(weight, 0, numbers); !read)
    return std::move(read.error());
  return numbers;
}

Result<Matrix> Run::embed(lm::EmbedOp op) {
  lm::WeightOp weight = contents.lookup(op.getWeight()).weight;
  int64_t vocabulary = weight.getType().rows();
  float factor = op.getScale().convertToFloat();
  Matrix y(static_cast<int64_t>(step.ids.size()), weight.getType().columns());
  for (int64_t t = 0; t < y.rows; ++t) {
    int32_t id = step.ids[t];
    if (id < 0 || id >= vocabulary)
      return Error{ExitCode::Usage, "E0454", "the id " + std::to_string(id) + " is not a token",
                   "the vocabulary has ids 0 to " + std::to_string(vocabulary - 1),
                   "give other ids"};
    if (auto read = weights.row(weight, id, y.row(t)); !read)
      return std::move(read.error());
    for (float &value : y.row(t))
      value *= factor;
  }
  return y;
}

Result<Matrix> Run::embedPositions(lm::EmbedPositionsOp op) {
  lm::WeightOp table = contents.lookup(op.getTable()).weight;
  Matrix y(static_cast<int64_t>(step.ids.size()), table.getType().columns());
  for (int64_t t = 0; t < y.rows; ++t)
    if (auto read = weights.row(
            table, std::min<int64_t>(batch.positions[t], table.getType().rows() - 1), y.row(t));
        !read)
      return std::move(read.error());
  return y;
}

Result<void> Run::route(lm::RouteOp op) {
  auto bias = vectorOf(op.getBias()), scales = vectorOf(op.getExpertScale());
  if (!bias || !scales)
    return std::move((bias ? scales : bias).error());
  const RouteRules rules = RouteRules::of(op);
  const Matrix &logits = rows(op.getLogits());
  auto made = std::make_shared<Routes>(Routes{rules.experts, rules.used, {}, {}, {}, {}});
  const auto used = static_cast<size_t>(rules.used);
  made->expert.resize(static_cast<size_t>(logits.rows) * used);
  made->weight.resize(made->expert.size());
  for (int64_t t = 0; t < logits.rows; ++t)
    chooseExperts(rules, logits.row(t), *bias, *scales,
                  std::span(made->expert).subspan(static_cast<size_t>(t) * used, used),
                  std::span(made->weight).subspan(static_cast<size_t>(t) * used, used));
  groupRows(*made);
  bind(op.getRoutes(), {nullptr, {}, {}, std::move(made)});
  return {};
}

/// Multiplies expert by expert, because the rows of an expert are contiguous.
Result<Matrix> Run::linearOfRoutes(lm::LinearOp op) {
  lm::WeightOp weight = contents.lookup(op.getWeight()).weight,
               bias = op.getBias() ? contents.lookup(op.getBias()).weight : lm::WeightOp();
  const Matrix &x = rows(op.getX());
  const Routes &to = routes(op.getRoutes());
  Matrix y(x.rows, weight.getType().rows());
  for (int64_t first = 0, count; first < x.rows; first += count) {
    const int32_t expert = to.expertOf(first);
    for (count = 1; first + count < x.rows && to.expertOf(first + count) == expert;)
      ++count;
    Matrix some(count, x.columns);
    std::copy_n(x.row(first).data(), some.values.size(), some.values.data());
    auto products = weights.multiply(weight, some, expert);
    if (!products)
      return products;
    std::vector<float> added(static_cast<size_t>(bias ? y.columns : 0));
    for (size_t n = 0; n < added.size(); ++n)
      if (auto read = weights.row(bias, expert * y.columns + static_cast<int64_t>(n),
                                  std::span(added).subspan(n, 1));
          !read)
        return std::move(read.error());
    if (bias)
      addBias(*products, added);
    std::ranges::copy(products->values, y.row(first).data());
  }
  return y;
}

Result<Matrix> Run::linear(lm::LinearOp op) {
  if (op.getRoutes())
    return linearOfRoutes(op);
  auto y = weights.multiply(contents.lookup(op.getWeight()).weight, rows(op.getX()));
  if (!y || !op.getBias())
    return y;
  auto bias = vectorOf(op.getBias());
  if (!bias)
    return std::move(bias.error());
  addBias(*y, *bias);
  return y;
}

Result<void> Run::runFused(lm::FusedOp op) {
  auto results = runBlock(op.getBody().front());
  if (!results)
    return std::move(results.error());
  for (auto [value, content] : llvm::zip(op.getResults(), *results))
    bind(value, std::move(content));
  return {};
}

void Run::append(lm::KvAppendOp op) {
  StateValue kv = contents.lookup(op.getKv()).state;
  const Matrix &k = rows(op.getK()), &v = rows(op.getV());
  for (int64_t t = 0; t < k.rows; ++t) {
    int32_t sequence = batch.sequences[t];
    state.append(kv.slot, sequence, batch.positions[t], k.row(t), v.row(t),
                 static_cast<int64_t>(op.getKvHeads()));
    kv.lengths[sequence] = batch.positions[t] + 1;
  }
  bind(op.getResult(), {nullptr, {}, std::move(kv)});
}

Result<void> Run::convolve(lm::CausalConvOp op) {
  auto weight = vectorOf(op.getWeight());
  if (!weight)
    return std::move(weight.error());
  auto bias = vectorOf(op.getBias());
  if (!bias)
    return std::move(bias.error());
  StateValue history = contents.lookup(op.getBefore()).state;
  const Matrix &x = rows(op.getX());
  auto y = std::make_shared<Matrix>(x.rows, x.columns);
  for (int64_t t = 0; t < x.rows; ++t)
    causalConvRow(x.row(t), *weight, *bias, history.values[batch.sequences[t]], y->row(t));
  bind(op.getResult(), {std::move(y), {}});
  bind(op.getAfter(), {nullptr, {}, std::move(history)});
  return {};
}

/// Returns the value of a state before this step, which a layer reads.
StateValue Run::stateBefore(int64_t slot, Value argument) {
  StateValue found{slot, {}, {}};
  lm::FixedAttr fixed = cast<lm::StateType>(argument.getType()).fixed();
  size_t size = 0;
  if (fixed)
    for (lm::StreamAttr stream : fixed.getStreams())
      size += static_cast<size_t>(stream.values());
  for (auto [sequence, position] : llvm::zip(batch.sequences, batch.positions)) {
    if (fixed && !found.values.contains(sequence)) // the sequence's first token in this step
      found.values[sequence] = state.fixedAt(slot, sequence, position, size);
    else if (const KvState::Rows *held = fixed ? nullptr : state.find(slot, sequence))
      found.lengths[sequence] = held->length;
  }
  return found;
}

/// Stores the state that a layer returns. Paged states were already stored by the append.
void Run::keep(const StateValue &left) {
  for (auto &[sequence, values] : left.values) {
    int64_t behind = 0;
    for (auto [of, position] : llvm::zip(batch.sequences, batch.positions))
      if (of == sequence)
        behind = position + 1;
    state.keepFixed(left.slot, sequence, behind, values);
  }
}

Result<Content> Run::runLayer(lm::LayersOp op, int64_t index, Content x) {
  auto kind =
      symbols.lookup<lm::LayerKindOp>(cast<FlatSymbolRefAttr>(op.getKinds()[index]).getAttr());
  Block &body = kind.getBody().front();
  bind(body.getArgument(0), std::move(x));
  auto states = cast<ArrayAttr>(op.getStates()[index]).getAsRange<FlatSymbolRefAttr>();
  for (auto [i, symbol] : llvm::enumerate(states)) {
    Value argument = body.getArgument(1 + i);
    bind(argument, {nullptr, {}, stateBefore(slots.lookup(symbol.getAttr()), argument)});
  }
  auto symbolsOfLayer = cast<ArrayAttr>(op.getWeights()[index]).getAsRange<FlatSymbolRefAttr>();
  for (auto [i, symbol] : llvm::enumerate(symbolsOfLayer))
    bind(body.getArgument(kind.firstWeight() + i),
         {nullptr, symbols.lookup<lm::WeightOp>(symbol.getAttr())});
  auto results = runBlock(body);
  if (!results)
    return std::move(results.error());
  for (const Content &content : llvm::drop_begin(*results))
    keep(content.state);
  return std::move(results->front());
}

Result<void> Run::runLayers(lm::LayersOp op) {
  Content x = contents.lookup(op.getX());
  SmallVector<int64_t> all(op.getKinds().size());
  std::iota(all.begin(), all.end(), 0);
  for (int64_t index : layers.empty() ? ArrayRef<int64_t>(all) : layers) {
    auto y = runLayer(op, index, std::move(x));
    if (!y)
      return std::move(y.error());
    x = std::move(*y);
    if (watch)
      watch(index, *x.rows);
  }
  bind(op.getY(), std::move(x));
  bind(op.getAfter(), contents.lookup(op.getBefore()));
  return {};
}

Result<std::unique_ptr<Interpreter>> Interpreter::create(ModuleOp module, WeightProvider &weights) {
  auto models = module.getOps<lm::ModelOp>();
  if (!llvm::hasSingleElement(models))
    return Error{ExitCode::Internal, "E0453", "the module does not have exactly one lm.model",
                 "it has " + std::to_string(llvm::range_size(models)),
                 "give the interpreter a program in lm"};
  lm::ModelOp model = *models.begin();
  if (model.getBody().getOps<lm::EntryOp>().empty())
    return Error{ExitCode::Internal, "E0453", "the module does not have a complete model",
                 "@" + model.getSymName().str() + " has no lm.entry",
                 "give the interpreter a program in lm"};
  return std::unique_ptr<Interpreter>(new Interpreter(model, weights));
}

lm::ModelOp Interpreter::model() const { return cast<lm::ModelOp>(root); }

static Batch completeBatch(const Step &step) {
  Batch batch{step.sequences, step.positions, step.logitsRows};
  size_t tokens = step.ids.size();
  if (batch.sequences.empty())
    batch.sequences.assign(tokens, 0);
  if (batch.positions.empty()) {
    batch.positions.resize(tokens);
    std::iota(batch.positions.begin(), batch.positions.end(), 0);
  }
  if (batch.logitsRows.empty()) {
    batch.logitsRows.resize(tokens);
    std::iota(batch.logitsRows.begin(), batch.logitsRows.end(), 0);
  }
  return batch;
}

Result<Matrix> Interpreter::step(const Step &step, KvState &kv) {
  Batch batch = completeBatch(step);
  assert(batch.sequences.size() == step.ids.size() && batch.positions.size() == step.ids.size() &&
         "each id has a sequence and a position");
  Run run(model(), weights, layers, step, batch, kv, watch, watchOps);
  auto entry = *model().getBody().getOps<lm::EntryOp>().begin();
  Block &body = entry.getBody().front();
  run.bind(body.getArgument(1), {});
  auto results = run.runBlock(body);
  if (!results)
    return std::move(results.error());
  return *results->front().rows;
}
