//===- KernelEnums.td - Enumerations of the kernel dialect ---------------===//
// The enumerations have a file of their own because mlir-tblgen generates code for every enumeration that it sees.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_KERNELENUMS_TD
#define INGOT_DIALECTS_KERNEL_KERNELENUMS_TD

include "mlir/IR/EnumAttr.td"

def Kernel_RowF32 : I32EnumAttrCase<"F32", 0, "f32">;
def Kernel_RowQ8 : I32EnumAttrCase<"Q8", 1, "q8">;
def Kernel_RowQ8x2 : I32EnumAttrCase<"Q8x2", 2, "q8x2">; // two q8 rows, the second for the residual
// The input of GPU projections, padded with zeros to a multiple of 64.
def Kernel_RowBF16 : I32EnumAttrCase<"BF16", 3, "bf16">;
def Kernel_RowKey : I32EnumAttrCase<"Key", 4, "key">; // GPUs: a maximum and its index in a u64 (sample.cuh)
// E4M3 codes in the order in which fp8 MMAs read k. An f32 scale for each 128 values follows the codes.
def Kernel_RowFP8 : I32EnumAttrCase<"FP8", 5, "fp8">;
def Kernel_RowI32 : I32EnumAttrCase<"I32", 6, "i32">; // ids
def Kernel_RowBytes : I32EnumAttrCase<"Bytes", 7, "bytes">; // only the kernels that share it interpret it
def Kernel_RowKind : I32EnumAttr<"RowKind", "what a row of activations holds",
                                 [Kernel_RowF32, Kernel_RowQ8, Kernel_RowQ8x2, Kernel_RowBF16, Kernel_RowKey,
                                  Kernel_RowFP8, Kernel_RowI32, Kernel_RowBytes]> {
  let cppNamespace = "::ingot::kernel";
}
def Kernel_ExtentTokens : I32EnumAttrCase<"Tokens", 0, "tokens">;
def Kernel_ExtentRows : I32EnumAttrCase<"Rows", 1, "rows">;
def Kernel_ExtentEnum : I32EnumAttr<"Extent", "leading dimension: tokens of the batch, or its logits rows",
                                    [Kernel_ExtentTokens, Kernel_ExtentRows]> {
  let genSpecializedAttr = 0; // KernelTypes.td: it is printed as a keyword
  let cppNamespace = "::ingot::kernel";
}
#endif
