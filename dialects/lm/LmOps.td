//===- LmOps.td - The lm dialect: what the model is -----------------------===//
//
// File organisation
//   (dialect, attributes and types: LmTypes.td; enumerations: LmEnums.td)
//   structure: model, weight, state, layer_kind, entry, layers, get_weight, return
//   layers of a transformer: embed … attention
//   elementwise
//   fusion regions
//
// Every op is described with numbered constraints in SPEC.md; verifiers cite
// them. Value semantics: the leading dimension of every tensor is the ragged
// token count T of a step (or the count R of logits rows after select_rows).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_LMOPS_TD
#define INGOT_DIALECTS_LM_LMOPS_TD

include "dialects/lm/LmTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Lm_Op<string mnemonic, list<Trait> traits = []> : Op<Lm_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Lm_ModelOp : Lm_Op<"model", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "a whole model: weights, states, layer kinds and one entry";
  let description = [{
    Attributes say what the runtime needs beside the graph: `family`, `vocab`, `hidden`,
    `max_positions`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, I64Attr:$vocab, I64Attr:$hidden,
                   I64Attr:$max_positions);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Lm_WeightOp : Lm_Op<"weight", [Symbol, HasParent<"ModelOp">]> {
  let summary = "a weight of the checkpoint, by reference: no data in the IR";
  let description = [{
    `source` is the tensor's name in the checkpoint, or the rows of tensors that the weight is made of (`#lm.rows`).
    `type` is the numeric format it will have in the engine; `stored`, where it differs, the format it has in the file
    (set by quantize). `values` holds the numbers of small derived vectors that are no tensor of the checkpoint (rope
    frequencies).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Lm_WeightType>:$type, OptionalAttr<Lm_SourceAttr>:$source,
                   OptionalAttr<Lm_FormatAttr>:$stored, OptionalAttr<DenseF32ArrayAttr>:$values);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Lm_StateOp : Lm_Op<"state", [Symbol, HasParent<"ModelOp">]> {
  let summary = "what a layer keeps of each sequence from step to step";
  let description = [{
    ```mlir
    lm.state @kv.0 : #lm.paged<[k: 8x128, v: 8x128]>      // vectors of every position
    lm.state @conv.1 : #lm.fixed<[x: 2x1024 x f32]>       // replaced by each token
    ```
    A state belongs to the layer that passes it to its kind (lm.layers).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Lm_StateLayout:$layout);
  let assemblyFormat = "$sym_name `:` $layout attr-dict";
}

class Lm_FunctionLike<string mnemonic> : Lm_Op<mnemonic,
    [HasParent<"ModelOp">, IsolatedFromAbove, FunctionOpInterface]> {
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                   OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  code functionDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
  }];
  let extraClassDeclaration = functionDeclaration;
}

def Lm_LayerKindOp : Lm_FunctionLike<"layer_kind"> {
  let summary = "one kind of layer: structure, tuple of weight formats, window";
  let description = [{
    Arguments: the hidden state `tensor<?xHxf32>`, the layer's states (none, one or several), `!lm.batch`, then the
    weights. Each weight argument carries its role as the argument attribute `lm.role` ("attn_q"). Returns the hidden
    state and the states as they are behind this step.
  }];
  let extraClassDeclaration = functionDeclaration # [{
    /// How many states it takes; they begin at argument 1, and the batch comes behind them.
    unsigned stateCount();
    /// The number of its first weight argument.
    unsigned firstWeight() { return stateCount() + 2; }
    ::llvm::ArrayRef<::mlir::Type> stateTypes() { return getArgumentTypes().slice(1, stateCount()); }
    ::llvm::ArrayRef<::mlir::Type> weightTypes() { return getArgumentTypes().drop_front(firstWeight()); }
  }];
}

def Lm_EntryOp : Lm_FunctionLike<"entry"> {
  let summary = "a step: token ids in, logits of the asked rows out";
  let description = [{
    Arguments: `tensor<?xi32>`, `!lm.states`, `!lm.batch`. Returns logits `tensor<?xVxf32>` and `!lm.states`.
  }];
}

