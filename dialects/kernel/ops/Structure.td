//===- Structure.td - Kernels ------------------------------------------===//
// A kernel.func is one launch: a tree around the op that anchors it.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_STRUCTURE_TD
#define INGOT_DIALECTS_KERNEL_OPS_STRUCTURE_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "one launch: operands in the order in which the plan passes them";
  let description = [{
    One op anchors it and says what a launch is (LaunchInterface). Producers of its rows may stand before it, consumers
    of its results behind it; what passes between them are flows, which reach no memory. Operands of all of them are
    the launch's. Generators dispatch on the anchor, and refuse a producer or consumer that they have no code for:
    there is no list of compositions.

    `counts`: how large the steps are that launch it, where its cases bound that (plan-expand-cases). Its code is right
    for every count, and has what is fast for these.
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
    /// The op that is no producer and no consumer.
    ::mlir::Operation *anchor();
    ::ingot::kernel::LaunchInterface launch();
    /// Gives the anchor a workspace of that size as the kernel's last operand, where it has none and `bytes` are not 0.
    void addWorkspace(int64_t bytes);
    /// All ops, producers first: what the kernel does to its operands is what they do to theirs.
    auto ops() { return getBody().front().without_terminator(); }
    /// Per operand, what all ops together declare. Flows are no memory.
    ::llvm::SmallVector<::ingot::kernel::OperandEffect> operandEffects();
    /// The smallest and the largest count of `counts`.
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
