//===- Weights.td - Weights, by reference ---------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_WEIGHTS_TD
#define INGOT_DIALECTS_LM_OPS_WEIGHTS_TD

include "dialects/lm/LmTypes.td"

def Lm_WeightOp : Lm_Op<"weight", [Symbol, HasParent<"ModelOp">]> {
  let summary = "a weight of the checkpoint, by reference: no data in the IR";
  let description = [{
    `source` is the tensor's name in the checkpoint, or the rows of the tensors that make up the weight (`#lm.rows`).
    `type` has the numeric format in the engine. `stored` is the format in the checkpoint file if that differs (set by
    quantize). `values` holds the numbers of small derived vectors that are not in the checkpoint (rope frequencies).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Lm_WeightType>:$type,
      OptionalAttr<Lm_SourceAttr>:$source, OptionalAttr<Lm_FormatAttr>:$stored,
      OptionalAttr<DenseF32ArrayAttr>:$values);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Lm_GetWeightOp : Lm_Op<"get_weight", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the weight that the symbol refers to";
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Lm_WeightType:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

#endif
