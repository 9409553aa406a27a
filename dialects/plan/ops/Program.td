//===- Program.td - What a program has: weights, buffers, states ----------===//
#ifndef INGOT_DIALECTS_PLAN_OPS_PROGRAM_TD
#define INGOT_DIALECTS_PLAN_OPS_PROGRAM_TD

include "dialects/plan/PlanTypes.td"

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "all that a kind of device needs to compute the model";
  let description = [{
    `peak` and `lower_bound` are what pack-buffers reports, in bytes per token, per row and of the whole program: the
    arena's size and the least that any packing needs. `launches` and `bytes_per_step` are what count-traffic reports
    of a step of the first entry that leaves logits: its bytes are the first number, plus the second per token, plus
    the third per logits row. `decode_launches` are those of a step of one token, where they are others.
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
    /// The first entry, "generate"; null in a program without one.
    EntryOp generateEntry();
  }];
}

def Plan_WeightOp : Plan_Op<"weight", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a weight of the engine; as lm.weight";
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
  let summary = "what a layer keeps of all sequences; as lm.state";
  let description = [{
    ```mlir
    plan.state @kv.0 : #lm.paged<[k: 3x64, v: 3x64]> of "f16" window 0 bytes 24576    // of a page
    plan.state @conv.1 : #lm.fixed<[x: 2x1024 x f32]> bytes 8192                      // of a slot
    ```
    A paged one has its numeric format (runtime/formats/KvFormat.h) and how far back its readers look, 0 being all the
    way.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Lm_StateLayout:$layout, OptionalAttr<StrAttr>:$element,
                   OptionalAttr<I64Attr>:$window, I64Attr:$bytes);
  let assemblyFormat = "$sym_name `:` $layout (`of` $element^)? (`window` $window^)? `bytes` $bytes attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What a kernel sees of it; null: its element is of no format.
    ::mlir::Type memoryType();
  }];
}

#endif
