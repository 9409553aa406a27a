//===- Remove.cpp - ingot rm: removes fetched models and engines -----------===//
//
// All names are checked before anything is removed. Nothing outside the two caches is touched: an engine is
// named only by its file name, and tools/hub/Removal.h removes models.
//===----------------------------------------------------------------------===//
#include "tools/hub/Removal.h"
#include "tools/hub/Settings.h"
#include "tools/hub/WantedFiles.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/CachedEngines.h"
#include "tools/ingot/engines/EngineCache.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <iostream>
#include <unistd.h>

namespace ingot::cli {

namespace {

namespace fs = std::filesystem;

struct RemoveOptions {
  std::vector<std::string> names;
  CompileOptions compile; ///< for its cache folder
  bool allEngines = false, yes = false, dryRun = false;
};

/// One model or engine to remove.
struct Doomed {
  std::string name;
  hub::Removal removal;
};

Result<Doomed> doomedModel(const std::string &name) {
  auto reference = hub::parseReference(name);
  if (!reference)
    return reference.error();
  auto settings = hub::Settings::fromEnvironment();
  if (!settings)
    return settings.error();
  auto removal = hub::planRemoval(settings->cache, *reference);
  if (!removal)
    return removal.error();
  return Doomed{name, std::move(*removal)};
}

Doomed doomed(const fs::path &folder, const CachedEngine &engine) {
  return {engine.name, {{folder / (engine.name + ".ingot")}, engine.bytes}};
}

Result<std::vector<Doomed>> allDoomed(const RemoveOptions &options) {
  const fs::path folder = cacheFolder(options.compile);
  const auto engines = cachedEngines(folder);
  std::vector<Doomed> all;
  if (options.allEngines) {
    for (const CachedEngine &engine : engines)
      all.push_back(doomed(folder, engine));
    if (const GeneratedCode code = generatedCode(folder); code.files)
      all.push_back({"generated code", {{folder / "code"}, code.bytes}});
  }
  for (const std::string &name : options.names) {
    if (hub::isReference(name)) {
      auto model = doomedModel(name);
      if (!model)
        return model.error();
      all.push_back(std::move(*model));
      continue;
    }
    auto isNamed = [&](const CachedEngine &engine) {
      return name == engine.name || name == engine.name + ".ingot";
    };
    const auto found = std::ranges::find_if(engines, isNamed);
    if (found == engines.end())
      return Error{ExitCode::File, "E0162", "there is no engine " + name + " in the cache",
                   "searched " + folder.string() + "; remove files elsewhere yourself",
                   "ingot list shows the names; names of models begin with hf:"};
    all.push_back(doomed(folder, *found));
  }
  return all;
}

bool agreed(const std::string &question) {
  std::fputs((question + " [y/N] ").c_str(), stderr);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<int> remove(const RemoveOptions &options) {
  if (options.names.empty() && !options.allEngines)
    return Error{ExitCode::Usage, "E0182", "there is nothing to remove", "no name was given",
                 "ingot rm NAME…, with a name that ingot list shows"};
  auto all = allDoomed(options);
  if (!all)
    return all.error();
  uint64_t bytes = 0;
  for (const Doomed &one : *all) {
    bytes += one.removal.bytes;
    note((options.dryRun ? "would remove " : "to be removed: ") + one.name + " (" +
         hub::readableBytes(one.removal.bytes) + ")");
    if (options.dryRun)
      for (const fs::path &path : one.removal.paths)
        emit(path.string() + "\n");
  }
  if (options.dryRun || all->empty())
    return 0;
  if (!options.yes && !isTerminal(STDIN_FILENO))
    return Error{ExitCode::Usage, "E0164", "nothing was removed",
                 "there is no terminal for a confirmation", "give --yes"};
  if (!options.yes && !agreed("remove " + hub::readableBytes(bytes) + "?"))
    return 0;
  for (const Doomed &one : *all)
    if (auto gone = hub::carryOut(one.removal); !gone)
      return gone.error();
  note(hub::readableBytes(bytes) + " are free again");
  return 0;
}

} // namespace

Action defineRemove(CommandLine &command) {
  auto options = std::make_shared<RemoveOptions>();
  command.option(
      "NAME", options->names,
      "hf:ORG/NAME (all of it), hf:ORG/NAME@REVISION, hf:ORG/NAME:FILE.gguf, or an engine's name");
  command.flag("--all-engines", options->allEngines, "every compiled engine, and generated code");
  command.flag("--yes", options->yes, "remove without confirmation");
  command.flag("--dry-run", options->dryRun,
               "show what would be removed, and its size; remove nothing");
  command.option("--cache", options->compile.cacheFolder,
                 "folder of compiled engines (default: ~/.cache/ingot)");
  command.examples("  ingot list\n"
                   "  ingot rm hf:HuggingFaceTB/SmolLM2-135M-Instruct\n"
                   "  ingot rm smollm2-0123456789abcdef\n"
                   "  ingot rm --all-engines --dry-run\n");
  return [options] { return remove(*options); };
}

} // namespace ingot::cli
