//===- Structure.td - Kernels ------------------------------------------===//
// A kernel.func is one launch: it holds one structured op and a return.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_STRUCTURE_TD
#define INGOT_DIALECTS_KERNEL_OPS_STRUCTURE_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "one launch: operands in the order in which the plan passes them";
  let description = [{
    The structured op says what a launch is (LaunchInterface); operands are its memory. `counts`: how large the steps are that
    launch it, where its cases bound that (plan-expand-cases). Its code is right for every count, and has what is fast for these.
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
    /// The structured op: the only one beside the return.
    ::mlir::Operation *structuredOp();
    ::ingot::kernel::LaunchInterface launch();
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
