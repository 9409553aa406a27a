//===- Isa.cpp - See Isa.h ------------------------------------------------===//
#include "codegen/cpu/Isa.h"

using namespace ingot::codegen::cpu;

std::span<const Isa *const> ingot::codegen::cpu::allIsas() {
  static constexpr const Isa *all[] = {&kAvx2, &kAvxVnni, &kAvx512Vnni, &kAvx512, &kAmx};
  return all;
}

const Isa *ingot::codegen::cpu::isaNamed(std::string_view name) {
  for (const Isa *isa : allIsas())
    if (isa->name == name)
      return isa;
  return nullptr;
}
