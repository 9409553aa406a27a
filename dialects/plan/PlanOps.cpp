//===- PlanOps.cpp - Verifiers of the plan dialect ------------------------===//
//
// Each check cites the constraint of SPEC.md that it enforces.
//===----------------------------------------------------------------------===//
#include "dialects/plan/PlanDialect.h"

#include "llvm/ADT/SmallSet.h"

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
#include "dialects/plan/PlanOps.cpp.inc"

LogicalResult BufferOp::verify() {
  if (getBytes() <= 0 || getBytes() % 64) // buffer_c1
    return emitOpError("expects a positive multiple of 64 bytes, got ") << getBytes();
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 64)) // buffer_c2
    return emitOpError("expects an offset that is a multiple of 64, got ") << *getOffset();
  return success();
}

Type StateOp::memoryType() {
  if (auto fixed = dyn_cast<lm::FixedAttr>(getLayout()))
    return kernel::FixedStateType::get(getContext(), fixed);
  auto streams = cast<lm::PagedAttr>(getLayout()).getStreams();
  std::optional<KvFormat> format = kvFormatNamed(getElement().value_or(""));
  if (!format || streams.size() != 2)
    return {};
  return kernel::KvPoolType::get(getContext(), streams[0].getRows(), streams[0].getWidth(),
                                 *format);
}

LogicalResult StateOp::verify() {
  const bool paged = isa<lm::PagedAttr>(getLayout());
  if (paged != bool(getElement()) || paged != bool(getWindow()) || !memoryType()) // state_c1
    return emitOpError("expects keys and values of a format and a window if it is paged, and "
                       "neither if it is fixed");
  auto pool = dyn_cast<kernel::KvPoolType>(memoryType());
  const int64_t bytes =
      pool ? pool.pageBytes() : cast<kernel::FixedStateType>(memoryType()).slotBytes();
  if (int64_t(getBytes()) != bytes) // state_c2
    return emitOpError("takes ") << bytes << " bytes, got " << getBytes();
  return success();
}

void ProgramOp::build(OpBuilder &b, OperationState &state, StringRef name, StringRef family,
                      int64_t vocab, int64_t hidden, int64_t maxPositions) {
  state.addAttribute(getSymNameAttrName(state.name), b.getStringAttr(name));
  state.addAttribute(getFamilyAttrName(state.name), b.getStringAttr(family));
  state.addAttribute(getVocabAttrName(state.name), b.getI64IntegerAttr(vocab));
  state.addAttribute(getHiddenAttrName(state.name), b.getI64IntegerAttr(hidden));
  state.addAttribute(getMaxPositionsAttrName(state.name), b.getI64IntegerAttr(maxPositions));
  state.addRegion();
}

EntryOp ProgramOp::generateEntry() {
  auto entries = getBody().getOps<EntryOp>();
  return entries.empty() ? EntryOp() : *entries.begin();
}

//===----------------------------------------------------------------------===//
// Sections and cases
//===----------------------------------------------------------------------===//

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
      return collect(one.getBody().front(), counts, launches); // the first that holds
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
    if (!isa<LaunchOp, WhenOp, CaseOp>(op) || isa<CaseOp>(op) != cases) // section_c1
      return op.emitOpError("stands beside cases: expects a section of launches, or of cases");
    auto one = dyn_cast<CaseOp>(op);
    const bool last = &op == &getBody().front().back();
    if (one && bool(one.getWhenAttr()) == last) // section_c2
      return one.emitOpError("expects a condition of every case but the last, which has none");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

OutputOp EntryOp::outputOf(OutputRole role) {
  for (OutputOp output : getBody().getOps<OutputOp>())
    if (output.getRole() == role)
      return output;
  return {};
}

bool EntryOp::hasMode(Mode mode) { return llvm::is_contained(getModes().getModes(), mode); }

void EntryOp::addMode(Mode mode) {
  SmallVector<Mode> modes(getModes().getModes());
  if (!hasMode(mode))
    modes.push_back(mode);
  setModesAttr(ModesAttr::get(getContext(), modes));
}

void EntryOp::addOutput(OutputRole role, Encoding encoding, FlatSymbolRefAttr buffer) {
  auto b = OpBuilder::atBlockEnd(&getBody().front());
  OutputOp::create(b, getLoc(), role, encoding, buffer.getValue());
}

