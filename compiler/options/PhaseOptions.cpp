//===- PhaseOptions.cpp - See PhaseOptions.h ------------------------------===//
#include "compiler/options/PhaseOptions.h"
#include "runtime/error/Suggest.h"

#include <utility>

using namespace ingot;
using namespace ingot::compiler;

constexpr std::pair<const char *, Phase> kPhases[] = {
    {"lm", Phase::Lm}, {"fused", Phase::Fused}, {"kernel", Phase::Kernel}, {"plan", Phase::Plan}};

const char *compiler::phaseName(Phase phase) {
  for (auto [name, known] : kPhases)
    if (phase == known)
      return name;
  return "";
}

/// Returns the phase that is complete when this output is printed.
static Phase phaseOf(Emit emit) {
  switch (emit) {
  case Emit::Lm:
    return Phase::Lm;
  case Emit::Fused:
    return Phase::Fused;
  case Emit::Lowered:
    return Phase::Kernel;
  default:
    return Phase::Plan;
  }
}

/// Parses PHASE=FILE.
static Result<void> chooseFrom(const std::string &text, CompileOptions &o) {
  if (text.empty())
    return {};
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string> names;
  for (auto [known, phase] : kPhases) {
    names.push_back(known);
    if (name == known)
      o.from = phase;
  }
  if (o.from == Phase::Checkpoint || equals == std::string::npos || equals + 1 == text.size())
    return Error{ExitCode::Usage, "E0481", "--from expects PHASE=FILE, not '" + text + "'",
                 "phases are lm, fused, kernel and plan" +
                     (o.from == Phase::Checkpoint && !nearest(name, names).empty()
                          ? "; " + didYouMean(name, names)
                          : ""),
                 "--from fused=model.mlir"};
  o.fromFile = text.substr(equals + 1);
  return {};
}

Result<void> compiler::choosePhases(const PhaseWords &words, CompileOptions &o) {
  if (auto ok = chooseFrom(words.from, o); !ok)
    return ok;
  constexpr std::pair<const char *, Emit> kEmits[] = {
      {"lm", Emit::Lm},     {"fused", Emit::Fused}, {"kernel", Emit::Kernel}, {"plan", Emit::Plan},
      {"llvm", Emit::Llvm}, {"asm", Emit::Asm},     {"cuda", Emit::Cuda}};
  for (auto [name, kind] : kEmits)
    if (words.emit == name || words.to == name)
      o.emit = kind;
  if (words.to == "kernel")
    o.emit = Emit::Lowered;
  if ((o.emit == Emit::Cuda && o.gpuTargets.empty()) || (o.emit == Emit::Llvm && o.targets.empty()))
    return Error{ExitCode::Usage, "E0464", "--emit " + words.emit + " has nothing to print",
                 "no target of that kind was given",
                 o.emit == Emit::Cuda ? "--target cuda:sm_90a" : "--target cpu"};
  if (o.emit != Emit::Engine && phaseOf(o.emit) < o.from)
    return Error{ExitCode::Usage, "E0482",
                 std::string("--to ") + phaseName(phaseOf(o.emit)) + " is before --from " +
                     phaseName(o.from),
                 "the order of phases is: lm, fused, kernel, plan",
                 std::string("--to ") + phaseName(o.from) + ", or a later one"};
  if (o.verify && o.from > Phase::Lm)
    return Error{ExitCode::Usage, "E0412", "--verify cannot check the passes here",
                 std::string("--from ") + phaseName(o.from) + " skips the passes over lm",
                 "drop --verify, or start at lm"};
  return {};
}
