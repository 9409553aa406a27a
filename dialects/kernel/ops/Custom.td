//===- Custom.td - User-supplied kernels -----------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_CUSTOM_TD
#define INGOT_DIALECTS_KERNEL_OPS_CUSTOM_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_CustomOp : Kernel_LaunchOp<"custom", ["workItems", "operationsPerUnit"],
                                      [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "rows computed by a user-supplied kernel, given as source text and defined by a region of lm ops";
  let description = [{
    The region defines what the launch computes. It holds ops of lm, or one op of a plugin's dialect
    (lm::RowOpInterface), and its arguments are the operands of those ops. Arguments that are rows or vectors stand for
    `inputs`, in this order. An argument that is a state stands for `state`. A batch has no operand. The region's
    terminator returns the rows of `outputs`, then the state.

    `body` is the code for one row, in the language of the plan's target (docs/extending.md): MLIR for CPUs, CUDA C++
    for GPUs. The generator emits a loop that calls this code for each token or, if there is a state, for each token of
    a span. `error` is the largest permitted difference between compiled code and the region's rows. `operations` is
    the number of operations per row.
  }];
  let arguments = (ins Kernel_Read<Variadic<AnyTypeOf<[Kernel_ActivationType, Lm_WeightType]>>>:$inputs,
                   Kernel_Update<Optional<Kernel_FixedStateType>>:$state,
                   Kernel_Write<Variadic<Kernel_ActivationType>>:$outputs, StrAttr:$origin, StrAttr:$body, F64Attr:$error,
                   DefaultValuedAttr<I64Attr, "0">:$operations);
  let regions = (region SizedRegion<1>:$meaning);
  let assemblyFormat = [{ $origin `ins` `(` $inputs `:` type($inputs) `)` (`over` $state^ `:` type($state))?
                          `outs` `(` $outputs `:` type($outputs) `)` attr-dict-with-keyword $meaning }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the operand for each argument of the region; null for a batch.
    ::llvm::SmallVector<::mlir::Value> memoryOfArguments();
  }];
}

def Kernel_ResultsOp : Kernel_Op<"results", [Pure, Terminator, ReturnLike, HasParent<"CustomOp">]> {
  let summary = "the results of the region of a user-supplied kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif
