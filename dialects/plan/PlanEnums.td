//===- PlanEnums.td - Enumerations of the plan dialect --------------------===//
#ifndef INGOT_DIALECTS_PLAN_PLANENUMS_TD
#define INGOT_DIALECTS_PLAN_PLANENUMS_TD

include "mlir/IR/EnumAttr.td"

def Plan_PerToken : I32EnumAttrCase<"PerToken", 0, "per_token">;
def Plan_PerRow : I32EnumAttrCase<"PerRow", 1, "per_row">;
def Plan_Fixed : I32EnumAttrCase<"Fixed", 2, "fixed">;
def Plan_BufferClass : I32EnumAttr<"BufferClass", "what the size of a buffer is a multiple of",
                                   [Plan_PerToken, Plan_PerRow, Plan_Fixed]> {
  let cppNamespace = "::ingot::plan";
}

#endif
