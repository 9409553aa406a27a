//===- Layers.td - Kinds of layers, their states, and the entry -----------===//
#ifndef INGOT_DIALECTS_LM_OPS_LAYERS_TD
#define INGOT_DIALECTS_LM_OPS_LAYERS_TD

include "dialects/lm/LmTypes.td"

def Lm_StateOp : Lm_Op<"state", [Symbol, HasParent<"ModelOp">]> {
  let summary = "what a layer keeps of each sequence from step to step";
  let description = [{
    ```mlir
    lm.state @kv.0 : #lm.paged<[k: 8x128, v: 8x128]>      // vectors of every position
    lm.state @conv.1 : #lm.fixed<[x: 2x1024 x f32]>       // replaced by each token
    ```
    A state belongs to the layer that passes it to its kind (lm.layers).

    What the numbers of a paged one are, `--kv` says for the device, unless the state says it itself, as does the argument of
    its kind: `lm.state @kv.0 : #lm.paged<[k: 8x128, v: 8x128]> of "int4"`, a row of runtime/formats/KvFormat.h. The
    interpreter keeps f32 in either.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Lm_StateLayout:$layout, OptionalAttr<StrAttr>:$element);
  let assemblyFormat = "$sym_name `:` $layout (`of` $element^)? attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Attribute":$layout), [{
    build($_builder, $_state, name, layout, /*element=*/::mlir::StringAttr());
  }]>];
  let hasVerifier = 1;
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
    weights. Each weight argument carries its role as the argument attribute `lm.role` ("attn_q"), and that of a state which
    says what its numbers are carries that as `lm.element` ("int4"). Returns the hidden state and the states as they are
    behind this step.
  }];
  let extraClassDeclaration = functionDeclaration # [{
    /// How many states it takes; they begin at argument 1, and the batch comes behind them.
    unsigned stateCount();
    /// The number of its first weight argument.
    unsigned firstWeight() { return stateCount() + 2; }
    ::llvm::ArrayRef<::mlir::Type> stateTypes() { return getArgumentTypes().slice(1, stateCount()); }
    /// What the numbers of its i-th state are; null: what --kv says.
    ::mlir::StringAttr elementOf(unsigned state);
    void setElement(unsigned state, ::mlir::StringAttr element);
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

#endif
