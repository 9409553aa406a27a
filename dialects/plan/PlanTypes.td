//===- PlanTypes.td - Dialect and attributes of plan ----------------------===//
#ifndef INGOT_DIALECTS_PLAN_PLANTYPES_TD
#define INGOT_DIALECTS_PLAN_PLANTYPES_TD

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
  let summary = "conditions that all hold in a step: `[mode = greedy, tokens <= 8]`, generic form `tokens at_most 8`";
  let parameters = (ins ArrayRefParameter<"::ingot::plan::Condition">:$conditions);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = "bool holds(const ::ingot::plan::StepCounts &counts) const;";
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

#endif
