//===- Isa.cpp - See Isa.h ------------------------------------------------===//
#include "codegen/cpu/Isa.h"

using namespace ingot::cpu;

const Isa *ingot::cpu::isaNamed(std::string_view name) {
  for (const Isa *isa : {&kAvx2, &kAvx512})
    if (isa->name == name)
      return isa;
  return nullptr;
}
