//===- Section.cpp - Sections, their cases and launches -------------------===//
#include "dialects/plan/ops/Section.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Program.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

#define GET_OP_CLASSES
#include "dialects/plan/ops/Section.cpp.inc"

SmallVector<Case> SectionOp::cases() {
  SmallVector<Case> all;
  for (CaseOp one : getBody().getOps<CaseOp>())
    all.push_back({one.getWhenAttr(), &one.getBody().front()});
  if (all.empty())
    all.push_back({WhenAttr(), &getBody().front()});
  return all;
}

Block &SectionOp::launchesIn(Mode mode) {
  SmallVector<Case> all = cases();
  return *llvm::find_if(all, [&](const Case &one) {
            return !one.when || one.when.holds(mode);
          })->block; // the last holds always
}

LogicalResult SectionOp::verify() {
  bool cases = !getBody().getOps<CaseOp>().empty();
  for (Operation &op : getBody().front()) {
    if (!isa<LaunchOp, CaseOp>(op) || isa<CaseOp>(op) != cases) // section_c1
      return op.emitOpError("stands beside cases: expects a section of launches, or of cases");
    auto one = dyn_cast<CaseOp>(op);
    const bool last = &op == &getBody().front().back();
    if (one && bool(one.getWhenAttr()) == last) // section_c2
      return one.emitOpError("expects a condition of every case but the last, which has none");
    if (one && one.getWhenAttr() && one.getWhenAttr().getConditions().empty()) // section_c3
      return one.emitOpError("expects at least one condition");
  }
  return success();
}

/// Bytes that the operand needs of each unit of a buffer; 0: it is no buffer.
static int64_t bufferBytes(Type type) {
  if (auto workspace = dyn_cast<kernel::WorkspaceType>(type))
    return workspace.getBytes();
  auto rows = dyn_cast<kernel::RowsType>(type);
  return rows ? rows.rowBytes() : 0;
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
    bool fits = isa<kernel::KvPoolType, kernel::FixedStateType>(type) ? isa<StateRefAttr>(operand)
                : bufferBytes(type) ? isa<BufferRefAttr>(operand)
                                    : isa<WeightRefAttr, LayerWeightRefAttr>(operand);
    if (!fits) // launch_c3
      return emitOpError("passes ") << operand << " for an operand of type " << type;
    if (auto ref = dyn_cast<BufferRefAttr>(operand)) {
      auto buffer = symbols.lookupSymbolIn<BufferOp>(program, ref.getSymbol());
      if (!buffer || int64_t(buffer.getBytes()) < bufferBytes(type)) // launch_c4
        return emitOpError("expects ")
               << ref << " to be a buffer of at least " << bufferBytes(type) << " bytes a row";
      if (isa<kernel::WorkspaceType>(type) !=
          (buffer.getClassKind() == BufferClass::Fixed)) // launch_c6
        return emitOpError("expects ") << ref << " to be of class fixed as a workspace, and "
                                       << "of tokens or rows as an operand of rows";
    }
    if (auto ref = dyn_cast<WeightRefAttr>(operand)) {
      auto weight = symbols.lookupSymbolIn<WeightOp>(program, ref.getSymbol());
      if (!weight || weight.getType() != type) // launch_c5
        return emitOpError("expects ") << ref << " to be a weight of type " << type;
    }
  }
  return success();
}
