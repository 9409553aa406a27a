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

def Lm_RowOpInterface : OpInterface<"RowOpInterface"> {
  let cppNamespace = "::ingot::lm";
  let description = [{
    An op of another dialect that one launch computes, row by row: what a plugin brings (docs/extending.md). Operands
    are rows, vectors, the batch and at most one fixed state, results are rows and that state. Row t of the results
    depends on row t of the operands, on the position of its token and on the state alone, so that a sequence has the
    same bits in any company.

    Its meaning is either a decomposition or `evaluateRow`. Interpreter and slow machine run it, and compiled code is
    held against it.
  }];
  let methods = [
    InterfaceMethod<"Builds ops of lm that compute the same of its operands; returns what its results are. Failure: it "
                    "has no decomposition.", "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
                    (ins "::mlir::OpBuilder &":$b), "", [{ return ::mlir::failure(); }]>,
    InterfaceMethod<"Computes one row, in plain f32. Failure: it has a decomposition instead.", "::llvm::LogicalResult",
                    "evaluateRow", (ins "::ingot::lm::RowOfOp &":$row), "", [{ return ::mlir::failure(); }]>,
    InterfaceMethod<"What a kernel does with one row, in the language of a target (\"cpu\": MLIR, \"cuda\": CUDA C++); "
                    "empty: it has no kernel there, and its decomposition is lowered.", "std::string", "kernelBody",
                    (ins "::llvm::StringRef":$target), "", [{ return ""; }]>,
    InterfaceMethod<"Operations of a row; a multiplication and an addition are two. 0: too few to matter.", "int64_t",
                    "operationsPerRow", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"How far compiled code may be from its meaning, against the largest number of a row.", "double",
                    "largestError", (ins), "", [{ return 4e-6; }]>,
  ];
}

#endif
