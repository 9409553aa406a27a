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
