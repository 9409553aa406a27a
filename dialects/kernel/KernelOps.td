//===- KernelOps.td - The kernel dialect: what one launch computes --------===//
//
// A kernel.func is one launch: it holds one structured op, whose family has a
// generator per target. Operands are memory: rows of activations, packed weights,
// states. Layouts are those of runtime/formats/PanelLayout.h, work items those of
// runtime/abi/KernelAbi.h. Regions hold scalar f32 arith/math ops (and row_stat)
// that a shared walker renders for each target.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_KERNELOPS_TD
#define INGOT_DIALECTS_KERNEL_KERNELOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "dialects/kernel/KernelEnums.td"
include "dialects/kernel/KernelInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/lm/LmTypes.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::ingot::kernel";
  let summary = "what one launch computes";
  let dependentDialects = ["::ingot::lm::LmDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//


def Kernel_RowsType : TypeDef<Kernel_Dialect, "Rows"> {
  let mnemonic = "rows";
  let summary = "a buffer of rows of n values: `!kernel.rows<576, f32>`, `!kernel.rows<576, q8>`, `!kernel.rows<576, bf16>`";
  let parameters = (ins "int64_t":$n, EnumParameter<Kernel_RowKind>:$kind);
  let assemblyFormat = "`<` $n `,` $kind `>`";
  let extraClassDeclaration = "int64_t rowBytes() const;";
}
def Kernel_KvPoolType : TypeDef<Kernel_Dialect, "KvPool"> {
  let mnemonic = "kv_pool";
  let summary = "the paged KV pool of one layer slot: `!kernel.kv_pool<3, 64, bf16>`";
  let description = [{
    A page holds k[kvHeads][pageTokens][headDim] and v of the same shape. Elements of fp8 are codes of E4M3; behind all codes
    lie f32 scales, one for each vector: those of k[kvHeads][pageTokens], then of v. A value is code * scale, the scale being
    the vector's largest magnitude / 448 (1 for a vector that is all but zero). int8 is of CPUs alone and has scales in the same
    place; its codes lie as KernelAbi.h says.
  }];
  let parameters = (ins "int64_t":$kvHeads, "int64_t":$headDim, "::ingot::KvFormat":$format);
  let assemblyFormat = "`<` $kvHeads `,` $headDim `,` $format `>`";
  let extraClassDeclaration = [{
    const ::ingot::KvFormatInfo &info() const { return ::ingot::kvFormat(getFormat()); }
    int64_t pageBytes() const;
  }];
}
def Kernel_FixedStateType : TypeDef<Kernel_Dialect, "FixedState"> {
  let mnemonic = "fixed_state";
  let summary = "all versions of the fixed state of a layer: `!kernel.fixed_state<#lm.fixed<[x: 2x1024 x f32]>>`";
  let description = [{
    Slot i begins `i * slotBytes` bytes behind the base, with its streams as runtime/formats/FixedState.h says. What a step does is
    in the batch (Batch.h): for each sequence that has tokens, the slot of the version that it begins with, and the slots that
    versions behind some of its tokens go to, which may be the one it read.
  }];
  let parameters = (ins "::ingot::lm::FixedAttr":$layout);
  let assemblyFormat = "`<` qualified($layout) `>`";
  let extraClassDeclaration = "int64_t slotBytes() const { return getLayout().slotBytes(); }";
}
def Kernel_WorkspaceType : TypeDef<Kernel_Dialect, "Workspace"> {
  let mnemonic = "workspace";
  let summary = "bytes that belong to the program, all zero before its first step: `!kernel.workspace<4096>`";
  let description = [{
    Launches that touch it are never under way at once, so kernels may share one. Each leaves it as the next wants it.
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
}
def Kernel_Memory : AnyTypeOf<[Kernel_RowsType, Kernel_KvPoolType, Lm_WeightType]>;

/// `extent = #kernel.extent<rows>`
def Kernel_Extent : EnumAttr<Kernel_Dialect, Kernel_ExtentEnum, "extent"> {
  let assemblyFormat = "`<` $value `>`";
}
def Kernel_ScheduleAttr : AttrDef<Kernel_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how the main loop is cut: token tiles (falling), tokens kept in cache, prefetch distance in bytes";
  let parameters = (ins ArrayRefParameter<"int64_t">:$tokenTiles, "int64_t":$tokenBlock, "int64_t":$prefetch);
  let assemblyFormat = "`<` `tiles` `=` `[` $tokenTiles `]` `,` `block` `=` $tokenBlock `,` `prefetch` `=` $prefetch `>`";
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;
/// The op of a launch; `told`: what it says of itself, the rest being as the interface has it.
class Kernel_LaunchOp<string mnemonic, list<string> told = [], list<Trait> traits = []>
    : Kernel_Op<mnemonic, traits # [DeclareOpInterfaceMethods<Kernel_LaunchInterface, told>]>;

/// Operands say what a launch does to them.
class Kernel_Read<TypeConstraint type> : Arg<type, "", [MemRead]>;
class Kernel_Write<TypeConstraint type> : Arg<type, "", [MemWrite]>;
class Kernel_Update<TypeConstraint type> : Arg<type, "", [MemRead, MemWrite]>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "one launch: operands in the order in which the plan passes them";
  let description = "The structured op says what a launch is (LaunchInterface); operands are its memory.";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                   OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
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
  }];
}
def Kernel_ReturnOp : Kernel_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"FuncOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}
def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MatmulOp", "RowwiseOp"]>]> {
  let summary = "the values to store, one per output of the region";
  let arguments = (ins Variadic<F32>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

def Kernel_MatmulOp : Kernel_LaunchOp<"matmul", ["workItems", "isPerRow", "isForFewTokens", "operationsPerUnit"],
                                      [AttrSizedOperandSegments]> {
  let summary = "y_s[t][n] = epilogue_s(sum_k w_s[n][k] x[t][k], aux…), for each segment s of weight rows";
  let description = [{
    One output per segment; with `pair`, two weights per output (gate, up; all gates first is NOT the order: weights
    are [gate_0, up_0, gate_1, …]) and two accumulators in the epilogue. aux operands belong to segments in order,
    `aux_counts[s]` of them each: rows<n, f32> (a residual; may be the output itself) or a vector weight (a bias).
    Epilogue s has the arguments (acc [, acc2], aux…) : f32 and yields one f32. An output of kind q8 is quantised
    per 32 rows as PanelLayout.h says. Work items: panels of 32 rows, over all segments in order.
    x of kind q8: `fast` arithmetic (integer dot per group); kind f32: `exact` (f32 chain in order of k), or for bf16
    weights vdpbf16ps if `fast_float` is set; kind bf16: the GPU's arithmetic (docs/gpu.md).

    `fp8` (GPUs) is x once more, as kernel.fp8_rows leaves it, for variants that multiply in fp8; all weights are fp8 then.

    `prologue` (GPUs): in a launch of at most `prologue_up_to` tokens (or rows, as `extent` says) nobody has written x: the
    kernel computes its rows from these inputs, by the region of the kernel.rowwise whose output x is, to the same bits.
    `prologue_gather` is that op's `gather`.

    `keys`: of each row of the only output, the largest value and its index are folded into keys[row] by a maximum.
    Launches of more than `keys_up_to` rows do not: then the keys stay as they were. On CPUs they are folded in greedy steps alone
    (Batch.h), which write no output and have at most kGreedyRows rows.

    `maxima` (CPUs): where the output is written, so is the largest of each 32 of its values (a panel), NaN aside: what a sampler
    looks at to know which panels hold the values that it wants.

    `append` (GPUs): the outputs are q, k and v. In a launch of at most `append_up_to` tokens q and k are rotated (`table`,
    `style`; without a table nothing is), q is written rotated, and k and v go into the pool `kv` instead of their rows, as a
    kernel.rope_append without norms does it, to the same bits.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$x, Kernel_Read<Variadic<Lm_WeightType>>:$weights,
                   Kernel_Read<Variadic<Kernel_Memory>>:$aux, Kernel_Write<Variadic<Kernel_RowsType>>:$outputs,
                   Kernel_Read<Optional<Kernel_RowsType>>:$x_fp8, Kernel_Read<Variadic<Kernel_Memory>>:$prologue,
                   Kernel_Update<Optional<Kernel_RowsType>>:$keys, Kernel_Write<Optional<Kernel_RowsType>>:$maxima,
                   Kernel_Write<Optional<Kernel_KvPoolType>>:$kv, Kernel_Read<Optional<Kernel_RowsType>>:$table, DenseI64ArrayAttr:$aux_counts,
                   Kernel_Extent:$extent, UnitAttr:$pair, UnitAttr:$fast_float, OptionalAttr<Kernel_ScheduleAttr>:$schedule,
                   OptionalAttr<I64Attr>:$prologue_up_to, UnitAttr:$prologue_gather, OptionalAttr<I64Attr>:$keys_up_to,
                   OptionalAttr<I64Attr>:$append_up_to, OptionalAttr<Lm_RopeStyle>:$style);
  let regions = (region AnyRegion:$prologue_body, VariadicRegion<SizedRegion<1>>:$epilogues);
  let assemblyFormat = [{ $x `:` type($x) `weights` `(` $weights `:` type($weights) `)` (`aux` `(` $aux^ `:` type($aux) `)`)?
                          `outs` `(` $outputs `:` type($outputs) `)` (`fp8` `(` $x_fp8^ `:` type($x_fp8) `)`)?
                          (`prologue` `(` $prologue^ `:` type($prologue) `)` $prologue_body)?
                          (`keys` $keys^ `:` type($keys))? (`maxima` $maxima^ `:` type($maxima))?
                          (`append` $kv^ `:` type($kv))? (`table` $table^ `:` type($table))?
                          attr-dict-with-keyword $epilogues }];
  let hasVerifier = 1;
}

def Kernel_Fp8RowsOp : Kernel_LaunchOp<"fp8_rows", ["workItems", "isPerRow"]> {
  let summary = "y[t] = x[t] as E4M3, a scale per 128 values: largest |x| / 448";
  let description = [{
    For GPUs, before projections whose variants for many tokens multiply in fp8; steps that use none of those skip it.
    Values lie in the order in which such products take k (FragmentLayout.h). Work items: tokens (or logits rows).
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$x, Kernel_Write<Kernel_RowsType>:$output, Kernel_Extent:$extent);
  let assemblyFormat = "$x `:` type($x) `outs` `(` $output `:` type($output) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_RowwiseOp : Kernel_LaunchOp<"rowwise", ["workItems", "isPerRow", "idleUpTo", "operationsPerUnit"],
                                       [AttrSizedOperandSegments]> {
  let summary = "outputs[t][i] = region(inputs[t][i]…), with statistics over the row";
  let description = [{
    Inputs are rows (one row per token) or vector weights (shared by all rows); region arguments are their elements i, f32.
    The region is elementwise arith/math plus `kernel.row_stat`. It yields one value per output; outputs are rows of f32,
    q8 or bf16, and an f32 output may be one of the inputs (in place). `gather`: rows are logits rows, and rows inputs are
    read at rowTokens[r]; outputs are written at r. Work items: rows.
    `idle_up_to` (GPUs): with at most so many rows there is nothing to do; every reader computes the rows it reads (a
    kernel.matmul with this op's region as its `prologue`).
  }];
  let arguments = (ins Kernel_Read<Variadic<Kernel_Memory>>:$inputs, Kernel_Write<Variadic<Kernel_RowsType>>:$outputs,
                   Kernel_Extent:$extent, UnitAttr:$gather,
                   OptionalAttr<I64Attr>:$idle_up_to);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)`
                          attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}

def Kernel_RowStatOp : Kernel_Op<"row_stat", [Pure, ParentOneOf<["RowwiseOp", "MatmulOp"]>, SameOperandsAndResultType]> {
  let summary = "the mean of a value over the row (16 partial sums, then a tree)";
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "`mean` $value attr-dict `:` type($result)";
}

def Kernel_GatherOp : Kernel_LaunchOp<"gather", ["gathersWeights", "operationsPerUnit"]> {
  let summary = "y[t] = scale * row ids[t] of a packed weight, de-quantised";
  let description = "Work items: tokens.";
  let arguments = (ins Kernel_Read<Lm_WeightType>:$weight, Kernel_Write<Kernel_RowsType>:$output, F32Attr:$scale);
  let assemblyFormat = "$weight `:` type($weight) `outs` `(` $output `:` type($output) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_RopeTableOp : Kernel_LaunchOp<"rope_table"> {
  let summary = "y[t] = cos(p f_0..f_r/2), sin(p f_0..): once per step, read by every layer";
  let description = [{
    p = positions[t]; p * f is rounded to f32 first (as HF does), cos and sin of that f32 are correct to 1 ulp at any
    position. Output rows<2 * count, f32>: the cosines first. Both are multiplied by `factor`. Work items: tokens.
  }];
  let arguments = (ins Kernel_Read<Lm_WeightType>:$frequencies, Kernel_Write<Kernel_RowsType>:$output, F32Attr:$factor);
  let assemblyFormat = "$frequencies `:` type($frequencies) `outs` `(` $output `:` type($output) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_RopeAppendOp : Kernel_LaunchOp<"rope_append", ["idleUpTo", "operationsPerUnit"], [AttrSizedOperandSegments]> {
  let summary = "normalises and rotates the heads of q and k, writes q in place, appends k and v to the KV pool";
  let description = [{
    Optional q_norm, k_norm: RMS norm of each head with that vector (+ weight_offset) and eps, before the rotation. `table` is
    the output of rope_table (absent: no rotation). k and v are rounded to the pool's type here. q may be absent when
    only k and v are given. Work items: tokens.
    `idle_up_to` (GPUs): with at most so many tokens there is nothing to do; the projection that makes q, k and v does it
    (`append` of kernel.matmul).
  }];
  let arguments = (ins Kernel_Update<Kernel_RowsType>:$q, Kernel_Read<Kernel_RowsType>:$k, Kernel_Read<Kernel_RowsType>:$v,
                   Kernel_Read<Optional<Kernel_RowsType>>:$table, Kernel_Read<Optional<Lm_WeightType>>:$q_norm,
                   Kernel_Read<Optional<Lm_WeightType>>:$k_norm, Kernel_Write<Kernel_KvPoolType>:$kv,
                   I64Attr:$heads, Lm_RopeStyle:$style, DefaultValuedAttr<F32Attr, "0.0f">:$eps,
                   DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset, OptionalAttr<I64Attr>:$idle_up_to);
  let assemblyFormat = [{ $q `,` $k `,` $v (`table` $table^ `:` type($table))? (`q_norm` $q_norm^ `:` type($q_norm))?
                          (`k_norm` $k_norm^ `:` type($k_norm))? `into` $kv attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($kv) }];
  let hasVerifier = 1;
}

def Kernel_AttentionOp : Kernel_LaunchOp<"attention", ["workItems", "operationsPerPosition", "bytesPerPosition"]> {
  let summary = "paged causal attention, online softmax over pages at fixed absolute positions";
  let description = [{
    As lm.attention. The output is rows<heads * head_dim, f32>, bf16, or q8 (head_dim a multiple of 32). Work items: attention
    tiles x KV heads (item = tile * kv_heads + head). The rows of a work item are the tile's tokens x the heads of the group.

    `workspace` (GPUs): blocks share the positions of a tile, and what each finds passes through it.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$q, Kernel_Read<Kernel_KvPoolType>:$kv, Kernel_Write<Kernel_RowsType>:$output,
                   Kernel_Update<Optional<Kernel_WorkspaceType>>:$workspace, I64Attr:$heads, F32Attr:$scale,
                   DefaultValuedAttr<I64Attr, "0">:$window, DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let assemblyFormat = [{ $q `,` $kv `:` type($q) `,` type($kv) `outs` `(` $output `:` type($output) `)`
                          (`workspace` $workspace^ `:` type($workspace))? attr-dict }];
  let hasVerifier = 1;
}

def Kernel_CausalConvOp : Kernel_LaunchOp<"causal_conv", ["workItems", "operationsPerUnit"]> {
  let summary = "y[t][c] = sum_j w[j][c] x[t - taps + 1 + j][c] (+ bias[c]), over the rows of a sequence";
  let description = [{
    As lm.causal_conv. The state holds the taps - 1 rows before; the batch says of each span (Batch.h) which slot it begins with
    and behind which tokens versions are written. Products are rounded and added one by one, the oldest first, on every target.
    Work items: spans x blocks of kConvChannels channels.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$x, Kernel_Read<Lm_WeightType>:$weight,
                   Kernel_Read<Optional<Lm_WeightType>>:$bias, Kernel_Update<Kernel_FixedStateType>:$state,
                   Kernel_Write<Kernel_RowsType>:$output);
  let assemblyFormat = [{ $x `,` $weight (`bias` $bias^ `:` type($bias))? `over` $state `:` type($x) `,` type($weight) `,`
                          type($state) `outs` `(` $output `:` type($output) `)` attr-dict }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many rows before a token its own depends on.
    int64_t historyRows() { return getState().getType().getLayout().getStreams().front().getRows(); }
  }];
}

//===----------------------------------------------------------------------===//
// Ids of logits rows, on GPUs (device/sample.cuh, device/draw.cuh)
//===----------------------------------------------------------------------===//

def Kernel_ArgmaxOp : Kernel_LaunchOp<"argmax", ["family", "workItems", "isPerRow", "idleUpTo"]> {
  let summary = "raises keys[r] to the largest logit of row r and its index";
  let description = [{
    Of equal logits the lowest index wins, NaN is below all. Keys are 0 before; who reads them sets them back. Work items: rows.
    `idle_up_to`: with at most so many rows there is nothing to do, the projection that makes the logits raises the keys.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$logits, Kernel_Update<Kernel_RowsType>:$keys, OptionalAttr<I64Attr>:$idle_up_to);
  let assemblyFormat = "$logits `:` type($logits) `keys` $keys `:` type($keys) attr-dict";
  let hasVerifier = 1;
}

def Kernel_ArgmaxFinishOp : Kernel_LaunchOp<"argmax_finish", ["family", "workItems", "isPerRow"]> {
  let summary = "ids[r] = the index in keys[r], which becomes 0 again";
  let description = "A key of 0 (all logits are NaN) gives the id 0. Work items: rows.";
  let arguments = (ins Kernel_Update<Kernel_RowsType>:$keys, Kernel_Write<Kernel_RowsType>:$ids);
  let assemblyFormat = "$keys `:` type($keys) `outs` `(` $ids `:` type($ids) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_DrawWeighOp : Kernel_LaunchOp<"draw_weigh", ["family", "workItems", "isPerRow"]> {
  let summary = "adds the weights of pieces of row r to sums[r], as the row's sampling wants them";
  let description = [{
    keys[r] holds the row's largest logit. All of the sums but those of blocks are 0 before. Work items: rows.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$logits, Kernel_Read<Kernel_RowsType>:$keys, Kernel_Update<Kernel_RowsType>:$sums);
  let assemblyFormat = "$logits `,` $keys `:` type($logits) `,` type($keys) `sums` $sums `:` type($sums) attr-dict";
  let hasVerifier = 1;
}

def Kernel_DrawIdsOp : Kernel_LaunchOp<"draw_ids", ["family", "workItems", "isPerRow"]> {
  let summary = "ids[r] = the id that is drawn from row r by its sums; keys[r] and sums[r] become 0 again";
  let description = "The ids are those of runtime/sample/Sampler.h for the same logits, bit for bit. Work items: rows.";
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$logits, Kernel_Update<Kernel_RowsType>:$keys,
                   Kernel_Update<Kernel_RowsType>:$sums, Kernel_Write<Kernel_RowsType>:$ids);
  let assemblyFormat = [{ $logits `,` $keys `:` type($logits) `,` type($keys) `sums` $sums `:` type($sums)
                          `outs` `(` $ids `:` type($ids) `)` attr-dict }];
  let hasVerifier = 1;
}

#endif
