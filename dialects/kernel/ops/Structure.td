//===- Structure.td - Kernels ------------------------------------------===//
// A kernel.func is one launch: a tree around the op that anchors it.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_STRUCTURE_TD
#define INGOT_DIALECTS_KERNEL_OPS_STRUCTURE_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "one launch; its operands are in the order in which the plan passes them";
  let description = [{
    One op is the anchor and describes the launch (LaunchInterface). Producers of its rows may precede it, and
    consumers of its results may follow it. The values between them are fused values, which never reach memory.
    The operands of all these ops are operands of the launch. Generators dispatch on the anchor and reject a producer
    or consumer that they have no code for; there is no list of permitted combinations.

    `counts` holds the sizes of the steps that launch the kernel, if the cases that contain its launches bound them
    (plan-expand-cases). The code is correct for every count and tuned for these.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                   OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                   OptionalAttr<Kernel_CountsAttr>:$counts);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    /// Returns the op that is neither a producer nor a consumer.
    ::mlir::Operation *anchor();
    ::ingot::kernel::LaunchInterface launch();
    /// Gives the anchor a workspace of that size as the kernel's last operand, if it has none and `bytes` is not 0.
    void addWorkspace(int64_t bytes);
    /// Returns all ops, producers first. The kernel accesses its operands as these ops access their own operands.
    auto ops() { return getBody().front().without_terminator(); }
    /// Returns the combined effect of all ops on each operand. Fused values are not memory.
    ::llvm::SmallVector<::ingot::kernel::OperandEffect> operandEffects();
    /// Returns the number of bytes that a launch moves per unit, a token or a logits row (LaunchInterface::isPerRow).
    /// An operand counts once, because repeated reads hit a cache. Workspaces, weights that a launch reads whole, and
    /// reads of a paged state (LaunchInterface::bytesPerPosition) are not counted. The layouts of gathered weights must
    /// have been chosen.
    int64_t bytesPerUnit();
    /// Returns the smallest and the largest count of `counts`.
    int64_t leastCount() { return getCounts() ? getCounts()->getLeast() : 1; }
    int64_t mostCount() {
      return getCounts() && getCounts()->getMost() ? *getCounts()->getMost() : std::numeric_limits<int64_t>::max();
    }
  }];
}

def Kernel_ReturnOp : Kernel_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"FuncOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

#endif
