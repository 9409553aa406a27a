//===- KernelTypes.td - Dialect, attributes and types of kernel -----------===//
// The file also has the base classes of the ops, and operand classes that declare how a launch accesses memory.
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

def Kernel_ActivationType : TypeDef<Kernel_Dialect, "Activation"> {
  let mnemonic = "activation";
  let summary = "an activation buffer, rows of n values: `!kernel.activation<576, f32>`, of q8 or of bf16";
  let parameters = (ins "int64_t":$n, EnumParameter<Kernel_RowKind>:$kind);
  let assemblyFormat = "`<` $n `,` $kind `>`";
  let extraClassDeclaration = "int64_t rowBytes() const;";
}
def Kernel_FusedType : TypeDef<Kernel_Dialect, "Fused"> {
  let mnemonic = "fused";
  let summary = "rows that never reach memory: `!kernel.fused<576, bf16>` is what a producer hands the kernel's anchor";
  let description = [{
    A fused value has, bit for bit, the values that rows of that kind would hold in memory. The kernel variant
    determines how many of the rows exist at a time.
  }];
  let parameters = (ins "int64_t":$n, EnumParameter<Kernel_RowKind>:$kind);
  let assemblyFormat = "`<` $n `,` $kind `>`";
}
def Kernel_KvPoolType : TypeDef<Kernel_Dialect, "KvPool"> {
  let mnemonic = "kv_pool";
  let summary = "the paged KV pool of one layer: `!kernel.kv_pool<3, 64, bf16>`";
  let description = [{
    A page holds k[kvHeads][pageTokens][headDim] and v of the same shape. In the format fp8, elements are E4M3 codes.
    After all codes of the page come f32 scales, one for each vector: first the scales of k[kvHeads][pageTokens], then
    those of v. A value is code * scale; the scale is the vector's largest magnitude / 448 (1 for a vector that is
    almost zero). The format int8 exists on CPUs only. Its scales are in the same place as those of fp8; KernelAbi.h
    describes the layout of its codes.
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
  let summary = "all snapshots of the fixed state of a layer: `!kernel.fixed_state<#lm.fixed<[x: 2x1024 x f32]>>`";
  let description = [{
    Slot i begins `i * slotBytes` bytes after the base; runtime/formats/FixedState.h describes its streams. The batch
    (Batch.h) lists the slots that a step uses: for each sequence with tokens, the slot of the snapshot that it starts
    from, and the slots for the snapshots after some of its tokens. One of the written slots may be the slot that the
    sequence reads.
  }];
  let parameters = (ins "::ingot::lm::FixedAttr":$layout);
  let assemblyFormat = "`<` qualified($layout) `>`";
  let extraClassDeclaration = "int64_t slotBytes() const { return getLayout().slotBytes(); }";
}
def Kernel_WorkspaceType : TypeDef<Kernel_Dialect, "Workspace"> {
  let mnemonic = "workspace";
  let summary = "bytes that belong to the program, all zero before its first step: `!kernel.workspace<4096>`";
  let description = [{
    Launches that use it never run at the same time, so kernels may share one workspace. Each kernel leaves it in the
    state that the next one expects.
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
}
def Kernel_RoutesType : TypeDef<Kernel_Dialect, "Routes"> {
  let mnemonic = "routes";
  let summary = "which rows go to which experts: `!kernel.routes<64, 8>`, 8 of 64 for each token";
  let description = "runtime/abi/Routes.h describes the layout and its size per token.";
  let parameters = (ins "int64_t":$experts, "int64_t":$used);
  let assemblyFormat = "`<` $experts `,` $used `>`";
  let extraClassDeclaration = "int64_t bytesPerToken() const;";
}
def Kernel_Memory : AnyTypeOf<[Kernel_ActivationType, Kernel_KvPoolType, Lm_WeightType]>;
/// Rows in memory, or a fused value of another op in the kernel.
def Kernel_ActivationOrFused : AnyTypeOf<[Kernel_ActivationType, Kernel_FusedType]>;

/// `extent = #kernel.extent<rows>`
def Kernel_Extent : EnumAttr<Kernel_Dialect, Kernel_ExtentEnum, "extent"> {
  let assemblyFormat = "`<` $value `>`";
}
def Kernel_ScheduleAttr : AttrDef<Kernel_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "tiling of the main loop: token tiles (descending), tokens kept in cache, prefetch distance in bytes";
  let parameters = (ins ArrayRefParameter<"int64_t">:$tokenTiles, "int64_t":$tokenBlock, "int64_t":$prefetch);
  let assemblyFormat = [{ `<` `tiles` `=` `[` $tokenTiles `]` `,` `block` `=` $tokenBlock `,` `prefetch` `=` $prefetch
                          `>` }];
}

def Kernel_CountsAttr : AttrDef<Kernel_Dialect, "Counts"> {
  let mnemonic = "counts";
  let summary = "the token counts (or logits row counts, for such launches) of steps that launch a kernel: `<2 to 8>`";
  let parameters = (ins "int64_t":$least, OptionalParameter<"std::optional<int64_t>">:$most);
  let assemblyFormat = "`<` $least (`to` $most^)? `>`";
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;
/// An op that can anchor a launch. `methods` lists the interface methods that it overrides; the others keep their
/// defaults.
class Kernel_LaunchOp<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : Kernel_Op<mnemonic, traits # [DeclareOpInterfaceMethods<Kernel_LaunchInterface, methods>]>;

/// Operand classes that declare how a launch accesses the operand.
class Kernel_Read<TypeConstraint type> : Arg<type, "", [MemRead]>;
class Kernel_Write<TypeConstraint type> : Arg<type, "", [MemWrite]>;
class Kernel_Update<TypeConstraint type> : Arg<type, "", [MemRead, MemWrite]>;

#endif
