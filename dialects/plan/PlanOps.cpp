//===- PlanOps.cpp - Verifiers of the plan dialect ------------------------===//
//
// Each check cites the constraint of SPEC.md that it enforces.
//===----------------------------------------------------------------------===//
#include "dialects/plan/PlanDialect.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

LogicalResult BufferOp::verify() {
  if (getBytes() <= 0 || getBytes() % 64) // buffer_c1
    return emitOpError("expects a positive multiple of 64 bytes, got ") << getBytes();
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 64)) // buffer_c2
    return emitOpError("expects an offset that is a multiple of 64, got ") << *getOffset();
  return success();
}

LogicalResult ProgramOp::verify() {
  auto slots = getBody().getOps<KvSlotOp>();
  int64_t slotCount = std::distance(slots.begin(), slots.end());
  // A look-up would walk all weights, once per layer.
  llvm::DenseMap<Attribute, SectionOp> sections;
  for (SectionOp section : getBody().getOps<SectionOp>())
    sections[section.getSymNameAttr()] = section;
  for (StepOp step : getBody().getOps<StepOp>()) {
    SectionOp section = sections.lookup(step.getSectionAttr().getAttr());
    if (!section) // step_c1
      return step.emitOpError("names no section: ") << step.getSectionAttr();
    if (step.getKvSlot() &&
        (int64_t(*step.getKvSlot()) < 0 || int64_t(*step.getKvSlot()) >= slotCount)) // step_c2
      return step.emitOpError("expects a KV slot below ")
             << slotCount << ", got " << *step.getKvSlot();
    int64_t weights = step.getWeights() ? step.getWeights()->size() : 0;
    for (LaunchOp launch : section.getBody().getOps<LaunchOp>())
      for (Attribute operand : launch.getArgsAttr()) {
        if (auto ref = dyn_cast<LayerWeightRefAttr>(operand);
            ref && ref.getIndex() >= weights) // step_c3
          return step.emitOpError("has ")
                 << weights << " weights, but a launch of " << step.getSectionAttr()
                 << " reads weight " << ref.getIndex();
        if (isa<KvRefAttr>(operand) && !step.getKvSlot()) // step_c4
          return step.emitOpError("expects a KV slot: ")
                 << step.getSectionAttr() << " reads the KV pool";
      }
  }
  if (getLogits() && !isa_and_nonnull<BufferOp>(
                         mlir::SymbolTable::lookupSymbolIn(*this, getLogitsAttr()))) // program_c1
    return emitOpError("expects logits to name a buffer, got ") << getLogitsAttr();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto fn = module ? symbols.lookupSymbolIn<kernel::FuncOp>(module, getKernelAttr()) : nullptr;
  if (!fn) // launch_c1
    return emitOpError("names no kernel: ") << getKernelAttr();
  if (fn.getNumArguments() != getArgsAttr().size()) // launch_c2
    return emitOpError("passes ") << getArgsAttr().size() << " operands, " << getKernelAttr()
                                  << " takes " << fn.getNumArguments();
  auto program = (*this)->getParentOfType<ProgramOp>();
  for (auto [type, operand] : llvm::zip(fn.getArgumentTypes(), getArgsAttr())) {
    bool fits = isa<kernel::KvPoolType>(type) ? isa<KvRefAttr>(operand)
                : isa<kernel::RowsType>(type) ? isa<BufferRefAttr>(operand)
                                              : isa<WeightRefAttr, LayerWeightRefAttr>(operand);
    if (!fits) // launch_c3
      return emitOpError("passes ") << operand << " for an operand of type " << type;
    if (auto ref = dyn_cast<BufferRefAttr>(operand)) {
      auto buffer = symbols.lookupSymbolIn<BufferOp>(program, ref.getSymbol());
      if (!buffer ||
          int64_t(buffer.getBytes()) < cast<kernel::RowsType>(type).rowBytes()) // launch_c4
        return emitOpError("expects ") << ref << " to be a buffer of at least "
                                       << cast<kernel::RowsType>(type).rowBytes() << " bytes a row";
    }
    if (auto ref = dyn_cast<WeightRefAttr>(operand)) {
      auto weight = symbols.lookupSymbolIn<WeightOp>(program, ref.getSymbol());
      if (!weight || weight.getType() != type) // launch_c5
        return emitOpError("expects ") << ref << " to be a weight of type " << type;
    }
  }
  return success();
}
