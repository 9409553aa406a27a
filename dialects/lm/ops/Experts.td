//===- Experts.td - Mixture of experts -------------------------------------===//
//
//   scores ─ lm.route ─┬──────────────┬───────────────┐
//   x ───────── lm.dispatch ─ lm.linear … of routes ─ lm.combine ─ y
//
// Between dispatch and combine, values have `used` rows for each token, one for each of its experts. The rows of one
// expert are contiguous. All ops that take rows also take the rows of experts.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_EXPERTS_TD
#define INGOT_DIALECTS_LM_OPS_EXPERTS_TD

include "dialects/lm/LmTypes.td"

def Lm_RouteOp : Lm_Op<"route", [Pure, AttrSizedOperandSegments]> {
  let summary = "chooses the experts of each token by their scores";
  let description = [{
    s = score(logits). Experts are chosen by c = s + bias. With `groups`, only experts of the `used_groups` best groups
    are eligible. The `used` eligible experts with the largest c are chosen; the lowest index wins among equals, and
    NaN is below every number. The weight of a chosen expert is its s, normalised, times `scale`, times the expert's
    own `expert_scale`.
    ```mlir
    %r = lm.route %logits select %bias : !lm.weight<64, f32>
           {normalize = #lm.normalize<sum>, score = #lm.score<sigmoid>} : tensor<?x64xf32> -> !lm.routes<64, 8>
    ```
    (Most of this is in DeepSeek-V3, arXiv:2412.19437, equations 12 to 16.)
  }];
  let arguments = (ins Lm_Activations:$logits, Optional<Lm_WeightType>:$bias, Optional<Lm_WeightType>:$expert_scale,
                   DefaultValuedAttr<Lm_RouteScore, "::ingot::lm::RouteScore::Softmax">:$score,
                   DefaultValuedAttr<Lm_RouteNorm, "::ingot::lm::RouteNorm::None">:$normalize,
                   DefaultValuedAttr<I64Attr, "1">:$groups, DefaultValuedAttr<I64Attr, "1">:$used_groups,
                   DefaultValuedAttr<Lm_GroupScore, "::ingot::lm::GroupScore::Max">:$group_score,
                   DefaultValuedAttr<F32Attr, "0.0f">:$norm_eps, DefaultValuedAttr<F32Attr, "0.0f">:$norm_floor,
                   DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Lm_RoutesType:$routes);
  let assemblyFormat = [{ $logits (`select` $bias^ `:` type($bias))?
                          (`expert_scale` $expert_scale^ `:` type($expert_scale))?
                          attr-dict `:` type($logits) `->` type($routes) }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::ingot::lm::RoutesType routesType() { return getRoutes().getType(); }";
}

def Lm_DispatchOp : Lm_Op<"dispatch", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "a row for each token and each of its experts: [T][H] -> [T * used][H], by expert, then token";
  let arguments = (ins Lm_Activations:$x, Lm_RoutesType:$routes);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `to` $routes attr-dict `:` type($x) `,` type($routes)";
}

def Lm_CombineOp : Lm_Op<"combine", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "the weighted sum of a token's rows, in ascending order of experts: [T * used][H] -> [T][H]";
  let arguments = (ins Lm_Activations:$x, Lm_RoutesType:$routes);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `by` $routes attr-dict `:` type($x) `,` type($routes)";
}

#endif
