//===- List.cpp - ingot list: fetched models and cached engines ------------===//
#include "tools/files/Json.h"
#include "tools/hub/HubCache.h"
#include "tools/hub/Settings.h"
#include "tools/hub/WantedFiles.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/CachedEngines.h"
#include "tools/ingot/engines/EngineCache.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace ingot::cli {

namespace {

std::string timeText(std::time_t time, const char *pattern, bool utc) {
  std::tm parts = {};
  utc ? gmtime_r(&time, &parts) : localtime_r(&time, &parts);
  char text[40];
  return std::strftime(text, sizeof text, pattern, &parts) ? text : "";
}

std::time_t fetchedAt(const hub::FetchedModel &model) {
  return std::chrono::system_clock::to_time_t(model.fetched);
}

/// Returns the refs ("main, v1.0"), or the commit if no ref points to it.
std::string revisionsText(const hub::FetchedModel &model) {
  std::string text;
  for (const std::string &revision : model.revisions)
    text += (text.empty() ? "" : ", ") + revision;
  return text.empty() ? model.commit.substr(0, 12) : text;
}

using Row = std::vector<std::string>;

/// Formats rows as columns, separated by two blanks.
std::string tableText(const std::vector<Row> &rows) {
  std::vector<size_t> widths;
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const Row &row : rows) {
    text += " ";
    for (size_t i = 0; i < row.size(); ++i)
      text += " " + row[i] +
              (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 1, ' ') : "");
    text += "\n";
  }
  return text;
}

std::string listText(const std::string &hubFolder, const std::vector<hub::FetchedModel> &models,
                     const std::string &folder, const std::vector<CachedEngine> &engines,
                     const GeneratedCode &code) {
  std::vector<Row> rows;
  for (const hub::FetchedModel &model : models)
    rows.push_back({"hf:" + model.repository, revisionsText(model), hub::readableBytes(model.bytes),
                    timeText(fetchedAt(model), "%Y-%m-%d", false)});
  std::string text =
      "models in " + hubFolder + "\n" + (rows.empty() ? "  none\n" : tableText(rows));
  rows.clear();
  for (const CachedEngine &engine : engines)
    rows.push_back({engine.name,
                    engine.model.empty() ? "not readable by this ingot"
                                         : "of " + engine.model + ", " + engine.formats,
                    hub::readableBytes(engine.bytes),
                    "used " + timeText(engine.used, "%Y-%m-%d", false)});
  text += "engines in " + folder + "\n" + (rows.empty() ? "  none\n" : tableText(rows));
  if (code.files)
    text += "generated code: " + grouped(code.files) + (code.files == 1 ? " file, " : " files, ") +
            hub::readableBytes(code.bytes) + "\n";
  return text;
}

std::string listJson(const std::string &hubFolder, const std::vector<hub::FetchedModel> &models,
                     const std::string &folder, const std::vector<CachedEngine> &engines,
                     const GeneratedCode &code) {
  constexpr char kIso[] = "%Y-%m-%dT%H:%M:%SZ";
  std::string fetched, compiled;
  for (const hub::FetchedModel &model : models)
    fetched += (fetched.empty() ? "" : ",\n  ") +
               JsonObject()
                   .field("name", "hf:" + model.repository)
                   .field("commit", model.commit)
                   .field("revisions", model.revisions)
                   .field("files", model.files)
                   .field("bytes", model.bytes)
                   .field("fetched", timeText(fetchedAt(model), kIso, true))
                   .str();
  for (const CachedEngine &engine : engines)
    compiled +=
        (compiled.empty() ? "" : ",\n  ") + JsonObject()
                                                .field("name", engine.name)
                                                .field("model", engine.model)
                                                .field("formats", engine.formats)
                                                .field("bytes", engine.bytes)
                                                .field("used", timeText(engine.used, kIso, true))
                                                .str();
  return JsonObject()
             .field("models_folder", hubFolder)
             .raw("models", "[" + fetched + "]")
             .field("engines_folder", folder)
             .raw("engines", "[" + compiled + "]")
             .raw("code", JsonObject().field("files", code.files).field("bytes", code.bytes).str())
             .str() +
         "\n";
}

Result<int> list(const CompileOptions &compile, bool json) {
  auto settings = hub::Settings::fromEnvironment();
  if (!settings)
    return settings.error();
  const std::string folder = cacheFolder(compile);
  const auto models = hub::fetchedModels(settings->cache);
  const auto engines = cachedEngines(folder);
  const GeneratedCode code = generatedCode(folder);
  emit((json ? listJson : listText)(settings->cache.string(), models, folder, engines, code));
  return 0;
}

} // namespace

Action defineList(CommandLine &command) {
  auto compile = std::make_shared<CompileOptions>();
  auto json = std::make_shared<bool>(false);
  command.option("--cache", compile->cacheFolder,
                 "folder of compiled engines (default: ~/.cache/ingot)");
  command.flag("--json", *json, "the list as JSON");
  command.examples("  ingot list\n"
                   "  ingot rm hf:HuggingFaceTB/SmolLM2-135M-Instruct     removes one of them\n");
  return [=] { return list(*compile, *json); };
}

} // namespace ingot::cli
