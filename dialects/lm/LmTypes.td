//===- LmTypes.td - Dialect, attributes and types of lm -------------------===//
#ifndef INGOT_DIALECTS_LM_LMTYPES_TD
#define INGOT_DIALECTS_LM_LMTYPES_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
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
def Lm_PartAttr : AttrDef<Lm_Dialect, "Part"> {
  let attrName = "lm.part";
  let summary = "rows of one tensor of the checkpoint, in an order (runtime/formats/RowOrder.h)";
  let parameters = (ins "::mlir::StringAttr":$tensor, "int64_t":$matrix, "int64_t":$first,
                        ArrayRefParameter<"int64_t", "count and stride of each loop">:$loops);
  let builders = [AttrBuilder<(ins "const ::ingot::TensorRows &":$rows)>];
  let extraClassDeclaration = "::ingot::TensorRows rows() const;";
  let genVerifyDecl = 1;
}

def Lm_RowsAttr : AttrDef<Lm_Dialect, "Rows"> {
  let mnemonic = "rows";
  let summary = "where a weight's rows stand in the checkpoint, if they are not one whole tensor";
  let description = [{
    Parts follow each other. `from` is the first row; the brackets hold loops of `count by stride`, the outermost
    first (a stride of 1 is left out; without brackets: all rows to the end); `matrix` picks one of a stack.
    ```mlir
    #lm.rows<"query_key_value.weight" from 64 [32 by 192, 64]>       // k of 32 heads of 64, packed as q, k, v
    #lm.rows<"ffn_gate_up_exps.weight" matrix 5 from 1 [1408 by 2]>  // every second row of the sixth expert
    #lm.rows<"q.weight", "k.weight">                                 // one below the other
    ```
    The whole of one tensor is not written so: its `source` is the name alone.
  }];
  let parameters = (ins ArrayRefParameter<"::ingot::lm::PartAttr">:$parts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

/// What `source` of a weight is, in lm and in plan; `rowsOf` reads both forms.
def Lm_SourceAttr : AnyAttrOf<[StrAttr, Lm_RowsAttr], "the name of a tensor, or #lm.rows">;

/// `style = #lm.rope_style<half>`
def Lm_RopeStyle : EnumAttr<Lm_Dialect, Lm_RopeStyleEnum, "rope_style"> {
  let assemblyFormat = "`<` $value `>`";
}

def Lm_WeightType : TypeDef<Lm_Dialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "a weight of a shape and numeric format, by reference: `!lm.weight<576x576, q4_1>`";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::ingot::WeightFormat":$format);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    const ::ingot::NumericFormat &numeric() const { return ::ingot::numericFormat(getFormat()); }
    bool isVector() const { return getShape().size() == 1; }
    int64_t rows() const { return getShape().front(); }
    int64_t columns() const { return getShape().back(); }
  }];
}

def Lm_KvType : TypeDef<Lm_Dialect, "Kv"> {
  let mnemonic = "kv";
  let summary = "the KV cache state: of one layer slot inside a layer kind, of all slots in the entry";
}

def Lm_BatchType : TypeDef<Lm_Dialect, "Batch"> {
  let mnemonic = "batch";
  let summary = "the ragged batch of a step: ids, positions, sequences, block tables, logits rows";
}

def Lm_Activations : RankedTensorOf<[F32]>;
def Lm_Ids : RankedTensorOf<[I32]>;

#endif
