//===- Matmul.td - Projections --------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_MATMUL_TD
#define INGOT_DIALECTS_KERNEL_OPS_MATMUL_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_MatmulOp : Kernel_LaunchOp<"matmul", ["rowOperand", "workItems", "isPerRow", "operationsPerUnit",
                                                "rowsOfUnit"], [AttrSizedOperandSegments]> {
  let summary = "y_s[t][n] = epilogue_s(sum_k w_s[n][k] x[t][k], aux…), for each segment s of weight rows";
  let description = [{
    With `pair`, two weights per segment (gate, up; all gates first is NOT the order: weights are [gate_0, up_0,
    gate_1, …]) and two accumulators in the epilogue. aux operands belong to segments in order, `aux_counts[s]` of them
    each: rows<n, f32> (a residual; may be the output itself) or a vector weight (a bias). Epilogue s has the arguments
    (acc [, acc2], aux…) : f32 and yields one f32. Work items: panels of 32 rows, over all segments in order.

    y_s is written to `outs`, an output for each segment (one of kind q8 is quantised per 32 rows as PanelLayout.h
    says), or all of them are f32 flows, which other ops of the kernel take.

    x of kind q8: `fast` arithmetic (integer dot per group); kind f32: `exact` (f32 chain in order of k), or for bf16
    weights vdpbf16ps if `fast_float` is set; kind bf16: the GPU's arithmetic (docs/gpu.md). It may be the flow of a
    kernel.rowwise, which blocks then compute each for itself (GPUs).

    With `routes` weights are stacks, x has a row for each token and expert that it goes to, and rows of an expert meet
    its matrix; vectors of aux are stacks of one column. Work items: panels of the experts that have rows, of which
    there may be fewer than items: the range that a call is given is of all experts' panels, and stands for as large a
    part of those.

    `fp8` (GPUs) is x once more, as kernel.fp8_rows leaves it, for variants that multiply in fp8; all weights are fp8
    then.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsOrFlow>:$x, Kernel_Read<Variadic<Lm_WeightType>>:$weights,
                   Kernel_Read<Variadic<Kernel_Memory>>:$aux, Kernel_Write<Variadic<Kernel_RowsType>>:$outputs,
                   Kernel_Read<Optional<Kernel_RowsType>>:$x_fp8,
                   Kernel_Read<Optional<Kernel_RoutesType>>:$routes, DenseI64ArrayAttr:$aux_counts,
                   Kernel_Extent:$extent, UnitAttr:$pair, UnitAttr:$fast_float,
                   OptionalAttr<Kernel_ScheduleAttr>:$schedule);
  let results = (outs Variadic<Kernel_FlowType>:$flows);
  let regions = (region VariadicRegion<SizedRegion<1>>:$epilogues);
  let assemblyFormat = [{ $x `:` type($x) `weights` `(` $weights `:` type($weights) `)`
                          (`aux` `(` $aux^ `:` type($aux) `)`)?
                          (`outs` `(` $outputs^ `:` type($outputs) `)`)? (`fp8` `(` $x_fp8^ `:` type($x_fp8) `)`)?
                          (`of` $routes^ `:` type($routes))? (`->` type($flows)^)? attr-dict-with-keyword $epilogues }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What x is; of a flow, what it would be in memory.
    RowsType xType() { return rowsTypeOf(getX()); }
    int64_t segments() { return getWeights().size() / (getPair() ? 2 : 1); }
    int64_t segmentRows(int64_t s) { return segmentWeight(s).rows(); }
    ::ingot::lm::WeightType segmentWeight(int64_t s) {
      return ::llvm::cast<::ingot::lm::WeightType>(getWeights()[s * (getPair() ? 2 : 1)].getType());
    }
    /// How many matrices each weight has, and how many of them a token meets.
    int64_t experts() { return segmentWeight(0).matrices(); }
    int64_t rowsOfToken() { return getRoutes() ? getRoutes().getType().getUsed() : 1; }
    /// The same with flows, which nobody takes yet, in its place: of a projection that wrote its results.
    MatmulOp intoFlows(::mlir::OpBuilder &b);
  }];
}

#endif
