//===- Explain.cpp - ingot explain ----------------------------------------===//
#include "tools/ingot/measure/Explain.h"
#include "tools/ingot/Command.h"
#include "tools/ingot/EngineOptions.h"

namespace ingot::cli {

Action defineExplain(CommandLine &command) {
  auto common = std::make_shared<CommonOptions>();
  auto options = std::make_shared<ExplainOptions>();
  command
      .option(
          "MODEL", options->model,
          "a checkpoint, whose shape is compiled, or hf:ORG/NAME; for an engine, only launches are "
          "shown, without reasons")
      .required();
  command.option("--tokens", options->tokens, "tokens of the step")
      .range(int64_t{1}, int64_t{1} << 20)
      .showDefault();
  command.option("--positions", options->positions, "positions up to the step's last token")
      .range(int64_t{1}, int64_t{1} << 40)
      .showDefault();
  common->define(command);
  for (const char *name : {"--trace", "--device", "--isa"}) // no engine runs
    command.remove(command.find(name));
  options->compile.define(command);
  command.remove(command.find("--weights"));
  command.remove(command.find("--weights-seed"));
  command.examples("  ingot explain smollm2.gguf\n"
                   "  ingot explain smollm2.gguf --tokens 512 --target cuda:sm_90a\n"
                   "  ingot explain smollm2.ingot --json\n");
  return [=]() -> Result<int> {
    options->threads = common->threads;
    options->json = common->json;
    options->quiet = common->quiet;
    return explain(*options);
  };
}

} // namespace ingot::cli
