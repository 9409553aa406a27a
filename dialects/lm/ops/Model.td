//===- Model.td - What holds all of a model -------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_MODEL_TD
#define INGOT_DIALECTS_LM_OPS_MODEL_TD

include "dialects/lm/LmTypes.td"

def Lm_ModelOp : Lm_Op<"model", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "a whole model: weights, states, layer kinds and one entry";
  let description = [{
    Without its entry it is a part of a model, for tests of passes over functions: nothing lowers or runs it.

    Attributes say what the runtime needs beside the graph: `family`, `vocab`, `hidden`,
    `max_positions`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, I64Attr:$vocab, I64Attr:$hidden,
                   I64Attr:$max_positions);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

#endif
