//===- Linear.td - Projections --------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_LINEAR_TD
#define INGOT_DIALECTS_LM_OPS_LINEAR_TD

include "dialects/lm/LmTypes.td"

def Lm_LinearOp : Lm_Op<"linear", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "y[t][n] = sum_k weight[n][k] x[t][k] (+ bias[n])";
  let description = [{
    With `routes`, the weight is a stack of matrices, and a row of x is multiplied by the matrix of its expert. A bias
    is then a stack as well.
    ```mlir
    %y = lm.linear %x, %w of %routes : !lm.routes<64, 8> : tensor<?x2048xf32>, !lm.weight<64x1408x2048, q4_k>
           -> tensor<?x1408xf32>
    ```
  }];
  let arguments = (ins Lm_Rows:$x, Lm_WeightType:$weight, Optional<Lm_WeightType>:$bias,
                   Optional<Lm_RoutesType>:$routes);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = [{ $x `,` $weight (`,` $bias^ `:` type($bias))? (`of` $routes^ `:` type($routes))? attr-dict
                          `:` type($x) `,` type($weight) `->` type($result) }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$x, "::mlir::Value":$weight,
                                 "::mlir::Value":$bias), [{
    build($_builder, $_state, type, x, weight, bias, /*routes=*/::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Accepts all types; the verifier reports mismatches in more detail.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) { return true; }
  }];
}

#endif
