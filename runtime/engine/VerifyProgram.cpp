//===- VerifyProgram.cpp - Steps, sections, launches ----------------------===//
//
// A program is a list, so it has no cycles; what can be wrong is where its numbers
// point. Steps that share a section must also agree in what they bring along: the
// section's kernels were generated for those shapes, formats and KV layouts.
//===----------------------------------------------------------------------===//
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Memory.h"
#include "runtime/engine/Verify.h"
#include "runtime/formats/PanelLayout.h"

#include <algorithm>
#include <vector>

namespace ingot::runtime {
namespace {

using std::to_string;

class ProgramVerifier {
public:
  ProgramVerifier(const fb::Engine &engine, const std::string &name) : engine(engine), name(name) {}

  Result<void> verify() {
    for (auto part : {&ProgramVerifier::sections, &ProgramVerifier::steps, &ProgramVerifier::logits,
                      &ProgramVerifier::maxima, &ProgramVerifier::hidden, &ProgramVerifier::greedy})
      if (Result<void> ok = (this->*part)(); !ok)
        return ok;
    return {};
  }

private:
  /// What the launches of a section ask of the steps that run it.
  struct Needs {
    uint64_t layerWeights = 0;
    bool kv = false;
    const fb::Step *first = nullptr;
  };

  Error bad(const char *code, const std::string &why) const { return damaged(code, name, why); }

  Result<void> sections();
  Result<void> launch(const fb::Launch &launch, Needs &needs, const std::string &label);
  Result<void> steps();
  Result<void> step(const fb::Step &step, const std::string &label);
  Result<void> alike(const fb::Step &a, const fb::Step &b, const Needs &needs,
                     const std::string &label);
  Result<void> logits();
  Result<void> maxima();
  Result<void> hidden();
  bool runsOnGpu() const;
  Result<void> greedy();

