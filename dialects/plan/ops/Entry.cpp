//===- Entry.cpp - Entry points of a program ------------------------------===//
#include "dialects/plan/ops/Entry.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

#define GET_OP_CLASSES
#include "dialects/plan/ops/Entry.cpp.inc"

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

/// Checks that a step passes everything that the launches of its section read.
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

/// Checks that the states and weights of a step have the types that the kernels of its section take.
static LogicalResult verifyTypes(StepOp step, SectionOp section,
                                 const llvm::DenseMap<Attribute, Operation *> &named) {
  auto module = step->getParentOfType<ModuleOp>();
  WalkResult walked = section.walk([&](LaunchOp launch) -> WalkResult {
    for (auto [i, operand] : llvm::enumerate(launch.getArgsAttr())) {
      auto ref = dyn_cast<StateRefAttr>(operand);
      auto layerWeight = dyn_cast<LayerWeightRefAttr>(operand);
      auto fn = (ref || layerWeight) && module
                    ? module.lookupSymbol<FunctionOpInterface>(launch.getKernel())
                    : FunctionOpInterface();
      if (!fn || i >= fn.getNumArguments())
        continue; // launch_c1, launch_c2
      if (layerWeight) {
        auto symbol = dyn_cast<FlatSymbolRefAttr>((*step.getWeights())[layerWeight.getIndex()]);
        auto weight = dyn_cast_or_null<WeightOp>(symbol ? named.lookup(symbol.getAttr()) : nullptr);
        if (!weight || weight.getType() != fn.getArgumentTypes()[i]) // step_c6
          return step.emitOpError("expects ") << (*step.getWeights())[layerWeight.getIndex()]
                                              << " to be of type " << fn.getArgumentTypes()[i];
        continue;
      }
      auto symbol = cast<FlatSymbolRefAttr>((*step.getStates())[ref.getIndex()]);
      auto state = cast<StateOp>(named.lookup(symbol.getAttr()));
      if (state.memoryType() != fn.getArgumentTypes()[i]) // step_c5
        return step.emitOpError("expects ")
               << symbol << " to be of type " << fn.getArgumentTypes()[i];
      const auto kept = int64_t(state.getWindow().value_or(0)); // pages beyond the window are freed
      for (Operation *user : fn.getArgument(unsigned(i)).getUsers())
        if (auto op = dyn_cast<kernel::AttentionOp>(user);
            op && kept && (op.getWindow() == 0 || int64_t(op.getWindow()) > kept)) // step_c7
          return step.emitOpError("expects ")
                 << symbol << " to keep what @" << launch.getKernel() << " reads, a window of "
                 << op.getWindow() << " (0: all), and not of " << kept;
    }
    return success();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult EntryOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  // A symbol look-up would walk all weights, once per layer.
  llvm::DenseMap<Attribute, Operation *> named;
  for (Operation &op : program.getBody().front())
    if (isa<SectionOp, BufferOp, StateOp, WeightOp>(op))
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
      if (failed(verifyStep(step, section, named)) || failed(verifyTypes(step, section, named)))
        return failure();
    } else { // entry_c1
      return op.emitOpError("is neither a step nor an output of ") << getSymNameAttr();
    }
  }
  ArrayRef<Mode> modes = getModes().getModes();
  llvm::SmallSet<Mode, 4> seen(modes.begin(), modes.end());
  if (seen.size() != modes.size() || !seen.contains(Mode::Logits) ||
      (seen.contains(Mode::Drawn) && !seen.contains(Mode::Greedy))) // entry_c2
    return emitOpError(
        "expects the mode logits, drawn only together with greedy, and no duplicates");
  return success();
}
