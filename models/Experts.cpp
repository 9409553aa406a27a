//===- Experts.cpp - See Experts.h ----------------------------------------===//
#include "models/Decoder.h"
#include "models/ModelBuilder.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;
using import::inQuotes;
using import::line;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

/// Reads expert_gating_func, which most files leave to the architecture's default.
static void readGgufScore(Config &config, RouteShape &route) {
  constexpr const char *key = "expert_gating_func";
  if (!config.has(key))
    return;
  const int64_t function = config.count(key);
  if (function == 3) { // a softmax over the logits of the chosen experts
    route.score = lm::RouteScore::None;
    route.normalize = lm::RouteNorm::Softmax;
    return;
  }
  constexpr lm::RouteScore kScores[] = {lm::RouteScore::Softmax, lm::RouteScore::Sigmoid,
                                        lm::RouteScore::None, lm::RouteScore::SqrtSoftplus};
  if (function > 4)
    return config.refuseValue(key, line(function), "1 to 4");
  route.score = kScores[function - 1];
}

static void readGgufExperts(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  RouteShape &route = experts.route;
  route.count = config.count("expert_count");
  route.used = config.count("expert_used_count");
  experts.width = config.countOr("expert_feed_forward_length", m.feedForward);
  readGgufScore(config, route);
  if (config.has("expert_weights_norm"))
    route.normalize =
        config.flagOr("expert_weights_norm", true) ? lm::RouteNorm::Sum : lm::RouteNorm::None;
  route.scale = config.positiveOr("expert_weights_scale", route.scale);
  route.groups = config.countOr("expert_group_count", route.groups);
  route.usedGroups = config.countOr("expert_group_used_count", route.usedGroups);
  const int64_t shared = config.countOr("expert_shared_count", 0);
  experts.sharedWidth = config.countOr("expert_shared_feed_forward_length", shared * experts.width);
  const int64_t dense = static_cast<int64_t>(config.numberOr("leading_dense_block_count", 0)),
                step = config.countOr("interleave_moe_layer_step", 1);
  readExpertLayers(m, [&](int64_t i) { return i >= dense && (i + 1) % step == 0; });
}

/// Reads a count under any of its names; if several are present, they must agree.
static int64_t readCount(Config &config, llvm::ArrayRef<llvm::StringLiteral> keys) {
  const auto *first = llvm::find_if(keys, [&](llvm::StringRef key) { return config.has(key); });
  const int64_t count = config.count(first == keys.end() ? keys.front() : *first);
  for (llvm::StringRef key : keys)
    if (config.has(key) && config.count(key) != count)
      config.refuseValue(key, line(config.count(key)), line(count));
  return count;
}

