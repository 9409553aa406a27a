//===- Section.td - Sections, their cases and launches --------------------===//
#ifndef INGOT_DIALECTS_PLAN_OPS_SECTION_TD
#define INGOT_DIALECTS_PLAN_OPS_SECTION_TD

include "dialects/plan/PlanTypes.td"

def Plan_SectionOp : Plan_Op<"section", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "a straight list of launches, or cases of which a step runs the first that holds";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Its cases in order; a section without any is one that always runs.
    ::llvm::SmallVector<Case> cases();
    /// The launches of a step of that mode.
    ::mlir::Block &launchesIn(Mode mode);
  }];
}

def Plan_CaseOp : Plan_Op<"case", [HasParent<"SectionOp">, NoTerminator, SingleBlock]> {
  let summary = "a straight list of launches of steps where all of its conditions hold";
  let arguments = (ins OptionalAttr<Plan_When>:$when);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`when` $when^)? attr-dict-with-keyword $body";
}

def Plan_LaunchOp : Plan_Op<"launch", [ParentOneOf<["SectionOp", "CaseOp"]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one kernel on its operands; `no_barrier`: the next launch need not wait for it";
  let arguments = (ins FlatSymbolRefAttr:$kernel, ArrayAttr:$args, UnitAttr:$no_barrier);
  let assemblyFormat = "$kernel $args (`no_barrier` $no_barrier^)? attr-dict";
}

#endif
