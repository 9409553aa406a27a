//===- KernelInterfaces.td - What a plan asks of a kernel's op -------------===//
// Apart from the ops, since mlir-tblgen renders the interfaces of one file.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_KERNELINTERFACES_TD
#define INGOT_DIALECTS_KERNEL_KERNELINTERFACES_TD

include "mlir/IR/OpBase.td"

def Kernel_LaunchInterface : OpInterface<"LaunchInterface"> {
  let cppNamespace = "::ingot::kernel";
  let description = [{
    What planning, cost models and the engine's table ask of the op that anchors a kernel.func: they know no op by
    name. What it reads and writes stands at its operands (`MemRead`, `MemWrite`). An op that says nothing of itself
    walks tokens, one work item each, and moves bytes rather than compute.
  }];
  let methods = [
    InterfaceMethod<"The operand that a producer of the same kernel may make; null: it has none.", "::mlir::Value",
                    "rowOperand", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"The kernel's family in the engine: \"matmul\", \"rowwise\", …", "::llvm::StringRef", "family",
                    (ins), "", [{ return $_op->getName().stripDialect(); }]>,
    InterfaceMethod<"How many work items a launch has.", "::ingot::kernel::WorkItems", "workItems", (ins), "",
                    [{ return {::ingot::kernel::WorkItems::Tokens, 1, false}; }]>,
    InterfaceMethod<"Whether a unit of its work is a logits row; else it is a token.", "bool", "isPerRow", (ins), "",
                    [{ return false; }]>,
    InterfaceMethod<"Whether a unit reads one row of its weights; else a launch reads them whole.", "bool",
                    "gathersWeights", (ins), "", [{ return false; }]>,
    InterfaceMethod<"How many rows of an operand a unit reads or writes.", "int64_t", "rowsOfUnit",
                    (ins "::mlir::Value":$operand), "", [{ return 1; }]>,
    InterfaceMethod<"Operations of a unit; a multiplication and an addition are two. 0: too few to matter.", "int64_t",
                    "operationsPerUnit", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Operations of a token for each position that it looks at.", "int64_t", "operationsPerPosition",
                    (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Bytes of a paged state that are read of each position.", "int64_t", "bytesPerPosition", (ins), "",
                    [{ return 0; }]>,
    InterfaceMethod<"The workspace among its operands; null: it has none.", "::mlir::Value", "workspace", (ins), "",
                    [{ return {}; }]>,
    InterfaceMethod<"Gives it the workspace that its target wants for it (KernelShape).", "void", "takeWorkspace",
                    (ins "::mlir::Value":$operand), "",
                    [{ ::llvm::llvm_unreachable_internal("no target wants one for it"); }]>,
  ];
}

#endif
