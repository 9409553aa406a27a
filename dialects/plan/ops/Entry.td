//===- Entry.td - Entry points of a program -------------------------------===//
#ifndef INGOT_DIALECTS_PLAN_OPS_ENTRY_TD
#define INGOT_DIALECTS_PLAN_OPS_ENTRY_TD

include "dialects/plan/PlanTypes.td"

def Plan_EntryOp : Plan_Op<"entry", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "an entry point: the steps to run in order, and the buffers of their results";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_Modes:$modes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `modes` $modes attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the result with that role; null if there is none.
    OutputOp outputOf(OutputRole role);
    bool hasMode(Mode mode);
    void addMode(Mode mode);
    /// Appends a result.
    void addOutput(OutputRole role, Encoding encoding, ::mlir::FlatSymbolRefAttr buffer);
  }];
}

def Plan_StepOp : Plan_Op<"step", [HasParent<"EntryOp">]> {
  let summary = "runs a section with the weights and states of a layer";
  let arguments = (ins FlatSymbolRefAttr:$section, OptionalAttr<ArrayAttr>:$weights, OptionalAttr<ArrayAttr>:$states,
                   OptionalAttr<I64Attr>:$layer);
  let assemblyFormat = "$section (`layer` $layer^)? (`states` $states^)? (`weights` $weights^)? attr-dict";
}

def Plan_OutputOp : Plan_Op<"output", [HasParent<"EntryOp">]> {
  let summary = "a result of the entry point, and the buffer of rows that holds it";
  let arguments = (ins Plan_OutputRole:$role, Plan_Encoding:$encoding, FlatSymbolRefAttr:$buffer);
  let assemblyFormat = "$role $encoding $buffer attr-dict";
}

#endif
