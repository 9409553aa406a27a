//===- PlanEnums.td - Enumerations of the plan dialect --------------------===//
// Modes, quantities, roles and encodings have the same numbers as in the engine (runtime/schema/engine.fbs).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_PLAN_PLANENUMS_TD
#define INGOT_DIALECTS_PLAN_PLANENUMS_TD

include "mlir/IR/EnumAttr.td"

class Plan_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ingot::plan";
}

def Plan_PerToken : I32EnumAttrCase<"PerToken", 0, "per_token">;
def Plan_PerRow : I32EnumAttrCase<"PerRow", 1, "per_row">;
def Plan_Fixed : I32EnumAttrCase<"Fixed", 2, "fixed">;
def Plan_BufferClass : Plan_Enum<"BufferClass", "what the size of a buffer is a multiple of",
                                 [Plan_PerToken, Plan_PerRow, Plan_Fixed]>;

def Plan_ModeLogits : I32EnumAttrCase<"Logits", 0, "logits">;
def Plan_ModeGreedy : I32EnumAttrCase<"Greedy", 1, "greedy">;
def Plan_ModeDrawn : I32EnumAttrCase<"Drawn", 2, "drawn">;
def Plan_Mode : Plan_Enum<"Mode", "what a step leaves for the host",
                          [Plan_ModeLogits, Plan_ModeGreedy, Plan_ModeDrawn]>;

def Plan_QuantityMode : I32EnumAttrCase<"Mode", 0, "mode">;
def Plan_QuantityTokens : I32EnumAttrCase<"Tokens", 1, "tokens">;
def Plan_QuantityRows : I32EnumAttrCase<"Rows", 2, "rows">;
def Plan_QuantityTileTokens : I32EnumAttrCase<"TileTokens", 3, "tile_tokens">;
def Plan_Quantity : Plan_Enum<"Quantity", "what the host knows of a step before it runs",
                              [Plan_QuantityMode, Plan_QuantityTokens, Plan_QuantityRows, Plan_QuantityTileTokens]>;

def Plan_OutputLogits : I32EnumAttrCase<"Logits", 0, "logits">;
def Plan_OutputMaxima : I32EnumAttrCase<"Maxima", 1, "maxima">;
def Plan_OutputHidden : I32EnumAttrCase<"Hidden", 2, "hidden">;
def Plan_OutputKeys : I32EnumAttrCase<"Keys", 3, "keys">;
def Plan_OutputIds : I32EnumAttrCase<"Ids", 4, "ids">;
def Plan_OutputRole : Plan_Enum<"OutputRole", "what a result is",
                                [Plan_OutputLogits, Plan_OutputMaxima, Plan_OutputHidden, Plan_OutputKeys,
                                 Plan_OutputIds]>;

def Plan_EncodingF32 : I32EnumAttrCase<"F32", 0, "f32">;
def Plan_EncodingQ8x2 : I32EnumAttrCase<"Q8x2", 1, "q8x2">;
def Plan_EncodingKey : I32EnumAttrCase<"Key", 2, "key">;
def Plan_EncodingI32 : I32EnumAttrCase<"I32", 3, "i32">;
def Plan_Encoding : Plan_Enum<"Encoding", "how a result is held",
                              [Plan_EncodingF32, Plan_EncodingQ8x2, Plan_EncodingKey, Plan_EncodingI32]>;

#endif
