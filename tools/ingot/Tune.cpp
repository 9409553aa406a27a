//===- Tune.cpp - ingot tune ----------------------------------------------===//
//
// Forwarded whole to the compiler library by main, as `compile` is; what is defined here is for
// `ingot completion` alone.
//===----------------------------------------------------------------------===//
#include "tools/ingot/Command.h"

namespace ingot::cli {

Action defineTune(CommandLine &command) {
  for (const char *flag :
       {"--isa", "--seconds", "--quantize", "--precision", "--weights", "-o", "-j"})
    command.option(flag);
  command.flag("--quiet");
  return nullptr;
}

} // namespace ingot::cli
