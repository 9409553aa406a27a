//===- Rows.td - Which rows: of the embedding, of a step ------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_ROWS_TD
#define INGOT_DIALECTS_LM_OPS_ROWS_TD

include "dialects/lm/LmTypes.td"

def Lm_EmbedOp : Lm_Op<"embed", [Pure]> {
  let summary = "row ids[t] of the embedding, times scale";
  let arguments = (ins Lm_Ids:$ids, Lm_WeightType:$weight, DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$ids `,` $weight attr-dict `:` type($ids) `,` type($weight) `->` type($result)";
  let hasVerifier = 1;
}

def Lm_EmbedPositionsOp : Lm_Op<"embed_positions", [Pure]> {
  let summary = "row positions[t] of a table, its last row beyond";
  let arguments = (ins Lm_WeightType:$table, Lm_BatchType:$batch);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$table `,` $batch attr-dict `:` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Lm_SelectRowsOp : Lm_Op<"select_rows", [Pure]> {
  let summary = "the rows of x whose logits are asked for: [T][H] -> [R][H]";
  let arguments = (ins Lm_Activations:$x, Lm_BatchType:$batch);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $batch attr-dict `:` type($x) `->` type($result)";
}

#endif
