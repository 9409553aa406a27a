//===- KernelTypes.td - Dialect, attributes and types of kernel -----------===//
// And what its ops are made of: the classes of ops, and operands that say what a launch does to them.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_KERNELTYPES_TD
#define INGOT_DIALECTS_KERNEL_KERNELTYPES_TD

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
  let summary = "a buffer of rows of n values: `!kernel.rows<576, f32>`, of q8 or of bf16";
  let parameters = (ins "int64_t":$n, EnumParameter<Kernel_RowKind>:$kind);
  let assemblyFormat = "`<` $n `,` $kind `>`";
  let extraClassDeclaration = "int64_t rowBytes() const;";
}
def Kernel_FlowType : TypeDef<Kernel_Dialect, "Flow"> {
  let mnemonic = "flow";
  let summary = "rows that never reach memory: `!kernel.flow<576, bf16>` is what a producer hands the kernel's anchor";
  let description = [{
    Values are of what rows of that kind would hold, to the bit. How many are at hand at a time is a variant's matter.
  }];
  let parameters = (ins "int64_t":$n, EnumParameter<Kernel_RowKind>:$kind);
  let assemblyFormat = "`<` $n `,` $kind `>`";
}
def Kernel_KvPoolType : TypeDef<Kernel_Dialect, "KvPool"> {
  let mnemonic = "kv_pool";
  let summary = "the paged KV pool of one layer slot: `!kernel.kv_pool<3, 64, bf16>`";
  let description = [{
    A page holds k[kvHeads][pageTokens][headDim] and v of the same shape. Elements of fp8 are codes of E4M3; behind all
    codes lie f32 scales, one for each vector: those of k[kvHeads][pageTokens], then of v. A value is code * scale, the
    scale being the vector's largest magnitude / 448 (1 for a vector that is all but zero). int8 is of CPUs alone and
    has scales in the same place; its codes lie as KernelAbi.h says.
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
    Slot i begins `i * slotBytes` bytes behind the base, with its streams as runtime/formats/FixedState.h says. What a
    step does is in the batch (Batch.h): for each sequence that has tokens, the slot of the version that it begins
    with, and the slots that versions behind some of its tokens go to, which may be the one it read.
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
def Kernel_RoutesType : TypeDef<Kernel_Dialect, "Routes"> {
  let mnemonic = "routes";
  let summary = "which rows go to which experts: `!kernel.routes<64, 8>`, 8 of 64 for each token";
  let description = "As runtime/abi/Routes.h says; it has so many bytes for each token.";
  let parameters = (ins "int64_t":$experts, "int64_t":$used);
  let assemblyFormat = "`<` $experts `,` $used `>`";
  let extraClassDeclaration = "int64_t bytesPerToken() const;";
}
def Kernel_Memory : AnyTypeOf<[Kernel_RowsType, Kernel_KvPoolType, Lm_WeightType]>;
/// Rows in memory, or of another op of the kernel.
def Kernel_RowsOrFlow : AnyTypeOf<[Kernel_RowsType, Kernel_FlowType]>;

/// `extent = #kernel.extent<rows>`
def Kernel_Extent : EnumAttr<Kernel_Dialect, Kernel_ExtentEnum, "extent"> {
  let assemblyFormat = "`<` $value `>`";
}
def Kernel_ScheduleAttr : AttrDef<Kernel_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how the main loop is cut: token tiles (falling), tokens kept in cache, prefetch distance in bytes";
  let parameters = (ins ArrayRefParameter<"int64_t">:$tokenTiles, "int64_t":$tokenBlock, "int64_t":$prefetch);
  let assemblyFormat = [{ `<` `tiles` `=` `[` $tokenTiles `]` `,` `block` `=` $tokenBlock `,` `prefetch` `=` $prefetch
                          `>` }];
}

def Kernel_CountsAttr : AttrDef<Kernel_Dialect, "Counts"> {
  let mnemonic = "counts";
  let summary = "how many tokens (or logits rows, as the launch counts) steps have that launch a kernel: `<2 to 8>`";
  let parameters = (ins "int64_t":$least, OptionalParameter<"std::optional<int64_t>">:$most);
  let assemblyFormat = "`<` $least (`to` $most^)? `>`";
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;
/// The op of a launch; `told`: what it says of itself, the rest being as the interface has it.
class Kernel_LaunchOp<string mnemonic, list<string> told = [], list<Trait> traits = []>
    : Kernel_Op<mnemonic, traits # [DeclareOpInterfaceMethods<Kernel_LaunchInterface, told>]>;

/// Operands say what a launch does to them.
class Kernel_Read<TypeConstraint type> : Arg<type, "", [MemRead]>;
class Kernel_Write<TypeConstraint type> : Arg<type, "", [MemWrite]>;
class Kernel_Update<TypeConstraint type> : Arg<type, "", [MemRead, MemWrite]>;

#endif
