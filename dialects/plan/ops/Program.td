//===- Program.td - Programs: weights, buffers, states --------------------===//
#ifndef INGOT_DIALECTS_PLAN_OPS_PROGRAM_TD
#define INGOT_DIALECTS_PLAN_OPS_PROGRAM_TD

include "dialects/plan/PlanTypes.td"

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "everything that one kind of device needs to compute the model";
  let description = [{
    `peak` and `lower_bound` are set by pack-buffers: the size of the arena and the smallest size of any packing, in
    bytes per token, per row and for the whole program. `launches` and `bytes_per_step` are set by count-traffic, for a
    step of the first entry point in the mode logits. The bytes of a step are the first number of `bytes_per_step`,
    plus the second per token, plus the third per logits row. `decode_launches` is the number of launches of a step
    with one token, if that differs from `launches`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, I64Attr:$vocab, I64Attr:$hidden,
                   I64Attr:$max_positions, OptionalAttr<DenseI64ArrayAttr>:$peak,
                   OptionalAttr<DenseI64ArrayAttr>:$lower_bound,
                   OptionalAttr<I64Attr>:$launches, OptionalAttr<DenseI64ArrayAttr>:$bytes_per_step,
                   OptionalAttr<I64Attr>:$decode_launches);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$family, "int64_t":$vocab,
                                 "int64_t":$hidden, "int64_t":$maxPositions)>];
  let extraClassDeclaration = [{
    /// Returns the first entry point, "generate"; null if there is none.
    EntryOp generateEntry();
  }];
}

def Plan_WeightOp : Plan_Op<"weight", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a weight of the engine; see lm.weight";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Lm_WeightType>:$type, OptionalAttr<Lm_SourceAttr>:$source,
                   OptionalAttr<Lm_FormatAttr>:$stored, OptionalAttr<DenseF32ArrayAttr>:$values);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
}

def Plan_BufferOp : Plan_Op<"buffer", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "memory of `bytes` per unit of its class; `offset` within the arena of the class, in bytes per unit";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_BufferClass:$class_kind, I64Attr:$bytes,
                   OptionalAttr<I64Attr>:$offset, UnitAttr:$persistent);
  let assemblyFormat = "$sym_name $class_kind $bytes (`at` $offset^)? (`persistent` $persistent^)? attr-dict";
  let hasVerifier = 1;
}

def Plan_StateOp : Plan_Op<"state", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "the memory that a layer keeps for all sequences; see lm.state";
  let description = [{
    ```mlir
    plan.state @kv.0 : #lm.paged<[k: 3x64, v: 3x64]> of "f16" window 0 bytes 24576    // of a page
    plan.state @conv.1 : #lm.fixed<[x: 2x1024 x f32]> bytes 8192                      // of a slot
    ```
    A paged state has a numeric format (runtime/formats/KvFormat.h) and a window: the number of positions that its
    readers attend to, or 0 for all of them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Lm_StateLayout:$layout, OptionalAttr<StrAttr>:$element,
                   OptionalAttr<I64Attr>:$window, I64Attr:$bytes);
  let assemblyFormat = "$sym_name `:` $layout (`of` $element^)? (`window` $window^)? `bytes` $bytes attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the type of the state as a kernel operand; null if `element` names no format.
    ::mlir::Type memoryType();
  }];
}

#endif
