//===- LmInterfaces.td - Interfaces of the lm dialect ----------------------===//
// The interfaces have a file of their own because mlir-tblgen generates code for all interfaces of a file.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_LMINTERFACES_TD
#define INGOT_DIALECTS_LM_LMINTERFACES_TD

include "mlir/IR/OpBase.td"

def Lm_NormInterface : OpInterface<"NormInterface"> {
  let cppNamespace = "::ingot::lm";
  let description = "A norm of whole rows, or of the equal heads of a row: x * f(x) * (weight + weight_offset).";
  let methods = [
    InterfaceMethod<"", "::mlir::Value", "getX">,
    InterfaceMethod<"A vector with the values of one head, shared by all heads, or with the values of a whole row, "
                    "separate for each head.", "::mlir::Value", "getWeight">,
    InterfaceMethod<"", "::llvm::APFloat", "getEps">,
    InterfaceMethod<"", "::llvm::APFloat", "getWeightOffset">,
    InterfaceMethod<"The number of heads; 1 for a norm of the whole row.", "uint64_t", "getHeads">,
    InterfaceMethod<"Whether the mean is subtracted first.", "bool", "isCentred">,
  ];
}

def Lm_RowOpInterface : OpInterface<"RowOpInterface"> {
  let cppNamespace = "::ingot::lm";
  let description = [{
    An op of another dialect, usually a plugin's (docs/extending.md), that one launch computes row by row. Operands are
    rows, vectors, the batch and at most one fixed state; results are rows and that state. Row t of the results depends
    only on row t of the operands, on the position of its token and on the state. The op is therefore batch-invariant:
    a sequence gets the same bits whatever else is in the batch.

    A decomposition or `evaluateRow` defines the op. The reference interpreter and the plan interpreter execute that
    definition, and compiled code is checked against it.
  }];
  let methods = [
    InterfaceMethod<"Builds ops of lm that compute the same from its operands and returns the values of its results. "
                    "Fails if it has no decomposition.", "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>",
                    "decompose", (ins "::mlir::OpBuilder &":$b), "", [{ return ::mlir::failure(); }]>,
    InterfaceMethod<"Computes one row in plain f32. Fails if it has a decomposition instead.",
                    "::llvm::LogicalResult", "evaluateRow", (ins "::ingot::lm::RowOfOp &":$row), "",
                    [{ return ::mlir::failure(); }]>,
    InterfaceMethod<"The kernel code for one row, in the language of a target (\"cpu\": MLIR, \"cuda\": CUDA C++). "
                    "Empty if the op has no kernel for the target; its decomposition is then lowered.", "std::string",
                    "kernelBody", (ins "::llvm::StringRef":$target), "", [{ return ""; }]>,
    InterfaceMethod<"Operations per row, counting a multiplication and an addition as two; 0 if negligible.",
                    "int64_t", "operationsPerRow", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"The largest permitted difference of compiled code, relative to the largest number of the row.",
                    "double", "largestError", (ins), "", [{ return 4e-6; }]>,
  ];
}

#endif
