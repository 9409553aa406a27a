//===- LayerEmitter.cpp - See LayerEmitter.h ------------------------------===//
#include "models/LayerEmitter.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/CausalConv.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Norm.h"
#include "dialects/lm/ops/Rows.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::models;

Location LayerEmitter::at(StringRef role) {
  return NameLoc::get(builder.getStringAttr(role), builder.getUnknownLoc());
}

static FloatAttr f32(OpBuilder &builder, double value) {
  return builder.getF32FloatAttr(static_cast<float>(value));
}

Value LayerEmitter::weight(StringRef role) const {
  Value value = arguments.lookup(role);
  assert(value && "the layer has no weight of that role");
  return value;
}

Value LayerEmitter::rmsNorm(Value value, StringRef role, double eps, int64_t heads,
                            double weightOffset) {
  return lm::RmsNormOp::create(builder, at(role), value.getType(), value, weight(role),
                               f32(builder, eps), builder.getI64IntegerAttr(heads),
                               f32(builder, weightOffset));
}

Value LayerEmitter::layerNorm(Value value, StringRef role, double eps, int64_t heads,
                              double weightOffset) {
  std::string biasRole = (role + "_bias").str();
  return lm::LayerNormOp::create(builder, at(role), value.getType(), value, weight(role),
                                 has(biasRole) ? weight(biasRole) : Value(), f32(builder, eps),
                                 builder.getI64IntegerAttr(heads), f32(builder, weightOffset));
}

/// Returns the value permuted to match the columns of a matrix, or the value itself if the matrix has no permutation.
Value LayerEmitter::permuted(Value value, StringRef role, Value routes) {
  const std::string columnsRole = (role + kColumns).str();
  if (!has(columnsRole))
    return value;
  Value columns = weight(columnsRole), &made = inOrder[{value, columns}];
  const bool byExpert = cast<lm::WeightType>(columns.getType()).rows() != lm::widthOf(value);
  if (!made)
    made = lm::PermuteOp::create(builder, at("permute"), value.getType(), value, columns,
                                 byExpert ? routes : Value());
  return made;
}

Value LayerEmitter::linear(Value value, StringRef role, Value routes) {
  Value matrix = weight(role);
  value = permuted(value, role, routes);
  std::string biasRole = (role + "_bias").str();
  int64_t rows = cast<lm::WeightType>(matrix.getType()).rows();
  return lm::LinearOp::create(builder, at(role), lm::rowsType(builder.getContext(), rows), value,
                              matrix, has(biasRole) ? weight(biasRole) : Value(), routes);
}

Value LayerEmitter::rope(Value value, StringRef role, int64_t heads, lm::RopeStyle style,
                         double attentionFactor) {
  return lm::RopeOp::create(builder, at("rope"), value.getType(), value, weight(role), batch,
                            builder.getI64IntegerAttr(heads),
                            lm::RopeStyleAttr::get(builder.getContext(), style),
                            f32(builder, attentionFactor));
}

Value LayerEmitter::scaleByPosition(Value value, StringRef role, int64_t period) {
  return lm::ScaleByPositionOp::create(builder, at("scale_by_position"), value.getType(), value,
                                       weight(role), batch, builder.getI64IntegerAttr(period));
}

Value &LayerEmitter::addState(StringRef name, ArrayRef<StateStream> streams, bool fixed) {
  MLIRContext *context = builder.getContext();
  SmallVector<lm::StreamAttr> list;
  for (const StateStream &stream : streams)
    list.push_back(lm::StreamAttr::get(context, builder.getStringAttr(stream.name), stream.rows,
                                       stream.width));
  Attribute layout = fixed ? Attribute(lm::FixedAttr::get(context, list))
                           : Attribute(lm::PagedAttr::get(context, list));
  states.push_back(
      {name.str(),
       body.insertArgument(1 + states.size(), lm::StateType::get(context, layout), at(name))});
  return states.back().second;
}