  const fb::Engine &engine;
  const std::string &name;
  std::vector<Needs> needs; ///< per section
};

Result<void> ProgramVerifier::sections() {
  if (engine.sections()->size() == 0 || engine.steps()->size() == 0)
    return bad("E0358", "its program is empty");
  for (unsigned s = 0; s < engine.sections()->size(); ++s) {
    const fb::Section *section = engine.sections()->Get(s);
    if (section->launches()->size() == 0)
      return bad("E0358", "section " + to_string(s) + " of its program is empty");
    Needs &wanted = needs.emplace_back();
    for (unsigned l = 0; l < section->launches()->size(); ++l)
      if (Result<void> ok = launch(*section->launches()->Get(l), wanted,
                                   "launch " + to_string(l) + " of section " + to_string(s));
          !ok)
        return ok;
  }
  return {};
}

Result<void> ProgramVerifier::launch(const fb::Launch &launch, Needs &wanted,
                                     const std::string &label) {
  if (launch.kernel() >= engine.kernels()->size())
    return bad("E0359", label + ": kernel " + to_string(launch.kernel()) + " of " +
                            to_string(engine.kernels()->size()));
  unsigned args = launch.args() ? launch.args()->size() : 0;
  const fb::Kernel *kernel = engine.kernels()->Get(launch.kernel());
  if (args != kernel->args())
    return bad("E0360", label + ": " + to_string(args) + " operands, kernel '" +
                            kernel->name()->str() + "' takes " + to_string(kernel->args()));
  for (unsigned i = 0; i < args; ++i) {
    const fb::Arg *arg = launch.args()->Get(i);
    std::string operand = label + ", operand " + to_string(i) + ": ";
    switch (arg->kind()) {
    case fb::ArgKind::Buffer:
      if (arg->index() >= engine.buffers()->size())
        return bad("E0362", operand + "buffer " + to_string(arg->index()) + " of " +
                                to_string(engine.buffers()->size()));
      break;
    case fb::ArgKind::Weight:
      if (arg->index() >= engine.weights()->size())
        return bad("E0363", operand + "weight " + to_string(arg->index()) + " of " +
                                to_string(engine.weights()->size()));
      break;
    case fb::ArgKind::LayerWeight:
      wanted.layerWeights = std::max<uint64_t>(wanted.layerWeights, uint64_t(arg->index()) + 1);
      break;
    case fb::ArgKind::Kv:
      wanted.kv = true;
      break;
    default:
      return bad("E0361", operand + "kind " + to_string(int(arg->kind())) + " is unknown");
    }
  }
  return {};
}

Result<void> ProgramVerifier::steps() {
  for (unsigned i = 0; i < engine.steps()->size(); ++i)
    if (Result<void> ok = step(*engine.steps()->Get(i), "step " + to_string(i)); !ok)
      return ok;
  if (engine.launches_per_step() != launchesPerStep(engine))
    return bad("E0372", "its program has " + to_string(launchesPerStep(engine)) +
                            " launches, not " + to_string(engine.launches_per_step()));
  return {};
}

Result<void> ProgramVerifier::step(const fb::Step &step, const std::string &label) {
  if (step.section() >= engine.sections()->size())
    return bad("E0366", label + ": section " + to_string(step.section()) + " of " +
                            to_string(engine.sections()->size()));
  Needs &wanted = needs[step.section()];
  unsigned weights = step.weights() ? step.weights()->size() : 0;
  for (unsigned i = 0; i < weights; ++i)
    if (step.weights()->Get(i) >= engine.weights()->size())
      return bad("E0367", label + ": weight " + to_string(step.weights()->Get(i)) + " of " +
                              to_string(engine.weights()->size()));
  if (weights < wanted.layerWeights)
    return bad("E0364", label + " brings " + to_string(weights) + " weights, its section uses " +
                            to_string(wanted.layerWeights));
  if (step.kv_slot() < -1 || step.kv_slot() >= int64_t(engine.kv_slots()->size()))
    return bad("E0368", label + ": KV slot " + to_string(step.kv_slot()) + " of " +
                            to_string(engine.kv_slots()->size()));
  if (wanted.kv && step.kv_slot() < 0)
    return bad("E0365", label + " has no KV slot, its section uses one");
  if (step.layer() < -1 || step.layer() >= int64_t(engine.model()->layers()))
    return bad("E0369", label + ": layer " + to_string(step.layer()) + " of " +
                            to_string(engine.model()->layers()));
  if (wanted.first)
    return alike(*wanted.first, step, wanted, label);
  wanted.first = &step;
  return {};
}

Result<void> ProgramVerifier::alike(const fb::Step &a, const fb::Step &b, const Needs &wanted,
                                    const std::string &label) {
  for (unsigned i = 0; i < wanted.layerWeights; ++i) {
    const fb::Weight *x = engine.weights()->Get(a.weights()->Get(i));
    const fb::Weight *y = engine.weights()->Get(b.weights()->Get(i));
    if (x->layout() != y->layout() || x->size() != y->size() ||
        x->format()->string_view() != y->format()->string_view() ||
        !std::equal(x->shape()->begin(), x->shape()->end(), y->shape()->begin(), y->shape()->end()))
      return bad("E0370", label + ": weight '" + y->name()->str() + "' is not like '" +
                              x->name()->str() + "' of another step of its section");
  }
  if (wanted.kv) {
    const fb::KvSlot *x = engine.kv_slots()->Get(a.kv_slot());
    const fb::KvSlot *y = engine.kv_slots()->Get(b.kv_slot());
    if (x->kv_heads() != y->kv_heads() || x->head_dim() != y->head_dim() ||
        x->type() != y->type() || x->window() != y->window())
      return bad("E0371", label + ": its KV slot is not like that of another step of its section");
  }
  return {};
}

Result<void> ProgramVerifier::logits() {
  if (engine.logits_buffer() >= engine.buffers()->size())
    return bad("E0373", "its logits are in buffer " + to_string(engine.logits_buffer()) + " of " +
                            to_string(engine.buffers()->size()));
  const fb::Buffer *buffer = engine.buffers()->Get(engine.logits_buffer());
  uint64_t bytes = (uint64_t(engine.model()->vocab()) + 31) / 32 * 32 * 4;
  if (buffer->class_() != fb::BufferClass::PerRow || buffer->per_unit() != bytes)
    return bad("E0374", "its logits buffer has " + to_string(buffer->per_unit()) +
                            " bytes per unit, " + to_string(engine.model()->vocab()) +
                            " tokens make " + to_string(bytes) + " per row");
  return {};
}

/// Written beside the logits, by CPUs.
Result<void> ProgramVerifier::maxima() {
  int64_t maxima = engine.logit_maxima();
  if (maxima == -1)
    return {};
  uint64_t panels = (uint64_t(engine.model()->vocab()) + 31) / 32, bytes = (panels + 31) / 32 * 32 * 4;
  auto fits = [&](const fb::Buffer &buffer) {
    return buffer.class_() == fb::BufferClass::PerRow && buffer.per_unit() == bytes;
  };
  if (maxima < 0 || maxima >= int64_t(engine.buffers()->size()) || runsOnGpu() ||
      maxima == int64_t(engine.logits_buffer()) || maxima == engine.greedy_keys() ||
      !fits(*engine.buffers()->Get(unsigned(maxima))))
    return bad("E0814", "its maxima of logits are in buffer " + to_string(maxima) + ", which is not one of " +
                            to_string(bytes) + " bytes a row for them alone, or its code is for GPUs");
  return {};
}

Result<void> ProgramVerifier::hidden() {
  const int64_t hidden = engine.hidden_rows(), width = engine.model()->hidden();
  if (hidden == -1)
    return {};
  const uint64_t bytes = uint64_t(engine.hidden_planes() ? q8x2RowBytes(width) : f32RowBytes(width));
  auto fits = [&](const fb::Buffer &buffer) {
    return buffer.class_() == fb::BufferClass::PerRow && buffer.per_unit() >= bytes;
  };
  if (hidden < 0 || hidden >= int64_t(engine.buffers()->size()) || runsOnGpu() ||
      hidden == int64_t(engine.logits_buffer()) || !fits(*engine.buffers()->Get(unsigned(hidden))))
    return bad("E0815", "its hidden states are in buffer " + to_string(hidden) +
                            ", which is not one of " + to_string(bytes) +
                            " bytes a row or more, or its code is for GPUs");
  return {};
}

bool ProgramVerifier::runsOnGpu() const {
  return std::ranges::any_of(*engine.code(), [](const fb::CodeObject *code) {
    return gpuTargetNamed(code->target()->string_view()).has_value();
  });
}

/// CPUs read the keys when the step is over, GPUs have a section for it. Its launches have no step that could bring
/// weights or a KV slot.
Result<void> ProgramVerifier::greedy() {
  int64_t section = engine.greedy_section(), keys = engine.greedy_keys();
  auto holdsKeys = [](const fb::Buffer &buffer) {
    return buffer.class_() == fb::BufferClass::PerRow && buffer.per_unit() >= sizeof(uint64_t);
  };
  if (keys != -1 && (keys < 0 || keys == int64_t(engine.logits_buffer()) || (runsOnGpu() && section == -1) || keys >= int64_t(engine.buffers()->size()) ||
                     !holdsKeys(*engine.buffers()->Get(unsigned(keys)))))
    return bad("E0810", "its greedy keys are in buffer " + to_string(keys) +
                            ", which has no room for one in each row, or nobody reads them there");
  if (section == -1 && (engine.takes_earlier_ids() || engine.draw_section() != -1))
    return bad("E0810", "it takes ids of the step before or draws them, but finds no greedy ones");
  if (section == -1)
    return {};
  for (int64_t found : {section, int64_t(engine.draw_section())}) {
    if (found == -1)
      continue;
    if (found < 0 || found >= int64_t(engine.sections()->size()))
      return bad("E0810", "its ids come from section " + to_string(found) + " of " +
                              to_string(engine.sections()->size()));
    if (needs[size_t(found)].layerWeights || needs[size_t(found)].kv)
      return bad("E0810", "a section that finds ids uses what only a step has");
  }
  if (engine.greedy_ids() >= engine.buffers()->size() ||
      engine.buffers()->Get(engine.greedy_ids())->class_() != fb::BufferClass::PerRow)
    return bad("E0810", "its greedy ids are in buffer " + to_string(engine.greedy_ids()) +
                            ", which is none of rows");
  return {};
}

} // namespace

Result<void> verifyProgram(const fb::Engine &engine, const std::string &name) {
  return ProgramVerifier(engine, name).verify();
}

} // namespace ingot::runtime
