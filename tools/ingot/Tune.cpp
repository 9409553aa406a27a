//===- Tune.cpp - ingot tune ----------------------------------------------===//
//
// Forwarded whole to the compiler library by main, as `compile` is; what is defined here is for
// `ingot completion` alone.
//===----------------------------------------------------------------------===//
#include "tools/ingot/Command.h"

namespace ingot::cli {

Action defineTune(CLI::App &app) {
  for (const char *flag :
       {"--isa", "--seconds", "--quantize", "--precision", "--weights", "-o", "-j"})
    app.add_option(flag);
  app.add_flag("--quiet");
  return nullptr;
}

} // namespace ingot::cli
