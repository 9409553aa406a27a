//===- Section.cpp - Sections, their cases and launches -------------------===//
#include "dialects/plan/ops/Section.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Program.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

// custom<Conditions>
static ParseResult parseConditions(OpAsmParser &parser, WhenAttr &when) {
  when = cast_if_present<WhenAttr>(WhenAttr::parse(parser, {}));
  return success(bool(when));
}
static void printConditions(OpAsmPrinter &printer, Operation *, WhenAttr when) {
  plan::printWhen(printer, when);
}

#define GET_OP_CLASSES
#include "dialects/plan/ops/Section.cpp.inc"

SmallVector<Case> SectionOp::cases() {
  assert(getBody().getOps<WhenOp>().empty() && "plan-expand-cases has run");
  SmallVector<Case> all;
  for (CaseOp one : getBody().getOps<CaseOp>())
    all.push_back({one.getWhenAttr(), &one.getBody().front()});
  if (all.empty())
    all.push_back({WhenAttr(), &getBody().front()});
  return all;
}

static void collect(Block &block, const StepCounts &counts, SmallVectorImpl<LaunchOp> &launches) {
  for (Operation &op : block) {
    if (auto launch = dyn_cast<LaunchOp>(op))
      launches.push_back(launch);
    if (auto one = dyn_cast<CaseOp>(op); one && (!one.getWhen() || one.getWhen()->holds(counts)))
      return collect(one.getBody().front(), counts, launches); // the first case that holds
    if (auto when = dyn_cast<WhenOp>(op)) {
      Region &taken = when.getWhen().holds(counts) ? when.getBody() : when.getOtherwise();
      if (!taken.empty())
        collect(taken.front(), counts, launches);
    }
  }
}

SmallVector<LaunchOp> SectionOp::launchesIn(const StepCounts &counts) {
  SmallVector<LaunchOp> launches;
  collect(getBody().front(), counts, launches);
  return launches;
}

LogicalResult SectionOp::verify() {
  bool cases = !getBody().getOps<CaseOp>().empty();
  for (Operation &op : getBody().front()) {
    if (!isa<LaunchOp, DispatchOp, WhenOp, CaseOp>(op) || isa<CaseOp>(op) != cases) // section_c1
      return op.emitOpError("is next to cases: expects a section of either launches or cases");
    auto one = dyn_cast<CaseOp>(op);
    const bool last = &op == &getBody().front().back();
    if (one && bool(one.getWhenAttr()) == last) // section_c2
      return one.emitOpError("expects a condition of every case but the last, which has none");
  }
  return success();
}

LogicalResult DispatchOp::verify() {
  if (getBody().getNumArguments() != getArgs().size()) // dispatch_c1
    return emitOpError("passes ") << getArgs().size() << " operands, its region takes "
                                  << getBody().getNumArguments();
  for (BlockArgument argument : getBody().getArguments())
    if (argument.use_empty()) // dispatch_c2
      return emitOpError("passes operand ") << argument.getArgNumber() << ", which is not used";
  return success();
}

/// Returns the number of bytes that the operand needs per unit of a buffer; 0 if the operand is not a buffer.
static int64_t bufferBytes(Type type) {
  if (auto workspace = dyn_cast<kernel::WorkspaceType>(type))
    return workspace.getBytes();
  if (auto routes = dyn_cast<kernel::RoutesType>(type))
    return routes.bytesPerToken();
  auto rows = dyn_cast<kernel::ActivationType>(type);
  return rows ? rows.rowBytes() : 0;
}

static kernel::FuncOp kernelOf(LaunchOp launch) {
  auto module = launch->getParentOfType<ModuleOp>();
  return module.lookupSymbol<kernel::FuncOp>(launch.getKernelAttr().getAttr());
}
SmallVector<kernel::OperandEffect> LaunchOp::operandEffects() {
  return kernelOf(*this).operandEffects();
}
Operation *LaunchOp::anchor() { return kernelOf(*this).anchor(); }

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
