//===- LmEnums.td - Enumerations of the lm dialect ---------------===//
// Apart from the ops, since mlir-tblgen renders every enumeration that it sees.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_LMENUMS_TD
#define INGOT_DIALECTS_LM_LMENUMS_TD

include "mlir/IR/EnumAttr.td"

def Lm_RopeStyleHalf : I32EnumAttrCase<"Half", 0, "half">;               // (i, i + r/2): HF, GGUF neox
def Lm_RopeStyleInterleaved : I32EnumAttrCase<"Interleaved", 1, "interleaved">; // (2i, 2i+1): GGUF llama
def Lm_RopeStyle : I32EnumAttr<"RopeStyle", "which elements of a head rotate together",
                               [Lm_RopeStyleHalf, Lm_RopeStyleInterleaved]> {
  let cppNamespace = "::ingot::lm";
}
def Lm_Silu : I32EnumAttrCase<"Silu", 0, "silu">;             // x / (1 + exp(-x))
def Lm_GeluTanh : I32EnumAttrCase<"GeluTanh", 1, "gelu_tanh">; // 0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3)))
def Lm_Gelu : I32EnumAttrCase<"Gelu", 2, "gelu">;             // 0.5x(1+erf(x/sqrt(2)))
def Lm_ActivationKind : I32EnumAttr<"ActivationKind", "activation function",
                                    [Lm_Silu, Lm_GeluTanh, Lm_Gelu]> {
  let cppNamespace = "::ingot::lm";
}

#endif
