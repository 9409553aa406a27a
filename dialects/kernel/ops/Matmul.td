//===- Matmul.td - Projections --------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_MATMUL_TD
#define INGOT_DIALECTS_KERNEL_OPS_MATMUL_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_MatmulOp : Kernel_LaunchOp<"matmul", ["rowOperand", "workItems", "isPerRow", "operationsPerUnit",
                                                "rowsOfUnit", "mayOverwrite"], [AttrSizedOperandSegments]> {
  let summary = "y_s[t][n] = epilogue_s(sum_k w_s[n][k] x[t][k], aux…), for each segment s of weight rows";
  let description = [{
    With `gated`, each segment has two weights and the epilogue two accumulators. Gates and ups alternate: weights are
    [gate_0, up_0, gate_1, …], NOT all gates first. Segments take the aux operands in order; segment s takes
    `aux_counts[s]` of them. An aux operand is activation<n, f32> (a residual, which may be the output itself) or a
    vector weight (a bias). Epilogue s has the arguments (acc [, acc2], aux…) : f32 and yields one f32. Work items:
    panels of 32 rows, over all segments in order.

    Results are either written to memory or fused. If they are written, `outs` has one output per segment; an output
    of kind q8 is quantised per 32 rows (PanelLayout.h). If they are fused, every y_s is an f32 fused value that other
    ops of the kernel consume.

    The kind of x selects the arithmetic:
    - q8: `fast`, an integer dot product per group.
    - f32: `exact`, an f32 chain in order of k; with `fast_float` and bf16 weights, vdpbf16ps instead.
    - bf16: the GPU's arithmetic (docs/gpu-numerics.md).

    On GPUs, x may be the fused value of a kernel.rowwise. Every block then computes that value for itself.

    With `routes`, weights are stacks, x has a row for each token and each of its experts, and the rows of an expert
    are multiplied by its matrix. aux vectors are stacks of one column. Work items: the panels of all experts. Only
    experts that have rows have work, so a call maps its range of work items to the same fraction of their panels.

    `fp8` (GPUs) is x as encoded by kernel.fp8_rows, for variants that multiply in fp8. All weights are then fp8.
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationOrFused>:$x, Kernel_Read<Variadic<Lm_WeightType>>:$weights,
                   Kernel_Read<Variadic<Kernel_Memory>>:$aux, Kernel_Write<Variadic<Kernel_ActivationType>>:$outputs,
                   Kernel_Read<Optional<Kernel_ActivationType>>:$x_fp8,
                   Kernel_Read<Optional<Kernel_RoutesType>>:$routes, DenseI64ArrayAttr:$aux_counts,
                   Kernel_Extent:$extent, UnitAttr:$gated, UnitAttr:$fast_float,
                   OptionalAttr<Kernel_ScheduleAttr>:$schedule);
  let results = (outs Variadic<Kernel_FusedType>:$fused);
  let regions = (region VariadicRegion<SizedRegion<1>>:$epilogues);
  let assemblyFormat = [{ $x `:` type($x) `weights` `(` $weights `:` type($weights) `)`
                          (`aux` `(` $aux^ `:` type($aux) `)`)?
                          (`outs` `(` $outputs^ `:` type($outputs) `)`)? (`fp8` `(` $x_fp8^ `:` type($x_fp8) `)`)?
                          (`of` $routes^ `:` type($routes))? (`->` type($fused)^)? attr-dict-with-keyword $epilogues }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the type of x; for a fused value, the type that it would have in memory.
    ActivationType xType() { return activationTypeOf(getX()); }
    int64_t segments() { return getWeights().size() / (getGated() ? 2 : 1); }
    int64_t segmentRows(int64_t s) { return segmentWeight(s).rows(); }
    ::ingot::lm::WeightType segmentWeight(int64_t s) {
      return ::llvm::cast<::ingot::lm::WeightType>(getWeights()[s * (getGated() ? 2 : 1)].getType());
    }
    /// Returns the number of matrices in each weight, and the number of them that a token uses.
    int64_t experts() { return segmentWeight(0).matrices(); }
    int64_t rowsOfToken() { return getRoutes() ? getRoutes().getType().getUsed() : 1; }
    /// Replaces a projection that writes its results by one that returns them as fused values, still without
    /// consumers.
    MatmulOp withFusedResults(::mlir::OpBuilder &b);
  }];
}

#endif
