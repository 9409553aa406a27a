//===- Program.cpp - See Program.h ----------------------------------------===//
#include "runtime/engine/Program.h"

#include <algorithm>

namespace ingot::runtime {

DeviceKind deviceKind(const fb::Program &program) {
  return program.code()->size() != 0 &&
                 program.code()->Get(0)->target()->string_view().starts_with("cuda")
             ? DeviceKind::Cuda
             : DeviceKind::Cpu;
}

const fb::Program *programFor(const fb::Engine &engine, DeviceKind kind) {
  for (const fb::Program *program : *engine.programs())
    if (deviceKind(*program) == kind)
      return program;
  return nullptr;
}

const fb::Entry &generateEntry(const fb::Program &program) { return *program.entries()->Get(0); }

const fb::Output *outputOf(const fb::Entry &entry, fb::OutputRole role) {
  for (const fb::Output *output : *entry.outputs())
    if (output->role() == role)
      return output;
  return nullptr;
}

bool hasMode(const fb::Entry &entry, fb::Mode mode) {
  return std::ranges::find(*entry.modes(), mode) != entry.modes()->end();
}

const fb::Case &caseFor(const fb::Section &section, fb::Mode mode) {
  auto holds = [&](const fb::Condition *condition) { return condition->value() == uint64_t(mode); };
  for (const fb::Case *one : *section.cases())
    if (!one->when() || std::ranges::all_of(*one->when(), holds))
      return *one;
  return *section.cases()->Get(section.cases()->size() - 1); // it has no condition
}

uint8_t modesOf(const fb::Case &one, const fb::Section &section, const fb::Entry &entry) {
  uint8_t modes = 0;
  for (fb::Mode mode : *entry.modes())
    modes |= uint8_t((&caseFor(section, mode) == &one) << unsigned(mode));
  return modes;
}

std::vector<uint32_t> weightSegments(const fb::Program &program) {
  std::vector<uint32_t> segments;
  for (const fb::Weight *weight : *program.weights())
    if (weight->source() == fb::WeightSource::Stored)
      segments.push_back(weight->segment());
  std::sort(segments.begin(), segments.end());
  segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  return segments;
}

} // namespace ingot::runtime
