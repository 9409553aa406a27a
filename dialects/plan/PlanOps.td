//===- PlanOps.td - The plan dialect: when and where ----------------------===//
//
// A program is what the runtime executes, one to one with the engine's table
// (runtime/schema/engine.fbs): buffers with their sizes as coefficients, sections as
// flat launch lists in cases, and entries: the order in which sections run, and where
// results lie. No SSA values: operands of launches are attributes that name buffers,
// weights and states.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_PLAN_PLANOPS_TD
#define INGOT_DIALECTS_PLAN_PLANOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "dialects/lm/LmTypes.td"
include "dialects/plan/PlanEnums.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::ingot::plan";
  let summary = "when and where: buffers, launches, steps";
  let dependentDialects = ["::ingot::lm::LmDialect", "::ingot::kernel::KernelDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def Plan_BufferRef : AttrDef<Plan_Dialect, "BufferRef"> {
  let mnemonic = "buffer";
  let summary = "operand: a buffer of the arena, `#plan.buffer<@x>`";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$symbol);
  let assemblyFormat = "`<` $symbol `>`";
}
def Plan_WeightRef : AttrDef<Plan_Dialect, "WeightRef"> {
  let mnemonic = "weight";
  let summary = "operand: a weight of the model";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$symbol);
  let assemblyFormat = "`<` $symbol `>`";
}
def Plan_LayerWeightRef : AttrDef<Plan_Dialect, "LayerWeightRef"> {
  let mnemonic = "layer_weight";
  let summary = "operand: the n-th weight of the step that runs the section";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}
def Plan_StateRef : AttrDef<Plan_Dialect, "StateRef"> {
  let mnemonic = "state";
  let summary = "operand: the n-th state of the step that runs the section";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Plan_Modes : AttrDef<Plan_Dialect, "Modes"> {
  let mnemonic = "modes";
  let summary = "modes that steps may be run in: `[logits, greedy]`";
  let parameters = (ins ArrayRefParameter<"::ingot::plan::Mode">:$modes);
  let hasCustomAssemblyFormat = 1;
}
def Plan_When : AttrDef<Plan_Dialect, "When"> {
  let mnemonic = "when";
  let summary = "conditions that all hold in a step: `[mode = greedy, tokens <= 8]`; in the generic form `tokens at_most 8`";
  let parameters = (ins ArrayRefParameter<"::ingot::plan::Condition">:$conditions);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = "bool holds(const ::ingot::plan::StepCounts &counts) const;";
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "all that a kind of device needs to compute the model";
  let description = [{
    `peak` and `lower_bound` are what pack-buffers reports, in bytes per token, per row and of the whole program: the arena's
    size and the least that any packing needs. `launches` and `bytes_per_step` are what count-traffic reports of a step of the
    first entry that leaves logits: its bytes are the first number, plus the second per token, plus the third per logits row.
    `decode_launches` are those of a step of one token, where they are others.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, I64Attr:$vocab, I64Attr:$hidden, I64Attr:$max_positions,
                   OptionalAttr<DenseI64ArrayAttr>:$peak, OptionalAttr<DenseI64ArrayAttr>:$lower_bound,
                   OptionalAttr<I64Attr>:$launches, OptionalAttr<DenseI64ArrayAttr>:$bytes_per_step,
                   OptionalAttr<I64Attr>:$decode_launches);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$family, "int64_t":$vocab, "int64_t":$hidden,
                                 "int64_t":$maxPositions)>];
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
    A paged one has its numeric format (runtime/formats/KvFormat.h) and how far back its readers look, 0 being all the way.
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

def Plan_SectionOp : Plan_Op<"section", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "a straight list of launches, or cases of which a step runs the first that holds";
  let description = "Up to plan-expand-cases a list may have `plan.when` in it; `cases` is for straight lists alone.";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Its cases in order; a section without any is one that always runs.
    ::llvm::SmallVector<Case> cases();
    /// The launches of such a step, in order, whether cases stand expanded or not.
    ::llvm::SmallVector<LaunchOp> launchesIn(const StepCounts &counts);
  }];
}

def Plan_CaseOp : Plan_Op<"case", [HasParent<"SectionOp">, NoTerminator, SingleBlock]> {
  let summary = "a straight list of launches of steps where all of its conditions hold";
  let arguments = (ins OptionalAttr<Plan_When>:$when);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`when` custom<Conditions>($when)^)? attr-dict-with-keyword $body";
}

def Plan_WhenOp : Plan_Op<"when", [ParentOneOf<["SectionOp", "CaseOp", "WhenOp"]>, NoTerminator, SingleBlock]> {
  let summary = "launches of steps where all conditions hold, and those of others";
  let description = [{
    ```mlir
    plan.when [tokens <= 8] { plan.launch @qkv_append … } else { plan.launch @qkv … plan.launch @rope_append … }
    ```
    Passes nest them as they like; behind plan-expand-cases there are none. The launches of a condition on a count are right
    for every smaller count as well, and those of `else` for every count.
  }];
  let arguments = (ins Plan_When:$when);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$otherwise);
  let assemblyFormat = "custom<Conditions>($when) $body (`else` $otherwise^)? attr-dict";
}

def Plan_LaunchOp : Plan_Op<"launch", [ParentOneOf<["SectionOp", "CaseOp", "WhenOp"]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one kernel on its operands; `no_barrier`: the next launch need not wait for it";
  let arguments = (ins FlatSymbolRefAttr:$kernel, ArrayAttr:$args, UnitAttr:$no_barrier);
  let assemblyFormat = "$kernel $args (`no_barrier` $no_barrier^)? attr-dict";
}

def Plan_EntryOp : Plan_Op<"entry", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "what can be asked of the program: steps, run in order, and where they leave their results";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_Modes:$modes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `modes` $modes attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result of that role; null: there is none.
    OutputOp outputOf(OutputRole role);
    bool hasMode(Mode mode);
    void addMode(Mode mode);
    /// Appends a result.
    void addOutput(OutputRole role, Encoding encoding, ::mlir::FlatSymbolRefAttr buffer);
  }];
}

def Plan_StepOp : Plan_Op<"step", [HasParent<"EntryOp">]> {
  let summary = "runs a section with the weights and the states of a layer";
  let arguments = (ins FlatSymbolRefAttr:$section, OptionalAttr<ArrayAttr>:$weights, OptionalAttr<ArrayAttr>:$states,
                   OptionalAttr<I64Attr>:$layer);
  let assemblyFormat = "$section (`layer` $layer^)? (`states` $states^)? (`weights` $weights^)? attr-dict";
}

def Plan_OutputOp : Plan_Op<"output", [HasParent<"EntryOp">]> {
  let summary = "a result of the entry and the buffer of rows where it lies";
  let arguments = (ins Plan_OutputRole:$role, Plan_Encoding:$encoding, FlatSymbolRefAttr:$buffer);
  let assemblyFormat = "$role $encoding $buffer attr-dict";
}

#endif
