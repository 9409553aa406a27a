//===- LmTypes.td - Dialect, attributes and types of lm -------------------===//
#ifndef INGOT_DIALECTS_LM_LMTYPES_TD
#define INGOT_DIALECTS_LM_LMTYPES_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/lm/LmEnums.td"

def Lm_Dialect : Dialect {
  let name = "lm";
  let cppNamespace = "::ingot::lm";
  let summary = "what a transformer language model computes";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

def Lm_FormatAttr : AttrDef<Lm_Dialect, "Format"> {
  let mnemonic = "format";
  let summary = "numeric format of a weight, by its name in runtime/formats/NumericFormat.h";
  let parameters = (ins "::ingot::WeightFormat":$id);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    const ::ingot::NumericFormat &format() const { return ::ingot::numericFormat(getId()); }
  }];
}

/// No mnemonic: it is printed as part of #lm.rows.
def Lm_FactorsAttr : AttrDef<Lm_Dialect, "Factors"> {
  let attrName = "lm.factors";
  let summary = "numbers that rows or columns are multiplied by (runtime/formats/RowOrder.h)";
  let parameters = (ins "::mlir::StringAttr":$vector, "::mlir::FloatAttr":$offset, "int64_t":$first);
}

/// No mnemonic: it is printed as part of #lm.rows.
def Lm_PartAttr : AttrDef<Lm_Dialect, "Part"> {
  let attrName = "lm.part";
  let summary = "rows of one tensor of the checkpoint, in an order (runtime/formats/RowOrder.h)";
  let parameters = (ins "::mlir::StringAttr":$tensor, "int64_t":$matrix, "bool":$transposed, "int64_t":$first,
                        ArrayRefParameter<"int64_t", "count and stride of each loop">:$loops,
                        "::ingot::lm::FactorsAttr":$columnFactors, "::ingot::lm::FactorsAttr":$rowFactors);
  let builders = [AttrBuilder<(ins "const ::ingot::TensorRows &":$rows)>];
  let extraClassDeclaration = "::ingot::TensorRows rows() const;";
  let genVerifyDecl = 1;
}

def Lm_RowsAttr : AttrDef<Lm_Dialect, "Rows"> {
  let mnemonic = "rows";
  let summary = "where a weight's rows are in the checkpoint, if they are not one whole tensor";
  let description = [{
    The rows of the parts follow each other. `from` is the first row. The brackets hold loops of `count by stride`, the
    outermost first; a stride of 1 is omitted, and without brackets all rows to the end are used. `matrix` selects one
    matrix of a stack; without it, the matrices of a stack are stacked vertically.
    `transposed` takes the tensor's columns instead of its rows. `columns by` and `rows by` give the numbers by which
    each column or row is multiplied, as f32. `plus` is added to each number first, and `at` is the tensor's row that
    the first number belongs to. With these factors a norm is folded into the projection after it; the projection's
    weight must have a float format.
    ```mlir
    #lm.rows<"query_key_value.weight" from 64 [32 by 192, 64]>       // k of 32 heads of 64, packed as q, k, v
    #lm.rows<"ffn_gate_up_exps.weight" matrix 5 from 1 [1408 by 2]>  // every other row of the sixth expert
    #lm.rows<"q.weight", "k.weight">                                 // stacked vertically
    #lm.rows<"q.weight" columns by "input_layernorm.weight" plus 1.0> // Gemma's norm, folded
    ```
    This form is not used for one whole tensor: the `source` is then just the tensor's name.
  }];
  let parameters = (ins ArrayRefParameter<"::ingot::lm::PartAttr">:$parts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

/// The `source` of a weight, in lm and in plan; `rowsOf` reads both forms.
def Lm_SourceAttr : AnyAttrOf<[StrAttr, Lm_RowsAttr], "the name of a tensor, or #lm.rows">;

/// An enumeration that is printed as a keyword: `style = #lm.rope_style<half>`.
class Lm_Word<I32EnumAttr info, string mnemonic> : EnumAttr<Lm_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}
def Lm_RopeStyle : Lm_Word<Lm_RopeStyleEnum, "rope_style">;

def Lm_RouteScore : Lm_Word<Lm_RouteScoreEnum, "score">;
def Lm_RouteNorm : Lm_Word<Lm_RouteNormEnum, "normalize">;
def Lm_GroupScore : Lm_Word<Lm_GroupScoreEnum, "group_score">;

def Lm_WeightType : TypeDef<Lm_Dialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "a weight of a shape and numeric format, by reference: `!lm.weight<576x576, q4_1>`";
  let description = [{
    A type of three dimensions is a stack of matrices, one for each expert: `!lm.weight<64x1408x2048, q4_k>`. One vector
    for each expert is a stack with one column: `!lm.weight<64x1408x1, f32>`.

    After lowering, the type of a matrix also has its layout in the engine, which kernel-choose-layouts sets:
    `!lm.weight<576x576, q4_1, panel32>`. Vectors have none, since their layout is always the same (PanelLayout.h).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::ingot::WeightFormat":$format,
                        "::ingot::lm::WeightLayout":$layout);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::ingot::WeightFormat":$format), [{
    return $_get($_ctxt, shape, format, ::ingot::lm::WeightLayout::Open);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the type of the same weight in that layout.
    ::ingot::lm::WeightType in(::ingot::lm::WeightLayout layout) const {
      return get(getContext(), getShape(), getFormat(), layout);
    }
    const ::ingot::NumericFormat &numeric() const { return ::ingot::numericFormat(getFormat()); }
    bool isVector() const { return getShape().size() == 1; }
    bool isStack() const { return getShape().size() == 3; }
    /// A vector or a stack of vectors. No pass rounds these.
    bool isVectors() const { return isVector() || (isStack() && columns() == 1); }
    /// Returns the number of matrices, and of the rows and columns of each.
    int64_t matrices() const { return isStack() ? getShape().front() : 1; }
    int64_t rows() const { return getShape()[isStack() ? 1 : 0]; }
    int64_t columns() const { return getShape().back(); }
  }];
}

