//===- Rows.td - Selection of rows: embeddings, logits rows, columns ------===//
#ifndef INGOT_DIALECTS_LM_OPS_ROWS_TD
#define INGOT_DIALECTS_LM_OPS_ROWS_TD

include "dialects/lm/LmTypes.td"

def Lm_EmbedOp : Lm_Op<"embed", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "row ids[t] of the embedding, times scale";
  let arguments = (ins Lm_Ids:$ids, Lm_WeightType:$weight, DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$ids `,` $weight attr-dict `:` type($ids) `,` type($weight) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Accepts all types; the verifier reports mismatches in more detail.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) { return true; }
  }];
}

def Lm_EmbedPositionsOp : Lm_Op<"embed_positions", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "row positions[t] of a table, or its last row for positions beyond it";
  let arguments = (ins Lm_WeightType:$table, Lm_BatchType:$batch);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$table `,` $batch attr-dict `:` type($table) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Accepts all types; the verifier reports mismatches in more detail.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) { return true; }
  }];
}

def Lm_SelectRowsOp : Lm_Op<"select_rows", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the rows of x whose logits are requested: [T][H] -> [R][H]";
  let arguments = (ins Lm_Activations:$x, Lm_BatchType:$batch);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $batch attr-dict `:` type($x) `->` type($result)";
  let extraClassDeclaration = [{
    /// Accepts all types; the verifier reports mismatches in more detail.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) { return true; }
  }];
}

def Lm_PermuteOp : Lm_Op<"permute", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "y[t][k] = x[t][columns[k]]";
  let description = [{
    `columns` is a permutation of 0 to width(x) - 1, stored as f32. Projections need it if the columns of their weight
    were sorted by the group of their scales (act-order).

    With `routes`, the rows of x belong to experts, and `columns` holds one permutation for each expert, padded with
    zeros to a multiple of 32 values (runtime/abi/Routes.h): y[r][k] = x[r][columns[e(r)][k]].
    ```mlir
    %s = lm.permute %x by %c of %r : !lm.routes<64, 8> : tensor<?x2048xf32>, !lm.weight<131072, f32>
    ```
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$columns, Optional<Lm_RoutesType>:$routes);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = [{ $x `by` $columns (`of` $routes^ `:` type($routes))? attr-dict
                          `:` type($x) `,` type($columns) }];
  let hasVerifier = 1;
}

#endif
