//===- Dispatch.td - Kernels on values --------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_DISPATCH_TD
#define INGOT_DIALECTS_KERNEL_OPS_DISPATCH_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_DispatchOp : Kernel_Op<"dispatch", [IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "one launch on values: the region is the kernel, and its results are new values";
  let description = [{
    ```mlir
    %n = kernel.dispatch "norm"(%x, %w : tensor<?x576xf32>, !lm.weight<576, f32>) -> (tensor<?x576xf32>) as "norm"
        tied [-1] {
    ^bb0(%in: !kernel.activation<576, f32>, %weight: !lm.weight<576, f32>, %out: !kernel.activation<576, f32>):
      kernel.rowwise ins(%in, %weight : …) outs(%out : …) …
    }
    ```
    lm-select-kernels makes a kernel.dispatch for each launch. The region has an argument for the memory of each
    operand, then one for the memory of each result that is not tied. A tied result takes over the memory of an operand,
    which the kernel updates in place (states, rotated queries): `tied[i]` is the index of this operand for result i,
    or -1 if the result is not tied. kernel-place decides where the other results lie; new buffers are named after
    `rows`. plan-outline turns the region into a kernel.func that is named after `name`.
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs, StrAttr:$rows, DenseI64ArrayAttr:$tied);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $name `(` ($inputs^ `:` type($inputs))? `)` (`->` `(` type($results)^ `)`)? `as` $rows
                          `tied` $tied attr-dict-with-keyword $body }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the op that anchors the kernel.
    ::ingot::kernel::LaunchInterface anchor();
    /// Returns the region's argument for the memory of an operand, or of a result.
    ::mlir::BlockArgument memoryOfInput(unsigned input) { return getBody().getArgument(input); }
    ::mlir::BlockArgument memoryOf(::mlir::OpResult result);
  }];
}

#endif
