//===- LmEnums.td - Enumerations of the lm dialect ---------------===//
// The enumerations have a file of their own because mlir-tblgen generates code for every enumeration that it sees.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_LMENUMS_TD
#define INGOT_DIALECTS_LM_LMENUMS_TD

include "mlir/IR/EnumAttr.td"

def Lm_RopeStyleHalf : I32EnumAttrCase<"Half", 0, "half">;               // pairs (i, i + r/2): HF, GGUF neox
def Lm_RopeStyleInterleaved : I32EnumAttrCase<"Interleaved", 1, "interleaved">; // pairs (2i, 2i+1): GGUF llama
def Lm_RopeStyleEnum : I32EnumAttr<"RopeStyle", "which elements of a head rotate together",
                                   [Lm_RopeStyleHalf, Lm_RopeStyleInterleaved]> {
  let cppNamespace = "::ingot::lm";
  let genSpecializedAttr = 0; // LmTypes.td: it is printed as a keyword
}
def Lm_Silu : I32EnumAttrCase<"Silu", 0, "silu">;             // x / (1 + exp(-x))
def Lm_GeluTanh : I32EnumAttrCase<"GeluTanh", 1, "gelu_tanh">; // 0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3)))
def Lm_Gelu : I32EnumAttrCase<"Gelu", 2, "gelu">;             // 0.5x(1+erf(x/sqrt(2)))
def Lm_QuickGelu : I32EnumAttrCase<"QuickGelu", 3, "quick_gelu">; // x / (1 + exp(-1.702x))
def Lm_Relu : I32EnumAttrCase<"Relu", 4, "relu">;             // max(x, 0)
def Lm_Relu2 : I32EnumAttrCase<"Relu2", 5, "relu2">;          // max(x, 0)^2
def Lm_Mish : I32EnumAttrCase<"Mish", 6, "mish">;             // x tanh(ln(1+exp(x)))
def Lm_Sigmoid : I32EnumAttrCase<"Sigmoid", 7, "sigmoid">;    // 1 / (1 + exp(-x)), for gates
def Lm_ActivationKind : I32EnumAttr<"ActivationKind", "activation function",
                                    [Lm_Silu, Lm_GeluTanh, Lm_Gelu, Lm_QuickGelu, Lm_Relu, Lm_Relu2, Lm_Mish,
                                     Lm_Sigmoid]> {
  let cppNamespace = "::ingot::lm";
}
def Lm_LayoutOpen : I32EnumAttrCase<"Open", 0, "open">;            // not chosen yet
def Lm_LayoutPanel32 : I32EnumAttrCase<"Panel32", 1, "panel32">;    // runtime/formats/PanelLayout.h
def Lm_LayoutFragment16 : I32EnumAttrCase<"Fragment16", 2, "frag16">; // runtime/formats/FragmentLayout.h
def Lm_WeightLayout : I32EnumAttr<"WeightLayout", "how a matrix lies in an engine",
                                  [Lm_LayoutOpen, Lm_LayoutPanel32, Lm_LayoutFragment16]> {
  let cppNamespace = "::ingot::lm";
}
def Lm_ScoreSoftmax : I32EnumAttrCase<"Softmax", 0, "softmax">; // over all experts
def Lm_ScoreSigmoid : I32EnumAttrCase<"Sigmoid", 1, "sigmoid">;
def Lm_ScoreSqrtSoftplus : I32EnumAttrCase<"SqrtSoftplus", 2, "sqrtsoftplus">; // sqrt(ln(1 + exp(x)))
def Lm_ScoreNone : I32EnumAttrCase<"None", 3, "none">;
def Lm_RouteScoreEnum : I32EnumAttr<"RouteScore", "what a router makes of its logits",
                                [Lm_ScoreSoftmax, Lm_ScoreSigmoid, Lm_ScoreSqrtSoftplus, Lm_ScoreNone]> {
  let cppNamespace = "::ingot::lm";
  let genSpecializedAttr = 0; // LmTypes.td: it is printed as a keyword
}
def Lm_RouteNormNone : I32EnumAttrCase<"None", 0, "none">;
def Lm_RouteNormSum : I32EnumAttrCase<"Sum", 1, "sum">;         // w / max(sum w + norm_eps, norm_floor)
def Lm_RouteNormSoftmax : I32EnumAttrCase<"Softmax", 2, "softmax">; // over the chosen experts
def Lm_RouteNormEnum : I32EnumAttr<"RouteNorm", "how the weights of the chosen experts are normalised",
                               [Lm_RouteNormNone, Lm_RouteNormSum, Lm_RouteNormSoftmax]> {
  let cppNamespace = "::ingot::lm";
  let genSpecializedAttr = 0; // LmTypes.td: it is printed as a keyword
}
def Lm_GroupMax : I32EnumAttrCase<"Max", 0, "max">;         // the score of its best expert
def Lm_GroupTop2Sum : I32EnumAttrCase<"Top2Sum", 1, "top2sum">; // the sum of its two best scores
def Lm_GroupScoreEnum : I32EnumAttr<"GroupScore", "what a group of experts is chosen by",
                                    [Lm_GroupMax, Lm_GroupTop2Sum]> {
  let cppNamespace = "::ingot::lm";
  let genSpecializedAttr = 0; // LmTypes.td: it is printed as a keyword
}

#endif
