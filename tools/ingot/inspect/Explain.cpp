//===- Explain.cpp - ingot explain ----------------------------------------===//
#include "runtime/error/Codes.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/inspect/ExplainModel.h"
#include "tools/terminal/Console.h"

#include <cctype>

namespace ingot::cli {

namespace {

const char *nameOf(ExitCode exit) {
  switch (exit) {
  case ExitCode::Success:
    return "success";
  case ExitCode::Usage:
    return "wrong usage";
  case ExitCode::File:
    return "a file, or this machine";
  case ExitCode::Device:
    return "the device or the server";
  case ExitCode::Internal:
    return "a bug, or an incomplete installation";
  }
  return "";
}

constexpr size_t kColumns = 80;

/// Prints the row of an error code. Errors: E0103.
Result<int> explainCode(std::string code, bool json) {
  code[0] = char(std::toupper(static_cast<unsigned char>(code[0])));
  const errors::Entry *entry = errors::find(code);
  if (!entry) {
    std::string near;
    for (std::string_view one : errors::nearestCodes(code))
      near += (near.empty() ? "" : " and ") + std::string(one);
    return Error{ExitCode::Usage, "E0103", "there is no error code " + code,
                 "the nearest are " + near, "docs/errors.md lists all codes"};
  }
  const int exit = int(entry->exit);
  if (json) {
    emit(JsonObject()
             .field("code", entry->code)
             .field("exit", exit)
             .field("title", entry->title)
             .field("cause", entry->cause)
             .field("remedy", entry->remedy)
             .str() +
         "\n");
    return 0;
  }
  emit(std::string(entry->code) + ": " + std::string(entry->title) + "\n\n" +
       errors::inLines(entry->cause, kColumns) + "\n" + errors::inLines(entry->remedy, kColumns) +
       "\nExit code " + std::to_string(exit) + ": " + nameOf(entry->exit) + ".\n");
  return 0;
}

} // namespace

Action defineExplain(CommandLine &command) {
  auto common = std::make_shared<CommonOptions>();
  auto options = std::make_shared<ExplainOptions>();
  command
      .option(
          "MODEL", options->model,
          "a checkpoint, whose shape is compiled, or hf:ORG/NAME; for an engine, only launches are "
          "shown, without reasons; a word such as E0505 is the code of an error")
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
                   "  ingot explain smollm2.ingot --json\n"
                   "  ingot explain E0505\n");
  return [=]() -> Result<int> {
    options->threads = common->threads;
    options->json = common->json;
    options->quiet = common->quiet;
    if (errors::isCode(options->model))
      return explainCode(options->model, options->json);
    return explain(*options);
  };
}

} // namespace ingot::cli
