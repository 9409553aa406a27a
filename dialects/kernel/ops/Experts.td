//===- Experts.td - Routing of tokens to experts ----------------------------===//
// The experts themselves are projections over stacks (Matmul.td); kernel.rowwise (Rows.td) gathers their rows.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_EXPERTS_TD
#define INGOT_DIALECTS_KERNEL_OPS_EXPERTS_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_RouteOp : Kernel_LaunchOp<"route", ["operationsPerUnit"], [AttrSizedOperandSegments]> {
  let summary = "the experts of each token, and their weights";
  let description = "Computes lm.route. Sums are taken in ascending order of experts. Work items: tokens.";
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$logits, Kernel_Read<Optional<Lm_WeightType>>:$bias,
                   Kernel_Read<Optional<Lm_WeightType>>:$expert_scale, Kernel_Write<Kernel_RoutesType>:$routes,
                   Lm_RouteScore:$score, Lm_RouteNorm:$normalize, I64Attr:$groups, I64Attr:$used_groups,
                   Lm_GroupScore:$group_score, F32Attr:$norm_eps, F32Attr:$norm_floor, F32Attr:$scale);
  let assemblyFormat = [{ $logits `:` type($logits) (`select` $bias^ `:` type($bias))?
                          (`expert_scale` $expert_scale^ `:` type($expert_scale))?
                          `outs` `(` $routes `:` type($routes) `)` attr-dict }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::ingot::kernel::RoutesType routesType() { return getRoutes().getType(); }";
}

def Kernel_GroupRoutesOp : Kernel_LaunchOp<"group_routes", ["workItems"]> {
  let summary = "groups the rows by expert, once every token has been routed";
  let description = "A launch has one work item.";
  let arguments = (ins Kernel_Update<Kernel_RoutesType>:$routes);
  let assemblyFormat = "$routes `:` type($routes) attr-dict";
}

def Kernel_CombineOp : Kernel_LaunchOp<"combine", ["operationsPerUnit", "rowsOfUnit"]> {
  let summary = "y[t] = the weighted sum of the rows of token t, in ascending order of experts";
  let description = [{
    The first product is rounded; each later one is added with a fused multiply-add. Work items: tokens.
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$x, Kernel_Read<Kernel_RoutesType>:$routes,
                   Kernel_Write<Kernel_ActivationType>:$output);
  let assemblyFormat = [{ $x `by` $routes `:` type($x) `,` type($routes) `outs` `(` $output `:` type($output) `)`
                          attr-dict }];
  let hasVerifier = 1;
}

#endif
