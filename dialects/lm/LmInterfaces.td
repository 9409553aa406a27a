//===- LmInterfaces.td - What ops of lm have in common ---------------------===//
// Apart from the ops, since mlir-tblgen renders the interfaces of one file.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_LMINTERFACES_TD
#define INGOT_DIALECTS_LM_LMINTERFACES_TD

include "mlir/IR/OpBase.td"

def Lm_NormInterface : OpInterface<"NormInterface"> {
  let cppNamespace = "::ingot::lm";
  let description = "A norm of rows, or of equal heads of a row: x * f(x) * (weight + weight_offset).";
  let methods = [
    InterfaceMethod<"", "::mlir::Value", "getX">,
    InterfaceMethod<"Of a head's values, of all heads alike; or of a row's, each head having its own.",
                    "::mlir::Value", "getWeight">,
    InterfaceMethod<"", "::llvm::APFloat", "getEps">,
    InterfaceMethod<"", "::llvm::APFloat", "getWeightOffset">,
    InterfaceMethod<"1: the whole row.", "uint64_t", "getHeads">,
    InterfaceMethod<"Whether values are taken less their mean first.", "bool", "isCentred">,
  ];
}

#endif