Value LayerEmitter::attention(Value q, Value k, Value v, const AttentionShape &shape) {
  const int64_t width = lm::widthOf(k) / shape.kvHeads;
  Value &kv = addState("kv", {{"k", shape.kvHeads, width}, {"v", shape.kvHeads, width}}, false);
  kv = lm::KvAppendOp::create(builder, at("kv_append"), k, v, kv, batch);
  return lm::AttentionOp::create(builder, at("attention"), q.getType(), q, kv, batch,
                                 has("attn_sinks") ? weight("attn_sinks") : Value(),
                                 builder.getI64IntegerAttr(shape.heads), f32(builder, shape.scale),
                                 builder.getI64IntegerAttr(shape.window),
                                 f32(builder, shape.softcap));
}

Value LayerEmitter::causalConv(Value value, StringRef role) {
  std::string biasRole = (role + "_bias").str();
  const int64_t channels = lm::widthOf(value),
                taps = cast<lm::WeightType>(weight(role).getType()).rows() / channels;
  Value &state = addState("conv", {{"x", taps - 1, channels}}, /*fixed=*/true);
  auto op = lm::CausalConvOp::create(builder, at(role), value, weight(role), state, batch,
                                     has(biasRole) ? weight(biasRole) : Value());
  state = op.getAfter();
  return op.getResult();
}

Value LayerEmitter::multiply(Value a, Value b) {
  return lm::MulOp::create(builder, at("gated"), a.getType(), a, b);
}

Value LayerEmitter::scale(Value value, double factor) {
  if (factor == 1)
    return value;
  return lm::ScaleOp::create(builder, at("scale"), value.getType(), value, f32(builder, factor));
}

Value LayerEmitter::add(Value a, Value b) {
  return lm::AddOp::create(builder, at("residual"), a.getType(), a, b);
}

Value LayerEmitter::activation(Value value, lm::ActivationKind kind) {
  return lm::ActivationOp::create(builder, at("activation"), value.getType(), value,
                                  lm::ActivationKindAttr::get(builder.getContext(), kind));
}

Value LayerEmitter::mlp(Value value, lm::ActivationKind kind) {
  return linear(activation(linear(value, "ffn_up"), kind), "ffn_down");
}

Value LayerEmitter::xieluMlp(Value value) {
  Value up = linear(value, "ffn_up");
  Value active =
      lm::XieluOp::create(builder, at("activation"), up.getType(), up, weight("xielu_linear"),
                          weight("xielu_positive"), weight("xielu_negative"));
  return linear(active, "ffn_down");
}

Value LayerEmitter::gatedMlp(Value value, lm::ActivationKind kind, StringRef ending, Value routes) {
  Value gate = linear(value, ("ffn_gate" + ending).str(), routes);
  Value up = linear(value, ("ffn_up" + ending).str(), routes);
  Value active = activation(gate, kind);
  return linear(multiply(active, up), ("ffn_down" + ending).str(), routes);
}

Value LayerEmitter::swigluOai(Value gate, Value up, double alpha, double limit) {
  return lm::SwigluOaiOp::create(builder, at("activation"), gate.getType(), gate, up,
                                 f32(builder, alpha), f32(builder, limit));
}

Value LayerEmitter::route(Value logits, const RouteShape &shape) {
  MLIRContext *context = builder.getContext();
  return lm::RouteOp::create(
      builder, at("route"), lm::RoutesType::get(context, shape.count, shape.used), logits,
      has("exp_probs_b") ? weight("exp_probs_b") : Value(), /*expert_scale=*/Value(),
      lm::RouteScoreAttr::get(context, shape.score),
      lm::RouteNormAttr::get(context, shape.normalize), builder.getI64IntegerAttr(shape.groups),
      builder.getI64IntegerAttr(shape.usedGroups),
      lm::GroupScoreAttr::get(context, shape.groupScore), f32(builder, shape.normEps),
      f32(builder, shape.normFloor), f32(builder, shape.scale));
}

Value LayerEmitter::dispatch(Value value, Value routes) {
  return lm::DispatchOp::create(builder, at("dispatch"), value.getType(), value, routes);
}

Value LayerEmitter::combine(Value value, Value routes) {
  return lm::CombineOp::create(builder, at("combine"), value.getType(), value, routes);
}

Value LayerEmitter::scaleRows(Value value, Value factors) {
  return lm::ScaleRowsOp::create(builder, at("scale_rows"), value.getType(), value, factors);
}
