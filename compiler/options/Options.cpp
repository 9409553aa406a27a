//===- Options.cpp - See Options.h ----------------------------------------===//
#include "compiler/options/Options.h"

using namespace ingot;
using namespace ingot::compiler;

const char *compiler::weightOriginName(WeightOrigin origin) {
  return origin == WeightOrigin::Random ? "random" : origin == WeightOrigin::Seed ? "seed" : "";
}
