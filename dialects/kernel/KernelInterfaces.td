//===- KernelInterfaces.td - The interface of ops that anchor a kernel -----===//
// The interface has a file of its own because mlir-tblgen generates code for all interfaces of a file.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_KERNELINTERFACES_TD
#define INGOT_DIALECTS_KERNEL_KERNELINTERFACES_TD

include "mlir/IR/OpBase.td"

def Kernel_LaunchInterface : OpInterface<"LaunchInterface"> {
  let cppNamespace = "::ingot::kernel";
  let description = [{
    The properties of the op that anchors a kernel.func. Planning, cost models and the engine's launch table use these
    properties instead of the names of ops. Reads and writes are declared on the operands (`MemRead`, `MemWrite`). By
    default an op has one work item per token and is bound by memory, not by arithmetic.
  }];
  let methods = [
    InterfaceMethod<"The operand that a producer in the same kernel may compute; null if there is none.",
                    "::mlir::Value", "rowOperand", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"The kernel's family in the engine: \"matmul\", \"rowwise\", …", "::llvm::StringRef", "family",
                    (ins), "", [{ return $_op->getName().stripDialect(); }]>,
    InterfaceMethod<"The number of work items of a launch.", "::ingot::kernel::WorkItems", "workItems", (ins), "",
                    [{ return {::ingot::kernel::WorkItems::Tokens, 1, false}; }]>,
    InterfaceMethod<"Whether the unit of work is a logits row; otherwise it is a token.", "bool", "isPerRow", (ins), "",
                    [{ return false; }]>,
    InterfaceMethod<"Whether a unit reads one row of the weights; otherwise a launch reads all of them.", "bool",
                    "gathersWeights", (ins), "", [{ return false; }]>,
    InterfaceMethod<"The number of rows of an operand that a unit reads or writes.", "int64_t", "rowsOfUnit",
                    (ins "::mlir::Value":$operand), "", [{ return 1; }]>,
    InterfaceMethod<"Operations per unit, counting a multiplication and an addition as two; 0 if negligible.",
                    "int64_t", "operationsPerUnit", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Operations of a token per position that it attends to.", "int64_t", "operationsPerPosition",
                    (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Bytes of a paged state that are read per position.", "int64_t", "bytesPerPosition", (ins), "",
                    [{ return 0; }]>,
    InterfaceMethod<"Whether the kernel may write `output` over rows `input` of the same type: each value is read before its place is written.",
                    "bool", "mayOverwrite", (ins "::mlir::Value":$output, "::mlir::Value":$input), "",
                    [{ return false; }]>,
    InterfaceMethod<"The workspace operand; null if there is none.", "::mlir::Value", "workspace", (ins), "",
                    [{ return {}; }]>,
    InterfaceMethod<"Sets the workspace operand that the target requires (KernelShape).", "void", "takeWorkspace",
                    (ins "::mlir::Value":$operand), "",
                    [{ ::llvm::llvm_unreachable_internal("no target wants one for it"); }]>,
  ];
}

#endif
