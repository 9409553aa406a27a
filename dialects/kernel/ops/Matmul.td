//===- Matmul.td - Projections --------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_MATMUL_TD
#define INGOT_DIALECTS_KERNEL_OPS_MATMUL_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_MatmulOp : Kernel_LaunchOp<"matmul", ["workItems", "isPerRow", "operationsPerUnit"],
                                      [AttrSizedOperandSegments]> {
  let summary = "y_s[t][n] = epilogue_s(sum_k w_s[n][k] x[t][k], aux…), for each segment s of weight rows";
  let description = [{
    One output per segment; with `pair`, two weights per segment (gate, up; all gates first is NOT the order: weights
    are [gate_0, up_0, gate_1, …]) and two accumulators in the epilogue. aux operands belong to segments in order,
    `aux_counts[s]` of them each: rows<n, f32> (a residual; may be the output itself) or a vector weight (a bias).
    Epilogue s has the arguments (acc [, acc2], aux…) : f32 and yields one f32. An output of kind q8 is quantised
    per 32 rows as PanelLayout.h says. Work items: panels of 32 rows, over all segments in order.
    x of kind q8: `fast` arithmetic (integer dot per group); kind f32: `exact` (f32 chain in order of k), or for bf16
    weights vdpbf16ps if `fast_float` is set; kind bf16: the GPU's arithmetic (docs/gpu.md).

    `fp8` (GPUs) is x once more, as kernel.fp8_rows leaves it, for variants that multiply in fp8; all weights are fp8 then.

    `prologue` (GPUs), instead of x: the kernel computes bf16 rows of x from these inputs, by the region of the kernel.rowwise
    that would write them, to the same bits. `prologue_gather` is that op's `gather`.

    `keys`: of each row of the only segment, the largest value and its index are folded into keys[row] by a maximum. Where
    nobody wants the values the op has no output (CPUs; at most kGreedyRows rows).

    `maxima` (CPUs): the largest of each 32 values of the output (a panel) as well, NaN aside: what a sampler looks at to know
    which panels hold the values that it wants.

    `append` (GPUs): the segments are q, k and v, and q alone is an output. q and k are rotated (`table`, `style`; without a table
    nothing is), and k and v go into the pool `kv`, as a kernel.rope_append without norms does it, to the same bits.
  }];
  let arguments = (ins Kernel_Read<Optional<Kernel_RowsType>>:$x, Kernel_Read<Variadic<Lm_WeightType>>:$weights,
                   Kernel_Read<Variadic<Kernel_Memory>>:$aux, Kernel_Write<Variadic<Kernel_RowsType>>:$outputs,
                   Kernel_Read<Optional<Kernel_RowsType>>:$x_fp8, Kernel_Read<Variadic<Kernel_Memory>>:$prologue,
                   Kernel_Update<Optional<Kernel_RowsType>>:$keys, Kernel_Write<Optional<Kernel_RowsType>>:$maxima,
                   Kernel_Write<Optional<Kernel_KvPoolType>>:$kv, Kernel_Read<Optional<Kernel_RowsType>>:$table, DenseI64ArrayAttr:$aux_counts,
                   Kernel_Extent:$extent, UnitAttr:$pair, UnitAttr:$fast_float, OptionalAttr<Kernel_ScheduleAttr>:$schedule,
                   UnitAttr:$prologue_gather, OptionalAttr<Lm_RopeStyle>:$style);
  let regions = (region AnyRegion:$prologue_body, VariadicRegion<SizedRegion<1>>:$epilogues);
  let assemblyFormat = [{ ($x^ `:` type($x))? `weights` `(` $weights `:` type($weights) `)` (`aux` `(` $aux^ `:` type($aux) `)`)?
                          (`outs` `(` $outputs^ `:` type($outputs) `)`)? (`fp8` `(` $x_fp8^ `:` type($x_fp8) `)`)?
                          (`prologue` `(` $prologue^ `:` type($prologue) `)` $prologue_body)?
                          (`keys` $keys^ `:` type($keys))? (`maxima` $maxima^ `:` type($maxima))?
                          (`append` $kv^ `:` type($kv))? (`table` $table^ `:` type($table))?
                          attr-dict-with-keyword $epilogues }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What x is, whether it is read or computed.
    RowsType xType();
    int64_t segments() { return getWeights().size() / (getPair() ? 2 : 1); }
    int64_t segmentRows(int64_t s) { return segmentWeight(s).rows(); }
    ::ingot::lm::WeightType segmentWeight(int64_t s) {
      return ::llvm::cast<::ingot::lm::WeightType>(getWeights()[s * (getPair() ? 2 : 1)].getType());
    }
  }];
}

#endif
