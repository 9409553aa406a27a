//===- VerifyProgram.cpp - Checks sections, steps and outputs ---------------===//
//
// A program is a list, so it has no cycles, and most checks are of indices. Steps that share a section
// must also agree in the shapes and formats of the weights and states that they provide, since the
// section's kernels were generated for these.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Memory.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/Verify.h"
#include "runtime/formats/PanelLayout.h"

#include <algorithm>
#include <set>
#include <vector>

namespace ingot::runtime {
namespace {

using std::to_string;

class ProgramVerifier {
public:
  ProgramVerifier(const fb::Program &program, const fb::Engine &engine, const std::string &name)
      : program(program), model(*engine.model()), name(name),
        onGpu(deviceKind(program) == DeviceKind::Cuda) {}

  Result<void> verify() {
    if (Result<void> ok = sections(); !ok)
      return ok;
    return entries();
  }

private:
  /// Describes what the launches of a section require of the steps that run it.
  struct Needs {
    uint64_t layerWeights = 0, states = 0;
    const fb::Step *first = nullptr;
  };

  Error bad(const char *code, const std::string &why) const { return damaged(code, name, why); }

  Result<void> sections();
  Result<void> cases(const fb::Section &section, Needs &needs, const std::string &label);
  Result<void> condition(const fb::Condition &condition, const std::string &label);
  Result<void> launch(const fb::Launch &launch, Needs &needs, const std::string &label);
  Result<void> entries();
  Result<void> modes(const fb::Entry &entry);
  Result<void> step(const fb::Step &step, const std::string &label);
  Result<void> alike(const fb::Step &a, const fb::Step &b, const Needs &needs,
                     const std::string &label);
  Result<void> outputs(const fb::Entry &entry);
  Result<void> logits(const fb::Output *output);
  Result<void> maxima(const fb::Output *output);
  Result<void> hidden(const fb::Output *output);
  Result<void> keys(const fb::Output *output, const fb::Entry &entry);
  Result<void> ids(const fb::Output *output, const fb::Entry &entry);

  const fb::Buffer *rowsOf(const fb::Output &output) const {
    const fb::Buffer *buffer = program.buffers()->Get(output.buffer());
    return buffer->class_() == fb::BufferClass::PerRow ? buffer : nullptr;
  }