def Lm_ReturnOp : Lm_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["LayerKindOp", "EntryOp"]>]> {
  let summary = "ends a layer kind or the entry";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let hasVerifier = 1;
}

def Lm_LayersOp : Lm_Op<"layers", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs layers in order: kind, states and weights of each";
  let description = [{
    `states[i]` and `weights[i]` list the symbols that layer i passes to the state and weight arguments of `kinds[i]`.
    ```mlir
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@attention, @conv], states = [[@kv.0], [@conv.1]],
                weights = [[@blk.0.attn_norm, …], […]]} : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins Lm_Activations:$x, Lm_StatesType:$before, Lm_BatchType:$batch,
                   FlatSymbolRefArrayAttr:$kinds, ArrayAttr:$states, ArrayAttr:$weights);
  let results = (outs Lm_Activations:$y, Lm_StatesType:$after);
  let assemblyFormat = "$x `,` $before `,` $batch attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Lm_GetWeightOp : Lm_Op<"get_weight", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the weight of that symbol";
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Lm_WeightType:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Layers of a transformer
//===----------------------------------------------------------------------===//

def Lm_EmbedOp : Lm_Op<"embed", [Pure]> {
  let summary = "row ids[t] of the embedding, times scale";
  let arguments = (ins Lm_Ids:$ids, Lm_WeightType:$weight, DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$ids `,` $weight attr-dict `:` type($ids) `,` type($weight) `->` type($result)";
  let hasVerifier = 1;
}

def Lm_RmsNormOp : Lm_Op<"rms_norm", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "x / sqrt(mean(x^2) + eps) * (weight + weight_offset), per row or per head of a row";
  let description = "With `heads` = h the row is cut into h equal heads, each normalised alone with the same weight.";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, F32Attr:$eps,
                   DefaultValuedAttr<I64Attr, "1">:$heads, DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $weight attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Lm_LayerNormOp : Lm_Op<"layer_norm", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "(x - mean) / sqrt(mean((x - mean)^2) + eps) * weight (+ bias), per row";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, Optional<Lm_WeightType>:$bias, F32Attr:$eps);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $weight (`,` $bias^ `:` type($bias))? attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Lm_LinearOp : Lm_Op<"linear", [Pure]> {
  let summary = "y[t][n] = sum_k weight[n][k] x[t][k] (+ bias[n])";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, Optional<Lm_WeightType>:$bias);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = [{ $x `,` $weight (`,` $bias^ `:` type($bias))? attr-dict `:` type($x) `,` type($weight)
                          `->` type($result) }];
  let hasVerifier = 1;
}

def Lm_RopeOp : Lm_Op<"rope", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "rotates pairs of each head by position * frequency";
  let description = [{
    `frequencies` is a vector of rotary/2 inverse frequencies (long-context scaling already in them); the first
    `2 * its length` elements of each head rotate, the rest pass. cos and sin are multiplied by `attention_factor`.
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$frequencies, Lm_BatchType:$batch, I64Attr:$heads,
                   Lm_RopeStyle:$style, DefaultValuedAttr<F32Attr, "1.0f">:$attention_factor);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $frequencies `,` $batch attr-dict `:` type($x) `,` type($frequencies)";
  let hasVerifier = 1;
}

def Lm_KvAppendOp : Lm_Op<"kv_append", [Pure, AllTypesMatch<["kv", "result"]>]> {
  let summary = "the paged state with this step's keys and values added";
  let arguments = (ins Lm_Activations:$k, Lm_Activations:$v, Lm_StateType:$kv, Lm_BatchType:$batch);
  let results = (outs Lm_StateType:$result);
  let assemblyFormat = "$k `,` $v `,` $kv `at` $batch attr-dict `:` type($k) `,` type($v) `,` type($kv)";
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getKvHeads() { return ::ingot::lm::kvHeadsOf(getKv()); }";
}

def Lm_AttentionOp : Lm_Op<"attention", [Pure]> {
  let summary = "causal grouped-query attention of this step's tokens over keys and values";
  let description = [{
    Query head h reads KV head h * kv_heads / heads; the state's stream of keys says how many KV heads there are. score = scale * q.k, then cap * tanh(score / cap) if
    `softcap` > 0; position j counts for a token at position p if j <= p and (window = 0 or j > p - window).
  }];
  let arguments = (ins Lm_Activations:$q, Lm_StateType:$kv, Lm_BatchType:$batch, I64Attr:$heads,
                   F32Attr:$scale, DefaultValuedAttr<I64Attr, "0">:$window,
                   DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$q `,` $kv `,` $batch attr-dict `:` type($q) `,` type($kv) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getKvHeads() { return ::ingot::lm::kvHeadsOf(getKv()); }";
}

def Lm_CausalConvOp : Lm_Op<"causal_conv", [Pure, AllTypesMatch<["x", "result"]>, AllTypesMatch<["before", "after"]>]> {
  let summary = "y[t][c] = sum_j weight[j][c] x[t - taps + 1 + j][c] (+ bias[c]), over the rows of a sequence";
  let description = [{
    `weight` is a vector of taps x channels values, the oldest tap first; sums are taken in that order. The taps - 1 rows
    before this step's are those that the state holds, oldest first: zeros where a sequence begins. `after` holds the
    newest of all.
    ```mlir
    %y, %s1 = lm.causal_conv %x, %w over %s at %batch : tensor<?x1024xf32>, !lm.weight<3072, f32>,
                                                        !lm.state<#lm.fixed<[x: 2x1024 x f32]>>
    ```
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, Lm_StateType:$before, Lm_BatchType:$batch,
                   Optional<Lm_WeightType>:$bias);
  let results = (outs Lm_Activations:$result, Lm_StateType:$after);
  let assemblyFormat = [{ $x `,` $weight (`,` $bias^ `:` type($bias))? `over` $before `at` $batch attr-dict `:` type($x)
                          `,` type($weight) `,` type($before) }];
  let hasVerifier = 1;
}

def Lm_SelectRowsOp : Lm_Op<"select_rows", [Pure]> {
  let summary = "the rows of x whose logits are asked for: [T][H] -> [R][H]";
  let arguments = (ins Lm_Activations:$x, Lm_BatchType:$batch);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $batch attr-dict `:` type($x) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Lm_AddOp : Lm_Op<"add", [Pure, Commutative, SameOperandsAndResultType]> {
  let summary = "a + b";
  let arguments = (ins Lm_Activations:$a, Lm_Activations:$b);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($result)";
}
def Lm_MulOp : Lm_Op<"mul", [Pure, Commutative, SameOperandsAndResultType]> {
  let summary = "a * b";
  let arguments = (ins Lm_Activations:$a, Lm_Activations:$b);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($result)";
}
def Lm_ScaleOp : Lm_Op<"scale", [Pure, SameOperandsAndResultType]> {
  let summary = "x * factor";
  let arguments = (ins Lm_Activations:$x, F32Attr:$factor);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasFolder = 1;
}
def Lm_ActivationOp : Lm_Op<"activation", [Pure, SameOperandsAndResultType]> {
  let summary = "silu, gelu_tanh, gelu, quick_gelu, relu, relu2 or mish";
  let arguments = (ins Lm_Activations:$x, Lm_ActivationKind:$kind);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($result)";
}
def Lm_SoftcapOp : Lm_Op<"softcap", [Pure, SameOperandsAndResultType]> {
  let summary = "cap * tanh(x / cap)";
  let arguments = (ins Lm_Activations:$x, F32Attr:$cap);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Fusion regions
//===----------------------------------------------------------------------===//

def Lm_FusedOp : Lm_Op<"fused", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that one launch will compute; the region is its definition";
  let description = [{
    Fusion only decides; lowering outlines. `pattern` names what was recognised ("qkv", "attention",
    "out_residual", "gate_up", …, or "group" for the generic grouper). Not isolated: values are used from above.
  }];
  let arguments = (ins StrAttr:$pattern);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$pattern (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Lm_YieldOp : Lm_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FusedOp"]>]> {
  let summary = "ends a fused region";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif
