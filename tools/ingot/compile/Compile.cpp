//===- Compile.cpp - ingot compile and ingot passes ------------------------===//
//
// main forwards `compile` with all its arguments to the compiler library. The options defined here
// serve only `ingot completion`; the compiler's own --help is the reference.
//===----------------------------------------------------------------------===//
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/EngineOptions.h"

namespace ingot::cli {

Action defineCompile(CommandLine &command) {
  for (const char *flag : {"--target",
                           "--quantize",
                           "--kv",
                           "--precision",
                           "--weights",
                           "--seed",
                           "--cache",
                           "--link",
                           "--recipe",
                           "--patterns",
                           "--plugin",
                           "--insert",
                           "--disable",
                           "--dump-after",
                           "--emit",
                           "--remarks",
                           "-o",
                           "-j",
                           "--chat-template",
                           "--chat-template-name",
                           "--ignore-key",
                           "--kernel",
                           "--write-recipe",
                           "--from",
                           "--to",
                           "--dump-intermediates",
                           "--remarks-file"})
    command.option(flag);
  for (const char *flag :
       {"--verify", "--quiet", "--verbose", "--json", "--batch-invariant", "--brief"})
    command.flag(flag);
  return nullptr;
}

Action definePasses(CommandLine &command) {
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "the passes as JSON");
  command.examples(
      "  ingot passes\n"
      "Passes marked (--disable) are optional: ingot compile MODEL --disable PASS -o E\n");
  return [json] {
    const char *const arguments[] = {"ingot", "passes", "--json"};
    return callCompiler(*json ? 3 : 2, arguments);
  };
}

} // namespace ingot::cli
