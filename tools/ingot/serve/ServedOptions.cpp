//===- ServedOptions.cpp - See ServedOptions.h --------------------------------===//
#include "tools/ingot/serve/ServedOptions.h"

#include "tools/files/Files.h"
#include "tools/files/Json.h"

#include <filesystem>

namespace ingot::cli {

constexpr int64_t kDefaultSeqs = 32;
constexpr uint64_t kDefaultSwap = uint64_t(1) << 30;

void ServedOptions::define(CommandLine &command, const char *group) {
  Option file =
      command
          .option("--chat-template", chatTemplate, "a Jinja file instead of the engine's template")
          .group(group);
  command
      .option(
          "--chat-template-name", chatTemplateName,
          "which of the engine's templates to use for all requests (default: tool_use for requests "
          "with tools)")
      .typeName("NAME")
      .excludes(file)
      .group(group);
  command
      .option(
          "--default-chat-template-kwargs", templateVariables,
          "variables of the chat template, such as '{\"enable_thinking\": false}'; requests may "
          "override them")
      .typeName("JSON")
      .group(group);
  command
      .option("--tool-format", toolFormat,
              "how the model writes tool calls (default: from its chat template)")
      .group(group);
  command
      .option("--reasoning-format", reasoningFormat,
              "how the model marks reasoning; none: no reasoning")
      .group(group);
  command.option("--max-choices", rules.mostChoices, "maximum of answers per request (n)")
      .range(1, runtime::Session::kMostChoices)
      .showDefault()
      .group(group);
  command.option("--max-prompts", rules.mostPrompts, "maximum of prompts per request")
      .range(size_t{1}, size_t{1} << 16)
      .showDefault()
      .group(group);
  command
      .flag("--any-model-name", rules.anyName,
            "accept any model name in requests, if only one model is served")
      .group(group);
  command
      .flag("--trust-content", rules.trustContent,
            "treat control tokens in messages as control tokens (default: as text)")
      .group(group);
  command
      .flag("--trust-request-chat-template", rules.ownTemplates,
            "accept chat templates in requests")
      .group(group);
}

runtime::SessionOptions ServedOptions::defaults(runtime::SessionOptions session) {
  session.maxSeqs = kDefaultSeqs;
  session.swapBytes = kDefaultSwap;
  // Pages are allocated on demand, so not all sequences need to fit at full length.
  session.kvShare = 0.5;
  return session;
}

std::string fileStem(const std::string &path) {
  const std::filesystem::path given = std::filesystem::path(path).lexically_normal();
  return (given.has_filename() ? given : given.parent_path()).stem().string();
}

Result<std::shared_ptr<service::ServedModel>>
ServedOptions::open(EngineOptions engine, std::string name, runtime::SessionOptions session,
                    service::ServiceOptions service) const {
  auto path = engine.enginePath();
  if (!path)
    return path.error();
  auto opened = engine.open(*path, defaults(std::move(session)));
  if (!opened)
    return opened.error();
  service::ModelOptions model;
  model.name = std::move(name);
  model.alias = fileStem(engine.model);
  model.toolFormat = toolFormat;
  model.reasoningFormat = reasoningFormat;
  model.chatTemplateName = chatTemplateName;
  if (!templateVariables.empty())
    if (auto valid = checkJsonObject(templateVariables, "--default-chat-template-kwargs",
                                     "give an object, such as '{\"enable_thinking\": false}'");
        !valid)
      return valid.error();
  model.templateVariables = templateVariables;
  if (!chatTemplate.empty()) {
    auto text = readFile(chatTemplate);
    if (!text)
      return text.error();
    model.chatTemplate = std::move(*text);
  }
  model.rules = rules;
  model.service = std::move(service);
  return service::ServedModel::create(std::move(*opened), std::move(model));
}

} // namespace ingot::cli
