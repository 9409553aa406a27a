//===- Program.cpp - See Program.h ----------------------------------------===//
#include "runtime/engine/Program.h"

#include <algorithm>

namespace ingot::runtime {

DeviceKind deviceKind(const fb::Engine &program) {
  return program.code()->size() != 0 &&
                 program.code()->Get(0)->target()->string_view().starts_with("cuda")
             ? DeviceKind::Cuda
             : DeviceKind::Cpu;
}

std::vector<const fb::Engine *> programsOf(const fb::Engine &engine) {
  std::vector<const fb::Engine *> programs = {&engine};
  if (engine.programs())
    programs.insert(programs.end(), engine.programs()->begin(), engine.programs()->end());
  return programs;
}

const fb::Engine *programFor(const fb::Engine &engine, DeviceKind kind) {
  for (const fb::Engine *program : programsOf(engine))
    if (deviceKind(*program) == kind)
      return program;
  return nullptr;
}

std::vector<uint32_t> weightSegments(const fb::Engine &program) {
  std::vector<uint32_t> segments;
  for (const fb::Weight *weight : *program.weights())
    if (weight->source() == fb::WeightSource::Stored)
      segments.push_back(weight->segment());
  std::sort(segments.begin(), segments.end());
  segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  return segments;
}

} // namespace ingot::runtime
