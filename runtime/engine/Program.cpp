//===- Program.cpp - See Program.h ----------------------------------------===//
#include "runtime/engine/Program.h"

#include <algorithm>
#include <cassert>

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

const fb::Entry &generateEntry(const fb::Program &program) {
  assert(program.entries()->size() != 0 && "the table was not verified");
  return *program.entries()->Get(0);
}

const fb::Output *outputOf(const fb::Entry &entry, fb::OutputRole role) {
  for (const fb::Output *output : *entry.outputs())
    if (output->role() == role)
      return output;
  return nullptr;
}

bool hasMode(const fb::Entry &entry, fb::Mode mode) {
  return std::ranges::find(*entry.modes(), mode) != entry.modes()->end();
}

uint32_t weightIndex(const fb::Arg &arg, const fb::Step &step) {
  return arg.kind() == fb::ArgKind::LayerWeight ? step.weights()->Get(arg.index()) : arg.index();
}

static bool holds(const fb::Condition &condition, const StepCounts &counts) {
  switch (condition.quantity()) {
  case fb::Quantity::Mode:
    return condition.value() == uint64_t(counts.mode);
  case fb::Quantity::Tokens:
    return counts.tokens <= condition.value();
  case fb::Quantity::Rows:
    return counts.rows <= condition.value();
  case fb::Quantity::TileTokens:
    break;
  }
  return counts.tileTokens <= condition.value();
}

const fb::Case &caseFor(const fb::Section &section, const StepCounts &counts) {
  assert(section.cases()->size() != 0 && "the table was not verified");
  for (const fb::Case *one : *section.cases())
    if (!one->when() || std::ranges::all_of(*one->when(), [&](const fb::Condition *condition) {
          return holds(*condition, counts);
        }))
      return *one;
  return *section.cases()->Get(section.cases()->size() - 1); // the last one has no condition
}

std::string conditionText(const fb::Case &one) {
  std::string text;
  for (unsigned i = 0; one.when() && i < one.when()->size(); ++i) {
    const fb::Condition &condition = *one.when()->Get(i);
    const char *counted = condition.quantity() == fb::Quantity::Tokens ? " tokens"
                          : condition.quantity() == fb::Quantity::Rows
                              ? " logits rows"
                              : " tokens an attention tile";
    text += text.empty() ? "" : ", ";
    text += condition.quantity() == fb::Quantity::Mode
                ? std::string("in the mode ") + fb::EnumNameMode(fb::Mode(condition.value()))
                : "with at most " + std::to_string(condition.value()) + counted;
  }
  return text;
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

uint64_t storedWeightBytes(const fb::Engine &engine, const fb::Program &program) {
  uint64_t bytes = 0;
  for (uint32_t segment : weightSegments(program))
    bytes += engine.segments()->Get(segment)->size();
  return bytes;
}

} // namespace ingot::runtime
