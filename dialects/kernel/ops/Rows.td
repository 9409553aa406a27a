//===- Rows.td - Rows of activations --------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_ROWS_TD
#define INGOT_DIALECTS_KERNEL_OPS_ROWS_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_Fp8RowsOp : Kernel_LaunchOp<"fp8_rows", ["workItems", "isPerRow", "rowsOfUnit"]> {
  let summary = "y[t] = x[t] as E4M3, a scale per 128 values: largest |x| / 448";
  let description = [{
    GPUs run this op before projections that multiply in fp8. It pays off only with many tokens. Values have the order
    in which these products read k (FragmentLayout.h). `rows_of_token` is the number of rows per token; rows of experts
    have more than one. Work items: rows of tokens (or logits rows).
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$x, Kernel_Write<Kernel_ActivationType>:$output, Kernel_Extent:$extent,
                   DefaultValuedAttr<I64Attr, "1">:$rows_of_token);
  let assemblyFormat = "$x `:` type($x) `outs` `(` $output `:` type($output) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_RowwiseOp : Kernel_LaunchOp<"rowwise", ["workItems", "isPerRow", "operationsPerUnit", "rowsOfUnit",
                                                   "mayOverwrite"],
                                       [AttrSizedOperandSegments]> {
  let summary = "outputs[t][i] = region(inputs[t][i]…), with statistics over the row";
  let description = [{
    Inputs are rows (one row per token) or vector weights (shared by all rows). Region arguments are element i of each
    input as f32; an input with rows of one value gives that value for every i. The region is elementwise arith/math
    plus `kernel.row_stat`, and yields one value per output. Outputs are rows of f32, q8 or bf16; an f32 output may be
    one of the inputs (in place). With `gather`, rows are logits rows: row inputs are read at rowTokens[r], and outputs
    are written at r. Work items: rows.

    `rows_of_token` is the number of rows per token. With `routes`, row r belongs to an expert, and row inputs are read
    at the row's token.

    With `columns`, all inputs are rows of one width, element i is read at columns[i], and no output may be an input.
    With `routes` as well, `columns` may hold a permutation for each expert, as in lm.permute. A row is then permuted
    with its expert's permutation, and work items are pairs of a token and one of its experts, in the order of `routes`,
    which gives the expert and the row of each pair.

    With `dispatched`, the inputs already have the rows of `routes`, and row r is read at r.

    Instead of outputs, the op may have a fused value. It has the values of the rows that the op would otherwise write.
  }];
  let arguments = (ins Kernel_Read<Variadic<Kernel_Memory>>:$inputs, Kernel_Write<Variadic<Kernel_ActivationType>>:$outputs,
                   Kernel_Read<Optional<Kernel_RoutesType>>:$routes, Kernel_Read<Optional<Lm_WeightType>>:$columns,
                   Kernel_Extent:$extent, UnitAttr:$gather, UnitAttr:$dispatched,
                   DefaultValuedAttr<I64Attr, "1">:$rows_of_token);
  let results = (outs Optional<Kernel_FusedType>:$fused);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `ins` `(` $inputs `:` type($inputs) `)` (`outs` `(` $outputs^ `:` type($outputs) `)`)?
                          (`to` $routes^ `:` type($routes))? (`by` $columns^ `:` type($columns))? (`->` type($fused)^)?
                          attr-dict-with-keyword $body }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs, "Extent":$extent,
                                 "bool":$gather), [{
    build($_builder, $_state, ::mlir::Type(), inputs, outputs, ::mlir::Value(), ::mlir::Value(), extent, gather);
  }]>];
  let extraClassDeclaration = [{
    int64_t width() { return activationTypeOf(getFused() ? ::mlir::Value(getFused()) : getOutputs().front()).getN(); }
    /// Returns whether the rows of the inputs belong to tokens, not yet to experts.
    bool dispatches() { return getRoutes() && !getDispatched(); }
    /// Returns whether `columns` has a permutation for each expert.
    bool ordersByExpert() { return getColumns() && getColumns().getType().rows() != width(); }
  }];
}

def Kernel_GatherOp : Kernel_LaunchOp<"gather", ["gathersWeights", "operationsPerUnit"]> {
  let summary = "y[t] = scale * row ids[t] of a packed weight, dequantised";
  let description = [{
    With `by_position`, the row is positions[t] instead; positions beyond the last row read the last row. Work items:
    tokens.
  }];
  let arguments = (ins Kernel_Read<Lm_WeightType>:$weight, Kernel_Write<Kernel_ActivationType>:$output, F32Attr:$scale,
                   UnitAttr:$by_position);
  let assemblyFormat = "$weight `:` type($weight) `outs` `(` $output `:` type($output) `)` attr-dict";
  let hasVerifier = 1;
}

#endif