void models::readExperts(Config &config, Decoder &m) {
  Experts &experts = *m.experts;
  RouteShape &route = experts.route;
  const bool gguf = config.isGguf();
  if (gguf) {
    readGgufExperts(config, m);
  } else {
    route.count = readCount(
        config, {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"});
    route.used =
        readCount(config, {"num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"});
    experts.width = config.count(experts.widthKey);
  }
  if (route.count < 2)
    config.refuseValue(gguf ? "expert_count" : "num_experts", line(route.count), "2 or more");
  else if (route.count % route.groups != 0 || route.usedGroups > route.groups)
    config.refuseValue(gguf ? "expert_group_count" : "n_group", line(route.groups),
                       line("equal groups of the ", route.count, " experts, of which ",
                            route.usedGroups, " are used"));
  else if (const int64_t most = route.count / route.groups * route.usedGroups; route.used > most)
    config.refuseValue(gguf ? "expert_used_count" : "num_experts_per_tok", line(route.used),
                       line("at most ", most, " (the number of experts)"));
}

void models::readExpertLayers(Decoder &m, llvm::function_ref<bool(int64_t)> has) {
  m.rules.resize(static_cast<size_t>(m.layers));
  for (auto [i, rules] : llvm::enumerate(m.rules))
    if (rules.experts = has(static_cast<int64_t>(i)); !rules.experts)
      rules.kind = "dense";
}

void models::setGroupedRouter(Config &config, Experts &experts) {
  RouteShape &route = experts.route;
  route.score = lm::RouteScore::Sigmoid;
  route.normEps = 1e-20;
  route.groupScore = lm::GroupScore::Top2Sum;
  experts.selectBias = true;
  if (config.isGguf())
    return;
  route.groups = config.countOr("n_group", 1);
  route.usedGroups = config.countOr("topk_group", 1);
}

void models::readGroupedRouter(Config &config, Decoder &m, bool normalized, int64_t dense) {
  Experts &experts = *m.experts;
  if (!config.flagOr("norm_topk_prob", normalized))
    experts.route.normalize = lm::RouteNorm::None;
  experts.route.scale = config.positiveOr("routed_scaling_factor", 1);
  experts.sharedWidth = experts.width * config.countOr("n_shared_experts", 1);
  const double first = config.numberOr("first_k_dense_replace", static_cast<double>(dense));
  readExpertLayers(m, [&](int64_t i) { return static_cast<double>(i) >= first; });
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {

/// The matrices [rows][columns] of one projection of a layer's experts.
struct Projection {
  llvm::StringLiteral role, apart; ///< `apart`: the tensor name of a single expert's matrix
  std::string stack;               ///< full tensor name of the stack; empty: there is none
  int64_t rows, columns;
  /// In a stack shared with other projections: the projection's first row, the distance between its rows, and the
  /// number of rows of all projections.
  int64_t first = 0, stride = 1, height = rows;
};

/// Takes the experts' matrices of one layer, in whichever form they are stored.
class StackReader {
public:
  StackReader(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Experts &experts)
      : model(model), weights(weights), layer(layer), experts(experts), count(experts.route.count) {
  }

  bool has(llvm::StringRef tensor) const { return model.hasTensor(model.sourceOf(layer, tensor)); }

  void take(const Projection &p) {
    const std::string first = apart(p, 0);
    const bool stack = model.isGguf() ? !model.hasTensor(first) : !p.stack.empty() && has(p.stack);
    model.addStack(weights, layer, p.role, stack ? partsOfStack(p) : partsApart(p),
                   {count, p.rows, p.columns});
  }

  void takeBias(const Projection &p) {
    const std::string source = model.sourceOf(
        layer, model.isGguf() ? llvm::StringRef(p.stack).drop_back(strlen("weight")).str() + "bias"
                              : p.stack + "_bias");
    model.expectShape(source, {count, p.height});
    model.addStack(weights, layer, (p.role + "_bias").str(), rowsOf(p, source), {count, p.rows, 1});
  }

private:
  std::string apart(const Projection &p, int64_t expert) const {
    const llvm::StringRef experts = model.isGguf() ? p.apart : this->experts.names.experts;
    const std::string own = model.isGguf() ? "" : "." + p.apart.str();
    return model.sourceOf(layer, line(experts.str(), ".", expert, own, ".weight"));
  }

  llvm::SmallVector<TensorRows> partsApart(const Projection &p) const {
    llvm::SmallVector<TensorRows> parts;
    for (int64_t e = 0; e < count; ++e) {
      parts.push_back({apart(p, e)});
      model.expectShape(parts.back().tensor, {p.rows, p.columns});
    }
    return parts;
  }

  /// Returns the rows of the projection in a stack of concatenated matrices.
  TensorRows rowsOf(const Projection &p, const std::string &source) const {
    if (p.height == p.rows)
      return {source};
    return {source, -1, {p.first, {{count, p.height}, {p.rows, p.stride}}}};
  }

  llvm::SmallVector<TensorRows> partsOfStack(const Projection &p) const {
    const std::string source = model.sourceOf(layer, p.stack);
    const import::Tensor *tensor = model.find(source);
    if (!experts.across || model.isGguf() || !numericFormat(tensor->format).isFloat()) {
      model.expectShape(source, {count, p.height, p.columns});
      return {rowsOf(p, source)};
    }
    model.expectShape(source, {count, p.columns, p.height});
    llvm::SmallVector<TensorRows> parts;
    for (int64_t e = 0; e < count; ++e)
      parts.push_back({source, e, {p.first, {{p.rows, p.stride}}}, /*transposed=*/true});
    return parts;
  }

  ModelBuilder &model;
  LayerWeights &weights;
  int64_t layer;
  const Experts &experts;
  int64_t count;
};

} // namespace

static void takeStacks(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                       const Decoder &m) {
  const Experts &experts = *m.experts;
  const ExpertNames &names = experts.names;
  const int64_t width = experts.width;
  const bool gguf = model.isGguf();
  StackReader reader(model, weights, layer, experts);
  Projection gate = {"ffn_gate_exps", gguf ? "ffn_gate" : names.gate,
                     gguf ? "ffn_gate_exps.weight" : "", width, m.hidden};
  Projection up = {"ffn_up_exps", gguf ? "ffn_up" : names.up, gguf ? "ffn_up_exps.weight" : "",
                   width, m.hidden};
  Projection down = {"ffn_down_exps", gguf ? "ffn_down" : names.down,
                     gguf ? "ffn_down_exps.weight" : names.downStack.str(), m.hidden, width};
  if (const std::string both = gguf ? "ffn_gate_up_exps.weight" : names.gateUp.str();
      reader.has(both)) {
    const bool inTurns = experts.inTurns && !gguf;
    for (Projection *p : {&gate, &up}) {
      p->stack = both;
      p->height = 2 * width;
      p->stride = inTurns ? 2 : 1;
    }
    up.first = inTurns ? 1 : width;
  }
  for (const Projection &p : {gate, up, down}) {
    reader.take(p);
    if (experts.bias)
      reader.takeBias(p);
  }
}

static void takeShared(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                       const Decoder &m) {
  const Experts &experts = *m.experts;
  const ExpertNames &names = experts.names;
  const int64_t width = experts.sharedWidth;
  const bool rows = experts.sharedRows && !model.isGguf();
  model.addMatrix(weights, layer, names.sharedGate, width, m.hidden, m.mlpBias,
                  rows ? RowOrder::range(0, width) : RowOrder());
  model.addMatrix(weights, layer, names.sharedUp, width, m.hidden, m.mlpBias,
                  rows ? RowOrder::range(width, width) : RowOrder());
  model.addMatrix(weights, layer, names.sharedDown, m.hidden, width, m.mlpBias);
  if (!experts.sharedFactor)
    return;
  // A GGUF stores the factor's single row as a vector.
  const import::Tensor *factor =
      model.find(model.sourceOf(layer, (names.sharedFactor.gguf + ".weight").str()));
  model.addMatrix(weights, layer, names.sharedFactor, 1, m.hidden, Bias::None, {},
                  factor && factor->shape.size() == 1);
}

void models::takeExperts(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                         const Decoder &m) {
  const Experts &experts = *m.experts;
  model.addMatrix(weights, layer, experts.names.router, experts.route.count, m.hidden,
                  experts.bias ? Bias::Required : Bias::None);
  if (experts.selectBias)
    model.addVector(weights, layer, experts.names.selectBias, experts.route.count);
  takeStacks(model, weights, layer, m);
  if (experts.sharedWidth)
    takeShared(model, weights, layer, m);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

Value models::emitExperts(LayerEmitter &layer, const Decoder &m, Value normed) {
  const Experts &experts = *m.experts;
  Value routes = layer.route(layer.linear(normed, "ffn_gate_inp"), experts.route);
  Value rows = layer.dispatch(normed, routes);
  Value y;
  if (experts.swigluLimit > 0) {
    Value gate = layer.linear(rows, "ffn_gate_exps", routes);
    Value up = layer.linear(rows, "ffn_up_exps", routes);
    y = layer.linear(layer.swigluOai(gate, up, experts.swigluAlpha, experts.swigluLimit),
                     "ffn_down_exps", routes);
  } else {
    y = layer.gatedMlp(rows, m.activation, "_exps", routes);
  }
  y = layer.combine(y, routes);
  if (!experts.sharedWidth)
    return y;
  Value shared = layer.gatedMlp(normed, m.activation, "_shexp");
  if (experts.sharedFactor)
    shared = layer.scaleRows(shared, layer.activation(layer.linear(normed, "ffn_gate_inp_shexp"),
                                                      lm::ActivationKind::Sigmoid));
  return layer.add(y, shared);
}