/// A step brings what the launches of its section read.
static LogicalResult verifyStep(StepOp step, SectionOp section,
                                const llvm::DenseMap<Attribute, Operation *> &named) {
  if (!section) // step_c1
    return step.emitOpError("names no section: ") << step.getSectionAttr();
  ArrayAttr states = step.getStatesAttr();
  for (Attribute state : states ? states.getValue() : ArrayRef<Attribute>()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(state);
    if (!symbol || !isa_and_nonnull<StateOp>(named.lookup(symbol.getAttr()))) // step_c2
      return step.emitOpError("names no state: ") << state;
  }
  int64_t weights = step.getWeights() ? step.getWeights()->size() : 0;
  WalkResult walked = section.walk([&](LaunchOp launch) -> WalkResult {
    for (Attribute operand : launch.getArgsAttr()) {
      if (auto ref = dyn_cast<LayerWeightRefAttr>(operand);
          ref && ref.getIndex() >= weights) // step_c3
        return step.emitOpError("has ")
               << weights << " weights, but a launch of " << step.getSectionAttr()
               << " reads weight " << ref.getIndex();
      auto state = dyn_cast<StateRefAttr>(operand);
      if (state && state.getIndex() >= int64_t(states ? states.size() : 0)) // step_c4
        return step.emitOpError("has ")
               << (states ? states.size() : 0) << " states, but a launch of "
               << step.getSectionAttr() << " reads state " << state.getIndex();
    }
    return success();
  });
  return failure(walked.wasInterrupted());
}

/// The states of a step are of the types that the kernels of its section take.
static LogicalResult verifyStates(StepOp step, SectionOp section,
                                  const llvm::DenseMap<Attribute, Operation *> &named) {
  auto module = step->getParentOfType<ModuleOp>();
  WalkResult walked = section.walk([&](LaunchOp launch) -> WalkResult {
    for (auto [i, operand] : llvm::enumerate(launch.getArgsAttr())) {
      auto ref = dyn_cast<StateRefAttr>(operand);
      auto fn = ref && module ? module.lookupSymbol<kernel::FuncOp>(launch.getKernel())
                              : kernel::FuncOp();
      if (!fn || i >= fn.getNumArguments())
        continue; // launch_c1, launch_c2
      auto symbol = cast<FlatSymbolRefAttr>((*step.getStates())[ref.getIndex()]);
      auto state = cast<StateOp>(named.lookup(symbol.getAttr()));
      if (state.memoryType() != fn.getArgumentTypes()[i]) // step_c5
        return step.emitOpError("expects ")
               << symbol << " to be of type " << fn.getArgumentTypes()[i];
    }
    return success();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult EntryOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  // Look-ups would walk all weights, once per layer.
  llvm::DenseMap<Attribute, Operation *> named;
  for (Operation &op : program.getBody().front())
    if (isa<SectionOp, BufferOp, StateOp>(op))
      named[SymbolTable::getSymbolName(&op)] = &op;
  llvm::SmallSet<OutputRole, 8> roles;
  for (Operation &op : getBody().front()) {
    if (auto output = dyn_cast<OutputOp>(op)) {
      auto buffer = dyn_cast_or_null<BufferOp>(named.lookup(output.getBufferAttr().getAttr()));
      if (!buffer || buffer.getClassKind() != BufferClass::PerRow) // output_c1
        return output.emitOpError("expects a buffer of rows, got ") << output.getBufferAttr();
      if (!roles.insert(output.getRole()).second) // output_c2
        return output.emitOpError("is the second ") << stringifyOutputRole(output.getRole());
    } else if (auto step = dyn_cast<StepOp>(op)) {
      auto section = dyn_cast_or_null<SectionOp>(named.lookup(step.getSectionAttr().getAttr()));
      if (failed(verifyStep(step, section, named)) || failed(verifyStates(step, section, named)))
        return failure();
    } else { // entry_c1
      return op.emitOpError("is neither a step nor an output of ") << getSymNameAttr();
    }
  }
  ArrayRef<Mode> modes = getModes().getModes();
  llvm::SmallSet<Mode, 4> seen(modes.begin(), modes.end());
  if (seen.size() != modes.size() || !seen.contains(Mode::Logits) ||
      (seen.contains(Mode::Drawn) && !seen.contains(Mode::Greedy))) // entry_c2
    return emitOpError("expects the mode logits, drawn only beside greedy, and none twice");
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

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
