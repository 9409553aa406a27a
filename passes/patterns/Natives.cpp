//===- Natives.cpp - See Natives.h ----------------------------------------===//
#include "passes/patterns/Natives.h"

#include "dialects/lm/ops/Fused.h"
#include "passes/fusion/Regions.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;

SmallVector<patterns::Native> patterns::natives() {
  SmallVector<Native> all(constraints());
  llvm::append_range(all, regionNatives());
  llvm::append_range(all, weightNatives());
  llvm::append_range(all, scaleNatives());
  llvm::append_range(all, launchNatives());
  return all;
}

void patterns::registerNatives(PDLPatternModule &module, Run &run) {
  llvm::StringSet<> added; // a name has several entries if it accepts several kinds of arguments
  for (const Native &native : natives())
    if (added.insert(native.name()).second)
      native.addTo(module, native.name(), run);
}

/// Prints "attribute, value" for !pdl.attribute, !pdl.value.
static void printKinds(TypeRange types, llvm::raw_ostream &out) {
  llvm::interleaveComma(types, out, [&](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    StringRef kind(text);
    kind.consume_front("!pdl.");
    out << kind;
  });
}

std::string patterns::signatureOf(Operation *call) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto name = call->getAttrOfType<StringAttr>("name");
  out << (name ? name.getValue() : "") << "(";
  printKinds(call->getOperandTypes(), out);
  out << ")";
  if (call->getNumResults()) {
    out << " -> ";
    printKinds(call->getResultTypes(), out);
  }
  return text;
}

void patterns::Run::missed(Operation *op, StringRef name, const std::string &why) {
  if (isa_and_present<lm::FusedOp>(op->getParentOp()))
    return; // ops inside a fused op were not missed
  const std::string words = (name + ": " + why).str();
  if (firstMissed.empty())
    firstMissed = words;
  if (emitted[op].insert(words).second)
    remarkMissed(op, name, why);
}
