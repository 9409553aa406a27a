//===- Rope.td - Rotations, and the append to the KV cache ----------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_ROPE_TD
#define INGOT_DIALECTS_KERNEL_OPS_ROPE_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_RopeTableOp : Kernel_LaunchOp<"rope_table"> {
  let summary = "y[t] = cos(p f_0..f_r/2), sin(p f_0..): computed once per step, read by every layer";
  let description = [{
    p = positions[t]. p * f is rounded to f32 first (as in HF); cos and sin of that f32 are correct to 1 ulp at any
    position. The output is activation<2 * count, f32> with the cosines first. Cosines and sines are multiplied by
    `factor`. Work items: tokens.
  }];
  let arguments = (ins Kernel_Read<Lm_WeightType>:$frequencies, Kernel_Write<Kernel_ActivationType>:$output, F32Attr:$factor);
  let assemblyFormat = "$frequencies `:` type($frequencies) `outs` `(` $output `:` type($output) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_RopeAppendOp : Kernel_LaunchOp<"rope_append", ["operationsPerUnit"], [AttrSizedOperandSegments]> {
  let summary = "normalises and rotates the heads of q and k, writes q in place, appends k and v to the KV pool";
  let description = [{
    With `q_norm` or `k_norm`, each head of q or k gets an RMS norm with that vector (+ weight_offset) and eps, before
    the rotation or, with `norm_after`, after it. The vector has the values of one head, shared by all heads, or
    separate values for each head. With `centred`, the mean of a head is subtracted first, which makes the norm a layer
    norm. `table` is the output of rope_table; without it there is no rotation. With `temperature`, the rotated q is
    multiplied by temperature[position / temperature_period]; positions beyond the vector use its last factor. This op
    also rounds k and v to the pool's type. Work items: tokens.

    If the operands are fused values, so is the rotated q. Fused values are rotated where they are computed. Both
    values of a rotated pair must therefore be available at that place. There are then no norms and no temperature.
  }];
  let arguments = (ins Kernel_Update<Kernel_ActivationOrFused>:$q, Kernel_Read<Kernel_ActivationOrFused>:$k, Kernel_Read<Kernel_ActivationOrFused>:$v,
                   Kernel_Read<Optional<Kernel_ActivationType>>:$table, Kernel_Read<Optional<Lm_WeightType>>:$q_norm,
                   Kernel_Read<Optional<Lm_WeightType>>:$k_norm, Kernel_Read<Optional<Lm_WeightType>>:$temperature,
                   Kernel_Write<Kernel_KvPoolType>:$kv,
                   I64Attr:$heads, Lm_RopeStyle:$style, DefaultValuedAttr<F32Attr, "0.0f">:$eps,
                   DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset, UnitAttr:$norm_after, UnitAttr:$centred,
                   DefaultValuedAttr<I64Attr, "1">:$temperature_period);
  let results = (outs Optional<Kernel_FusedType>:$rotated);
  let assemblyFormat = [{ $q `,` $k `,` $v (`table` $table^ `:` type($table))? (`q_norm` $q_norm^ `:` type($q_norm))?
                          (`k_norm` $k_norm^ `:` type($k_norm))? (`temperature` $temperature^ `:` type($temperature))? `into` $kv attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($kv)
                          (`->` type($rotated)^)? }];
  let hasVerifier = 1;
}

#endif
