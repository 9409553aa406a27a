//===- Layers.td - Layer kinds, their states, and the entry point ---------===//
#ifndef INGOT_DIALECTS_LM_OPS_LAYERS_TD
#define INGOT_DIALECTS_LM_OPS_LAYERS_TD

include "dialects/lm/LmTypes.td"

def Lm_StateOp : Lm_Op<"state", [Symbol, HasParent<"ModelOp">]> {
  let summary = "the memory that a layer keeps for each sequence from step to step";
  let description = [{
    ```mlir
    lm.state @kv.0 : #lm.paged<[k: 8x128, v: 8x128]>      // vectors of every position
    lm.state @conv.1 : #lm.fixed<[x: 2x1024 x f32]>       // replaced by each token
    ```
    A state belongs to the layer that passes it to its kind (lm.layers).

    `--kv` selects the numeric format of all paged states of the device. A state may override it with `element`, a row
    of runtime/formats/KvFormat.h: `lm.state @kv.0 : #lm.paged<[k: 8x128, v: 8x128]> of "int4"`. The corresponding
    argument of its kind then has the same format. The interpreter stores f32 in either case.
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
  let summary = "one kind of layer; layers of a kind have the same structure, weight formats and window";
  let description = [{
    The arguments are the hidden state `tensor<?xHxf32>`, the layer's states (none, one or several), `!lm.batch`, then
    the weights. Each weight argument has its role as the argument attribute `lm.role` ("attn_q"). If a state has its
    own numeric format, its argument names the format in the attribute `lm.element` ("int4"). The results are the hidden
    state and the states after this step.
  }];
  let extraClassDeclaration = functionDeclaration # [{
    /// Returns the number of states. They begin at argument 1 and are followed by the batch.
    unsigned stateCount();
    /// Returns the index of its first weight argument.
    unsigned firstWeight() { return stateCount() + 2; }
    ::llvm::ArrayRef<::mlir::Type> stateTypes() { return getArgumentTypes().slice(1, stateCount()); }
    /// Returns the numeric format of a state; null if `--kv` determines it.
    ::mlir::StringAttr elementOf(unsigned state);
    void setElement(unsigned state, ::mlir::StringAttr element);
    ::llvm::ArrayRef<::mlir::Type> weightTypes() { return getArgumentTypes().drop_front(firstWeight()); }
  }];
}

def Lm_EntryOp : Lm_FunctionLike<"entry"> {
  let summary = "a step: token ids in, logits of the requested rows out";
  let description = [{
    The arguments are `tensor<?xi32>`, `!lm.states` and `!lm.batch`. The results are the logits `tensor<?xVxf32>` and
    `!lm.states`.
  }];
}

def Lm_ReturnOp : Lm_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["LayerKindOp", "EntryOp"]>]> {
  let summary = "ends a layer kind or the entry point";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let hasVerifier = 1;
}

def Lm_LayersOp : Lm_Op<"layers", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs layers in order, each with its kind, states and weights";
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