/// No mnemonic: it is printed as part of a state's layout.
def Lm_StreamAttr : AttrDef<Lm_Dialect, "Stream"> {
  let attrName = "lm.stream";
  let summary = "a stream of a state: `rows` vectors of `width` values";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$rows, "int64_t":$width);
  let extraClassDeclaration = "int64_t values() const { return getRows() * getWidth(); }";
  let genVerifyDecl = 1;
}

class Lm_LayoutAttr<string name, string mnemonic_> : AttrDef<Lm_Dialect, name> {
  let mnemonic = mnemonic_;
  let parameters = (ins ArrayRefParameter<"::ingot::lm::StreamAttr">:$streams);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def Lm_PagedAttr : Lm_LayoutAttr<"Paged", "paged"> {
  let summary = "a state that keeps vectors of every position: `#lm.paged<[k: 8x128, v: 8x128]>`";
  let description = [{
    `--kv` sets the numeric format of all paged states that have none of their own (lm.state, lm-select-kernels).
  }];
}
def Lm_FixedAttr : Lm_LayoutAttr<"Fixed", "fixed"> {
  let summary = "a state as large for one position as for a thousand: `#lm.fixed<[x: 2x1024 x f32]>`";
  let description = [{
    Each token replaces the state. The state of a new sequence is zero. Streams follow each other, and each is stored
    row by row (runtime/formats/FixedState.h).
  }];
  let extraClassDeclaration = [{
    /// Returns the size in bytes of one snapshot of the state.
    int64_t slotBytes() const;
    /// Returns the byte offset of a stream in a snapshot.
    int64_t offsetOf(size_t stream) const;
  }];
}
def Lm_StateLayout : AnyAttrOf<[Lm_PagedAttr, Lm_FixedAttr], "the layout of a state">;

def Lm_StateType : TypeDef<Lm_Dialect, "State"> {
  let mnemonic = "state";
  let summary = "what a layer keeps of each sequence: `!lm.state<#lm.fixed<[x: 2x1024 x f32]>>`";
  let parameters = (ins "::mlir::Attribute":$layout);
  let assemblyFormat = "`<` $layout `>`";
  let extraClassDeclaration = [{
    /// Returns the paged or fixed layout; null if the state is of the other kind.
    ::ingot::lm::PagedAttr paged() const { return ::llvm::dyn_cast<::ingot::lm::PagedAttr>(getLayout()); }
    ::ingot::lm::FixedAttr fixed() const { return ::llvm::dyn_cast<::ingot::lm::FixedAttr>(getLayout()); }
  }];
  let genVerifyDecl = 1;
}
def Lm_StatesType : TypeDef<Lm_Dialect, "States"> {
  let mnemonic = "states";
  let summary = "all states of the model, in the entry";
}

def Lm_RoutesType : TypeDef<Lm_Dialect, "Routes"> {
  let mnemonic = "routes";
  let summary = "which experts each token goes to, and with what weight: `!lm.routes<64, 8>`, 8 of 64";
  let parameters = (ins "int64_t":$experts, "int64_t":$used);
  let assemblyFormat = "`<` $experts `,` $used `>`";
  let genVerifyDecl = 1;
}

def Lm_BatchType : TypeDef<Lm_Dialect, "Batch"> {
  let mnemonic = "batch";
  let summary = "the ragged batch of a step: ids, positions, sequences, block tables, logits rows";
}

/// Rows in any encoding. The type's `encoding` attribute names the encoding (lm.cast); without it, rows are f32.
def Lm_Rows : RankedTensorOf<[F32]>;
def Lm_Activations : ConfinedType<Lm_Rows, [CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">],
                                  "rows of f32 in no other encoding">;
def Lm_Ids : RankedTensorOf<[I32]>;

class Lm_Op<string mnemonic, list<Trait> traits = []> : Op<Lm_Dialect, mnemonic, traits>;

#endif
