//===- Region.td - Ops inside the regions of structured ops ---------------===//
// Regions also hold scalar f32 ops of arith and math. A shared walker emits code for all of them on each target.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_REGION_TD
#define INGOT_DIALECTS_KERNEL_OPS_REGION_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MatmulOp", "RowwiseOp"]>]> {
  let summary = "the values to store, one per output of the region";
  let arguments = (ins Variadic<F32>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Kernel_RowStatOp : Kernel_Op<"row_stat", [Pure, ParentOneOf<["RowwiseOp", "MatmulOp"]>,
                                              SameOperandsAndResultType]> {
  let summary = "the mean of a value over the row (16 partial sums, then a tree)";
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "`mean` $value attr-dict `:` type($result)";
}

#endif
