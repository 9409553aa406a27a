//===- Compile.cpp - ingot compile and ingot passes ------------------------===//
//
// Both are forwarded whole to the compiler library by main; what is defined here is
// for `ingot completion` alone. The compiler's own --help is the reference.
//===----------------------------------------------------------------------===//
#include "tools/ingot/Command.h"
#include "tools/ingot/CompilerLibrary.h"

namespace ingot::cli {

Action defineCompile(CLI::App &app) {
  for (const char *flag : {"--target", "--quantize", "--kv", "--precision", "--weights", "--seed",
                           "--cache", "--recipe", "--patterns", "--plugin", "--insert", "--disable",
                           "--dump-after", "--emit", "--remarks", "-o", "-j", "--chat-template"})
    app.add_option(flag);
  for (const char *flag : {"--verify", "--quiet", "--json", "--batch-invariant"})
    app.add_flag(flag);
  return nullptr;
}

Action definePasses(CLI::App &app) {
  app.add_flag("--json");
  return nullptr;
}

} // namespace ingot::cli
