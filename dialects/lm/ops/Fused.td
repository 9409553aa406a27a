//===- Fused.td - Regions of ops that one launch computes -----------------===//
#ifndef INGOT_DIALECTS_LM_OPS_FUSED_TD
#define INGOT_DIALECTS_LM_OPS_FUSED_TD

include "dialects/lm/LmTypes.td"

def Lm_FusedOp : Lm_Op<"fused", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that one launch computes; the region defines the launch";
  let description = [{
    Fusion only groups ops; lowering outlines them. `pattern` names the recognised pattern ("qkv", "attention",
    "out_residual", "gate_up", …, or "group" for the generic grouper). It is only a label: the kernel is named after it,
    but lowering does not depend on it. The region is not isolated: it may use values that are defined outside.
  }];
  let arguments = (ins StrAttr:$pattern);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$pattern (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Lm_YieldOp : Lm_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FusedOp"]>]> {
  let summary = "ends a fused region";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif
