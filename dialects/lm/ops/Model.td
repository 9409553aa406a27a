//===- Model.td - The op that holds a whole model -------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_MODEL_TD
#define INGOT_DIALECTS_LM_OPS_MODEL_TD

include "dialects/lm/LmTypes.td"

def Lm_ModelOp : Lm_Op<"model", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "a whole model: weights, states, layer kinds and one entry point";
  let description = [{
    An `lm.model` without an entry point is only a part of a model, which tests of function passes use. It cannot be
    lowered or run.

    The attributes `family`, `vocab`, `hidden` and `max_positions` hold the properties that the runtime needs in
    addition to the graph.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, I64Attr:$vocab, I64Attr:$hidden,
                   I64Attr:$max_positions);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

#endif
