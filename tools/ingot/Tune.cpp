//===- Tune.cpp - ingot tune ----------------------------------------------===//
//
// main forwards `tune` with all its arguments to the compiler library, as it does `compile`. The
// options defined here serve only `ingot completion`.
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
