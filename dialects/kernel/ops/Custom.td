//===- Custom.td - Kernels from outside ------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_CUSTOM_TD
#define INGOT_DIALECTS_KERNEL_OPS_CUSTOM_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_CustomOp : Kernel_LaunchOp<"custom", ["workItems", "operationsPerUnit"],
                                      [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "rows that a kernel from outside makes: its code is text, its meaning ops of lm";
  let description = [{
    The region is what the launch means: ops of lm, or one of a plugin's dialect (lm::RowOpInterface). Its arguments are
    the operands of those ops: rows and vectors are `inputs` in this order, a state is `state`, a batch is no memory.
    Its terminator gives the rows of `outputs`, and the state.

    `body` is the code of one row, in the language of the target that the plan is for (docs/extending.md): MLIR for CPUs,
    CUDA C++ for GPUs. A generator walks over tokens, or over the tokens of a span where there is a state, and calls it.
    `error` is how far compiled code may be from the region's rows, `operations` what a row costs.
  }];
  let arguments = (ins Kernel_Read<Variadic<AnyTypeOf<[Kernel_RowsType, Lm_WeightType]>>>:$inputs,
                   Kernel_Update<Optional<Kernel_FixedStateType>>:$state,
                   Kernel_Write<Variadic<Kernel_RowsType>>:$outputs, StrAttr:$origin, StrAttr:$body, F64Attr:$error,
                   DefaultValuedAttr<I64Attr, "0">:$operations);
  let regions = (region SizedRegion<1>:$meaning);
  let assemblyFormat = [{ $origin `ins` `(` $inputs `:` type($inputs) `)` (`over` $state^ `:` type($state))?
                          `outs` `(` $outputs `:` type($outputs) `)` attr-dict-with-keyword $meaning }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What stands for an argument of the region: one of the operands, or null for a batch.
    ::llvm::SmallVector<::mlir::Value> memoryOfArguments();
  }];
}

def Kernel_ResultsOp : Kernel_Op<"results", [Pure, Terminator, ReturnLike, HasParent<"CustomOp">]> {
  let summary = "what the region of a kernel from outside computes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif
