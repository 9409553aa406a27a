//===- Section.td - Sections, their cases and launches --------------------===//
#ifndef INGOT_DIALECTS_PLAN_OPS_SECTION_TD
#define INGOT_DIALECTS_PLAN_OPS_SECTION_TD

include "dialects/plan/PlanTypes.td"

def Plan_SectionOp : Plan_Op<"section", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "a straight list of launches, or cases, of which a step runs the first whose conditions hold";
  let description = [{
    Before plan-expand-cases, a list may also contain `plan.when`. The method `cases` expects lists without it.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Its cases in order. A section without cases yields one case that always runs.
    ::llvm::SmallVector<Case> cases();
    /// Returns the launches that a step with these counts runs, in order, before or after the expansion of cases.
    ::llvm::SmallVector<LaunchOp> launchesIn(const StepCounts &counts);
  }];
}

def Plan_CaseOp : Plan_Op<"case", [HasParent<"SectionOp">, NoTerminator, SingleBlock]> {
  let summary = "a straight list of launches, for steps in which all of its conditions hold";
  let arguments = (ins OptionalAttr<Plan_When>:$when);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`when` custom<Conditions>($when)^)? attr-dict-with-keyword $body";
}

def Plan_WhenOp : Plan_Op<"when", [ParentOneOf<["SectionOp", "CaseOp", "WhenOp"]>, NoTerminator, SingleBlock]> {
  let summary = "launches for steps in which all conditions hold, and launches for all other steps";
  let description = [{
    ```mlir
    plan.when [tokens <= 8] { plan.launch @qkv_append … } else { plan.launch @qkv … plan.launch @rope_append … }
    ```
    `plan.when` ops may be nested; plan-expand-cases removes them. The launches under a condition on a count must be
    correct for every smaller count as well, and the launches of `else` must be correct for every count.
  }];
  let arguments = (ins Plan_When:$when);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$otherwise);
  let assemblyFormat = "custom<Conditions>($when) $body (`else` $otherwise^)? attr-dict";
}

def Plan_DispatchOp : Plan_Op<"dispatch", [HasParent<"SectionOp">, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "a launch whose kernel is still its region: each argument is the memory of an operand";
  let description = "kernel-place makes them; plan-outline replaces each by a plan.launch of the kernel.func `name`.";
  let arguments = (ins StrAttr:$name, ArrayAttr:$args);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $args attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Op<"launch", [ParentOneOf<["SectionOp", "CaseOp", "WhenOp"]>,
                                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs one kernel on its operands; `no_barrier`: the next launch need not wait for it";
  let arguments = (ins FlatSymbolRefAttr:$kernel, ArrayAttr:$args, UnitAttr:$no_barrier);
  let assemblyFormat = "$kernel $args (`no_barrier` $no_barrier^)? attr-dict";
  let extraClassDeclaration = [{
    /// Returns the effect of the launch's kernel, which is in the enclosing module, on each operand.
    ::llvm::SmallVector<::ingot::kernel::OperandEffect> operandEffects();
    /// Returns the op that anchors the kernel.
    ::mlir::Operation *anchor();
  }];
}

#endif