  const fb::Program &program;
  const fb::Model &model;
  const std::string &name;
  bool onGpu;
  std::vector<Needs> needs; ///< per section
};

Result<void> ProgramVerifier::sections() {
  if (program.sections()->size() == 0)
    return bad("E0358", "its program is empty");
  // A step on a CPU has one bit for each of these specialisations (device/cpu/StepLoop.h).
  uint64_t several = 0;
  for (const fb::Section *section : *program.sections())
    several += section->cases()->size() > 1 ? section->cases()->size() : 0;
  if (!onGpu && several > kMostCpuCases)
    return bad("E0818", "sections with several cases have " + to_string(several) + " cases");
  for (unsigned s = 0; s < program.sections()->size(); ++s)
    if (Result<void> ok =
            cases(*program.sections()->Get(s), needs.emplace_back(), " of section " + to_string(s));
        !ok)
      return ok;
  return {};
}

/// Every specialisation except the last must have a condition; the last must have none.
Result<void> ProgramVerifier::cases(const fb::Section &section, Needs &wanted,
                                    const std::string &label) {
  constexpr unsigned kMostCases = 64;
  const unsigned count = section.cases()->size();
  if (count == 0 || count > kMostCases)
    return bad("E0358", to_string(count) + " cases" + label);
  bool empty = true;
  for (unsigned c = 0; c < count; ++c) {
    const fb::Case &one = *section.cases()->Get(c);
    const unsigned conditions = one.when() ? one.when()->size() : 0;
    if ((conditions == 0) != (c + 1 == count))
      return bad("E0818", "case " + to_string(c) + label + " has " + to_string(conditions) +
                              " conditions: only the last case may have none");
    for (unsigned i = 0; i < conditions; ++i)
      if (Result<void> ok = condition(*one.when()->Get(i), "case " + to_string(c) + label); !ok)
        return ok;
    empty &= one.launches()->size() == 0;
    for (unsigned l = 0; l < one.launches()->size(); ++l)
      if (Result<void> ok = launch(*one.launches()->Get(l), wanted,
                                   "launch " + to_string(l) + " of case " + to_string(c) + label);
          !ok)
        return ok;
  }
  return empty ? Result<void>(bad("E0358", "no launch" + label)) : Result<void>();
}

/// The condition must be a known mode, or a bound that some step can satisfy.
Result<void> ProgramVerifier::condition(const fb::Condition &condition, const std::string &label) {
  if (condition.quantity() > fb::Quantity::MAX)
    return bad("E0818", label + ": a condition of kind " + to_string(int(condition.quantity())) +
                            " is unknown");
  const bool ofMode = condition.quantity() == fb::Quantity::Mode;
  if (ofMode ? condition.value() > uint64_t(fb::Mode::MAX) : condition.value() == 0)
    return bad("E0818", label + ": no step has a " + (ofMode ? "mode " : "count of at most ") +
                            to_string(condition.value()));
  return {};
}

Result<void> ProgramVerifier::launch(const fb::Launch &launch, Needs &wanted,
                                     const std::string &label) {
  if (launch.kernel() >= program.kernels()->size())
    return bad("E0359", label + ": kernel " + to_string(launch.kernel()) + " of " +
                            to_string(program.kernels()->size()));
  unsigned args = launch.args() ? launch.args()->size() : 0;
  const fb::Kernel *kernel = program.kernels()->Get(launch.kernel());
  if (args != kernel->args())
    return bad("E0360", label + ": " + to_string(args) + " operands, kernel '" +
                            kernel->name()->str() + "' takes " + to_string(kernel->args()));
  for (unsigned i = 0; i < args; ++i) {
    const fb::Arg *arg = launch.args()->Get(i);
    std::string operand = label + ", operand " + to_string(i) + ": ";
    switch (arg->kind()) {
    case fb::ArgKind::Buffer:
      if (arg->index() >= program.buffers()->size())
        return bad("E0362", operand + "buffer " + to_string(arg->index()) + " of " +
                                to_string(program.buffers()->size()));
      break;
    case fb::ArgKind::Weight:
      if (arg->index() >= program.weights()->size())
        return bad("E0363", operand + "weight " + to_string(arg->index()) + " of " +
                                to_string(program.weights()->size()));
      break;
    case fb::ArgKind::LayerWeight:
      wanted.layerWeights = std::max<uint64_t>(wanted.layerWeights, uint64_t(arg->index()) + 1);
      break;
    case fb::ArgKind::State:
      wanted.states = std::max<uint64_t>(wanted.states, uint64_t(arg->index()) + 1);
      break;
    default:
      return bad("E0361", operand + "kind " + to_string(int(arg->kind())) + " is unknown");
    }
  }
  return {};
}

Result<void> ProgramVerifier::entries() {
  constexpr unsigned kMostEntries = 64;
  if (program.entries()->size() == 0 || program.entries()->size() > kMostEntries ||
      program.entries()->Get(0)->name()->string_view() != "generate")
    return bad("E0819",
               "its first entry of " + to_string(program.entries()->size()) + " is not 'generate'");
  for (const fb::Entry *entry : *program.entries()) {
    if (entry->steps()->size() == 0)
      return bad("E0358", "its entry '" + entry->name()->str() + "' is empty");
    for (unsigned i = 0; i < entry->steps()->size(); ++i)
      if (Result<void> ok = step(*entry->steps()->Get(i), "step " + to_string(i)); !ok)
        return ok;
    if (entry->launches() != launchesOf(*entry, program))
      return bad("E0372", "its program has " + to_string(launchesOf(*entry, program)) +
                              " launches, not " + to_string(entry->launches()));
    for (auto part : {&ProgramVerifier::modes, &ProgramVerifier::outputs})
      if (Result<void> ok = (this->*part)(*entry); !ok)
        return ok;
  }
  return {};
}

Result<void> ProgramVerifier::modes(const fb::Entry &entry) {
  unsigned seen = 0;
  for (fb::Mode mode : *entry.modes()) {
    if (mode > fb::Mode::MAX || (seen >> unsigned(mode) & 1))
      return bad("E0819", "its entry '" + entry.name()->str() + "' has the mode " +
                              to_string(int(mode)) + ", which is unknown or a duplicate");
    seen |= 1u << unsigned(mode);
  }
  // A mode that samples may need a row's largest logit.
  if (!(seen & 1u << unsigned(fb::Mode::Logits)) ||
      (seen & 1u << unsigned(fb::Mode::Drawn) && !(seen & 1u << unsigned(fb::Mode::Greedy))))
    return bad("E0819", "its entry '" + entry.name()->str() +
                            "' outputs no logits, or samples ids but finds no greedy ids");
  return {};
}

Result<void> ProgramVerifier::step(const fb::Step &step, const std::string &label) {
  if (step.section() >= program.sections()->size())
    return bad("E0366", label + ": section " + to_string(step.section()) + " of " +
                            to_string(program.sections()->size()));
  Needs &wanted = needs[step.section()];
  const unsigned weights = step.weights() ? step.weights()->size() : 0;
  const unsigned states = step.states() ? step.states()->size() : 0;
  for (unsigned i = 0; i < weights; ++i)
    if (step.weights()->Get(i) >= program.weights()->size())
      return bad("E0367", label + ": weight " + to_string(step.weights()->Get(i)) + " of " +
                              to_string(program.weights()->size()));
  if (weights < wanted.layerWeights)
    return bad("E0364", label + " provides " + to_string(weights) + " weights, its section uses " +
                            to_string(wanted.layerWeights));
  for (unsigned i = 0; i < states; ++i)
    if (step.states()->Get(i) >= program.states()->size())
      return bad("E0368", label + ": state " + to_string(step.states()->Get(i)) + " of " +
                              to_string(program.states()->size()));
  if (states < wanted.states)
    return bad("E0365", label + " provides " + to_string(states) + " states, its section uses " +
                            to_string(wanted.states));
  if (step.layer() < -1 || step.layer() >= int64_t(model.layers()))
    return bad("E0369",
               label + ": layer " + to_string(step.layer()) + " of " + to_string(model.layers()));
  if (wanted.first)
    return alike(*wanted.first, step, wanted, label);
  wanted.first = &step;
  return {};
}

static bool areAlike(const fb::State &a, const fb::State &b) {
  auto same = [](const fb::Stream *x, const fb::Stream *y) {
    return x->heads() == y->heads() && x->width() == y->width() &&
           x->format()->string_view() == y->format()->string_view();
  };
  return a.kind() == b.kind() && a.window() == b.window() &&
         std::equal(a.streams()->begin(), a.streams()->end(), b.streams()->begin(),
                    b.streams()->end(), same);
}

Result<void> ProgramVerifier::alike(const fb::Step &a, const fb::Step &b, const Needs &wanted,
                                    const std::string &label) {
  for (unsigned i = 0; i < wanted.layerWeights; ++i) {
    const fb::Weight *x = program.weights()->Get(a.weights()->Get(i));
    const fb::Weight *y = program.weights()->Get(b.weights()->Get(i));
    if (x->layout() != y->layout() || x->size() != y->size() ||
        x->format()->string_view() != y->format()->string_view() ||
        !std::equal(x->shape()->begin(), x->shape()->end(), y->shape()->begin(), y->shape()->end()))
      return bad("E0370", label + ": weight '" + y->name()->str() + "' differs from '" +
                              x->name()->str() + "' of another step of its section");
  }
  for (unsigned i = 0; i < wanted.states; ++i) {
    const fb::State *x = program.states()->Get(a.states()->Get(i));
    const fb::State *y = program.states()->Get(b.states()->Get(i));
    if (!areAlike(*x, *y))
      return bad("E0371", label + ": state '" + y->name()->str() + "' differs from '" +
                              x->name()->str() + "' of another step of its section");
  }
  return {};
}

Result<void> ProgramVerifier::outputs(const fb::Entry &entry) {
  unsigned seen = 0;
  std::set<uint32_t> buffers;
  for (const fb::Output *output : *entry.outputs()) {
    const std::string label = "its output " + to_string(int(output->role()));
    if (output->role() > fb::OutputRole::MAX || output->encoding() > fb::Encoding::MAX ||
        (seen >> unsigned(output->role()) & 1))
      return bad("E0820", label + " is unknown or a duplicate");
    seen |= 1u << unsigned(output->role());
    if (output->buffer() >= program.buffers()->size())
      return bad(output->role() == fb::OutputRole::Logits ? "E0373" : "E0820",
                 label + " is in buffer " + to_string(output->buffer()) + " of " +
                     to_string(program.buffers()->size()));
    if (!buffers.insert(output->buffer()).second)
      return bad("E0820",
                 label + " shares buffer " + to_string(output->buffer()) + " with another");
  }
  auto outputOfRole = [&](fb::OutputRole role) { return outputOf(entry, role); };
  if (Result<void> ok = logits(outputOfRole(fb::OutputRole::Logits)); !ok)
    return ok;
  if (Result<void> ok = maxima(outputOfRole(fb::OutputRole::Maxima)); !ok)
    return ok;
  if (Result<void> ok = hidden(outputOfRole(fb::OutputRole::Hidden)); !ok)
    return ok;
  if (Result<void> ok = keys(outputOfRole(fb::OutputRole::Keys), entry); !ok)
    return ok;
  return ids(outputOfRole(fb::OutputRole::Ids), entry);
}

Result<void> ProgramVerifier::logits(const fb::Output *output) {
  if (!output)
    return bad("E0373", "it outputs no logits");
  const uint64_t bytes = (uint64_t(model.vocab()) + 31) / 32 * 32 * 4;
  const fb::Buffer *rows = rowsOf(*output);
  if (output->encoding() != fb::Encoding::F32 || !rows || rows->per_unit() != bytes)
    return bad("E0374", "its logits are in a buffer of " +
                            to_string(program.buffers()->Get(output->buffer())->per_unit()) +
                            " bytes per unit, " + to_string(model.vocab()) + " tokens need " +
                            to_string(bytes) + " per row");
  return {};
}

/// Only CPUs write maxima, next to the logits.
Result<void> ProgramVerifier::maxima(const fb::Output *output) {
  if (!output)
    return {};
  const uint64_t panels = (uint64_t(model.vocab()) + 31) / 32, bytes = (panels + 31) / 32 * 32 * 4;
  const fb::Buffer *rows = rowsOf(*output);
  if (onGpu)
    return bad("E0814", "it outputs maxima of logits, which only programs for CPUs do");
  if (output->encoding() != fb::Encoding::F32 || !rows || rows->per_unit() != bytes)
    return bad("E0814", "its maxima of logits are in buffer " + to_string(output->buffer()) +
                            ", which is not one of " + to_string(bytes) + " bytes of f32 per row");
  return {};
}

Result<void> ProgramVerifier::hidden(const fb::Output *output) {
  if (!output)
    return {};
  const int64_t width = model.hidden();
  const bool planes = output->encoding() == fb::Encoding::Q8x2;
  const uint64_t bytes = uint64_t(planes ? q8x2RowBytes(width) : f32RowBytes(width));
  const fb::Buffer *rows = rowsOf(*output);
  if (onGpu)
    return bad("E0815", "it outputs hidden states, which only programs for CPUs do");
  if (!rows || rows->per_unit() < bytes || (!planes && output->encoding() != fb::Encoding::F32))
    return bad("E0815", "its hidden states are in buffer " + to_string(output->buffer()) +
                            ", which is not one of at least " + to_string(bytes) +
                            " bytes of f32 or q8x2 per row");
  return {};
}

/// CPUs read the keys at the end of a greedy step; GPUs have launches that do so.
Result<void> ProgramVerifier::keys(const fb::Output *output, const fb::Entry &entry) {
  const bool greedy = hasMode(entry, fb::Mode::Greedy);
  if (greedy && !output && !onGpu)
    return bad("E0810", "it has the mode greedy but no keys");
  if (!output)
    return {};
  const fb::Buffer *rows = rowsOf(*output);
  if (!greedy || output->encoding() != fb::Encoding::Key || !rows ||
      rows->per_unit() < sizeof(uint64_t))
    return bad("E0810", "its greedy keys are in buffer " + to_string(output->buffer()) +
                            ", which is too small for one key per row or is never read");
  return {};
}

Result<void> ProgramVerifier::ids(const fb::Output *output, const fb::Entry &entry) {
  const bool found = onGpu && hasMode(entry, fb::Mode::Greedy);
  if (found != (output != nullptr) || (!onGpu && hasMode(entry, fb::Mode::Drawn)))
    return bad("E0810",
               "only programs for GPUs have an output for greedy ids, and they must have one");
  if (!output)
    return {};
  const fb::Buffer *rows = rowsOf(*output);
  if (output->encoding() != fb::Encoding::I32 || !rows || rows->per_unit() < sizeof(int32_t))
    return bad("E0810", "its ids are in buffer " + to_string(output->buffer()) +
                            ", which is not a buffer of rows");
  return {};
}

} // namespace

Result<void> verifyProgram(const fb::Program &program, const fb::Engine &engine,
                           const std::string &name) {
  return ProgramVerifier(program, engine, name).verify();
}

} // namespace ingot::runtime
