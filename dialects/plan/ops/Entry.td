//===- Entry.td - What can be asked of a program --------------------------===//
#ifndef INGOT_DIALECTS_PLAN_OPS_ENTRY_TD
#define INGOT_DIALECTS_PLAN_OPS_ENTRY_TD

include "dialects/plan/PlanTypes.td"

def Plan_EntryOp : Plan_Op<"entry", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "what can be asked of the program: steps, run in order, and where they leave their results";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_Modes:$modes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `modes` $modes attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result of that role; null: there is none.
    OutputOp outputOf(OutputRole role);
    bool hasMode(Mode mode);
    void addMode(Mode mode);
    /// Appends a result.
    void addOutput(OutputRole role, Encoding encoding, ::mlir::FlatSymbolRefAttr buffer);
  }];
}

def Plan_StepOp : Plan_Op<"step", [HasParent<"EntryOp">]> {
  let summary = "runs a section with the weights and the states of a layer";
  let arguments = (ins FlatSymbolRefAttr:$section, OptionalAttr<ArrayAttr>:$weights, OptionalAttr<ArrayAttr>:$states,
                   OptionalAttr<I64Attr>:$layer);
  let assemblyFormat = "$section (`layer` $layer^)? (`states` $states^)? (`weights` $weights^)? attr-dict";
}

def Plan_OutputOp : Plan_Op<"output", [HasParent<"EntryOp">]> {
  let summary = "a result of the entry and the buffer of rows where it lies";
  let arguments = (ins Plan_OutputRole:$role, Plan_Encoding:$encoding, FlatSymbolRefAttr:$buffer);
  let assemblyFormat = "$role $encoding $buffer attr-dict";
}

#endif
