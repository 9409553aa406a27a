//===- Natives.cpp - See Natives.h ----------------------------------------===//
#include "passes/patterns/Natives.h"

#include "dialects/lm/ops/Fused.h"
#include "passes/fusion/Regions.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
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

void patterns::registerNatives(PDLPatternModule &module) {
  llvm::StringSet<> added; // one function may accept several kinds of arguments
  for (const Native &native : natives())
    if (added.insert(native.name()).second)
      native.addTo(module, native.name());
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

//===----------------------------------------------------------------------===//
// State of a run
//===----------------------------------------------------------------------===//

static thread_local patterns::Run *latest = nullptr;
static thread_local bool nothingChanged = false;
static thread_local std::string firstFailure, missedFirst;
/// The reasons reported for each op during a run. If an erased op's address is reused, a reason may be
/// suppressed for the new op; this loses only a remark.
static thread_local llvm::DenseMap<Operation *, llvm::StringSet<>> emitted;

patterns::Run::Run(CompiledFor whom, Compositions *compositions)
    : outer(latest), own(std::move(whom)), composed(compositions) {
  if (!outer)
    missedFirst.clear();
  latest = this;
}
patterns::Run::~Run() {
  latest = outer;
  if (!latest)
    emitted.clear();
}
const patterns::CompiledFor &patterns::Run::whom() {
  static const CompiledFor nobody;
  return latest ? latest->own : nobody;
}
Compositions *patterns::Run::compositions() { return latest ? latest->composed : nullptr; }
void patterns::Run::leaveAsItWas() { nothingChanged = true; }
bool patterns::Run::leftAsItWas() { return std::exchange(nothingChanged, false); }
void patterns::Run::fail(const std::string &why) {
  if (firstFailure.empty())
    firstFailure = why;
}
std::string patterns::Run::failure() { return std::exchange(firstFailure, ""); }
const std::string &patterns::Run::firstMissed() { return missedFirst; }

void patterns::emitMissed(Operation *op, StringRef name, const std::string &why) {
  if (isa_and_present<lm::FusedOp>(op->getParentOp()))
    return; // ops inside a fused op were not missed
  const std::string words = (name + ": " + why).str();
  if (missedFirst.empty())
    missedFirst = words;
  if (emitted[op].insert(words).second)
    remarkMissed(op, name, why);
}
