//===- Inspect.cpp - ingot inspect and ingot verify ------------------------===//
#include "runtime/engine/Inspect.h"
#include "runtime/engine/EngineFile.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/files/TemporaryFolder.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/inspect/Diff.h"
#include "tools/ingot/inspect/Experts.h"
#include "tools/ingot/inspect/PageFigures.h"
#include "tools/ingot/measure/roofline/Roofline.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace ingot::cli {

namespace {

using runtime::EngineFile;
using runtime::VerifyLevel;

struct InspectOptions {
  std::string path, html, svg, text;
  CommonOptions common;
  LimitOptions limits;
  bool verify = false, evidence = false, recipe = false, roofline = false;
};

runtime::MemoryLimits memoryLimits(const InspectOptions &options) {
  const LimitOptions &given = options.limits;
  runtime::MemoryLimits limits;
  limits.context = static_cast<uint64_t>(given.context);
  limits.maxSeqs = given.maxSeqs ? static_cast<uint64_t>(given.maxSeqs) : 1;
  limits.maxBatchTokens = static_cast<uint64_t>(given.maxBatchTokens);
  limits.logitsRows = limits.maxSeqs;
  limits.threads = options.common.threads ? static_cast<uint64_t>(options.common.threads)
                                          : std::max(1u, std::thread::hardware_concurrency());
  if (given.kvMemory)
    limits.kvBytes = given.kvMemory;
  limits.swapBytes = given.swap.value_or(0);
  limits.lock = given.lock;
  return limits;
}

/// Verifies every byte of an engine. With `says`, reports success.
Result<int> verify(const std::string &path, const CommonOptions &common, bool says = true) {
  auto engine = EngineFile::open(path, VerifyLevel::Everything);
  if (!engine)
    return engine.error();
  const fb::Engine &table = (*engine)->table();
  const uint64_t segments = table.segments()->size();
  const uint64_t seedBytes = table.programs()->Get(0)->seed_bytes();
  const std::string seeded = seedBytes ? "; its weights are generated from seed " +
                                             std::to_string(table.seed()) +
                                             " at load: " + grouped(seedBytes) + " bytes"
                                       : std::string();
  if (says && common.json)
    emit(JsonObject()
             .field("ok", true)
             .field("bytes", (*engine)->fileBytes())
             .field("segments", segments)
             .str() +
         "\n");
  else if (says && !common.quiet)
    emit(path + ": every byte is unchanged (" + grouped((*engine)->fileBytes()) + " bytes, " +
         std::to_string(segments) + " segments)" + seeded + "\n");
  return 0;
}

/// Returns the file called `name` among the files that the user named, else the one in the current folder;
/// empty if there is none.
std::filesystem::path fileCalled(const std::string &name, const std::vector<std::string> &named) {
  std::error_code failure;
  for (const std::string &path : named)
    if (std::filesystem::path(path).filename() == name)
      return std::filesystem::absolute(path, failure);
  const std::filesystem::path here = std::filesystem::absolute(name, failure);
  return !failure && std::filesystem::exists(here, failure) ? here : std::filesystem::path();
}

/// Links the files that an engine was compiled with into `place`, next to its recipe. The engine holds only their
/// names. The files themselves must be named by the user or be in the current folder.
Result<void> linkFilesOfRecipe(const EngineFile &engine, const std::string &path,
                               const std::vector<std::string> &plugins, const std::string &place) {
  std::vector<std::string> taken;
  std::string all;
  for (unsigned i = 0; engine.table().provenance() && i < engine.table().provenance()->size();
       ++i) {
    const auto *attribute = engine.table().provenance()->Get(i);
    const std::string key = attribute->key()->str();
    if (key != "patterns" && key != "plugin" && key != "chat-template")
      continue;
    std::string name = attribute->value()->str();
    name = name.substr(0, name.find(", content ")); // "pre-fusion=rules.pdll, content 0123…"
    if (key == "patterns")
      name = name.substr(name.find('=') + 1);
    const std::filesystem::path file =
        fileCalled(name, key == "plugin" ? plugins : std::vector<std::string>());
    std::error_code failure;
    if (file.empty() || !std::filesystem::exists(file, failure))
      return Error{ExitCode::File, "E0167", path + " was compiled with " + name,
                   file.empty() ? "no file in this folder has that name"
                                : "there is no file " + file.string(),
                   std::string("run it where the file is") +
                       (key == "plugin" ? ", or name it with --plugin" : "") +
                       "; its content must be unchanged"};
    taken.push_back(name);
    all += (all.empty() ? "" : ", ") + name;
    const auto link = std::filesystem::path(place) / name;
    if (!std::filesystem::exists(link, failure))
      std::filesystem::create_symlink(file, link, failure);
  }
  for (const std::string &plugin : plugins)
    if (std::ranges::find(taken, std::filesystem::path(plugin).filename().string()) == taken.end())
      return Error{ExitCode::Usage, "E0168", path + " was not compiled with " + plugin,
                   taken.empty() ? "it was compiled without plugins and patterns"
                                 : "its files are: " + all,
                   "omit --plugin; ingot inspect " + path + " --recipe shows its recipe"};
  return {};
}

/// Recompiles the checkpoint with the engine's own recipe and compares the result with the engine.
Result<int> compileAgain(const std::string &path, const std::string &model,
                         const std::vector<std::string> &plugins, const CommonOptions &common) {
  auto engine = EngineFile::open(path);
  if (!engine)
    return engine.error();
  const std::string recipe = runtime::recipeText(**engine);
  if (recipe.empty())
    return Error{ExitCode::File, "E0149", "the engine cannot be compiled again",
                 path + " has no recipe",
                 "compile it with this version: ingot compile MODEL -o " + path};
  auto place = TemporaryFolder::make("ingot-replay");
  if (!place)
    return place.error();
  const std::string again = (*place)->path + "/again.ingot", file = (*place)->path + "/recipe.toml";
  std::ofstream(file) << recipe;
  if (auto linked = linkFilesOfRecipe(**engine, path, plugins, (*place)->path); !linked)
    return linked.error();
  if (auto done = compileAsChild({model, "--recipe", file, "-o", again, "--quiet"}); !done)
    return done.error();
  return diff(path, again, common.json);
}

Result<int> inspect(const InspectOptions &options) {
  if (options.verify)
    return verify(options.path, options.common);
  if (options.roofline && options.html.empty())
    return roofline(options.path, options.common, options.limits, options.svg);
  if (!options.text.empty())
    return experts(options.path, options.text, options.common, options.limits);
  auto engine = EngineFile::open(options.path);
  if (!engine)
    return engine.error();
  if (options.recipe) {
    const std::string recipe = runtime::recipeText(**engine);
    if (recipe.empty())
      return Error{ExitCode::File, "E0146", options.path + " has no recipe",
                   "it was made by a compiler version without recipes",
                   "compile it again; ingot inspect " + options.path + " shows its provenance"};
    emit(options.common.json ? JsonObject().field("recipe", recipe).str() + "\n" : recipe);
    return 0;
  }
  const runtime::MemoryLimits limits = memoryLimits(options);
  // A context that no session can open needs no memory plan; the error is the same as in `ingot run`.
  if (const uint64_t most = (*engine)->table().model()->context(); limits.context > most)
    return Error{ExitCode::Usage, "E0501", "the context is out of range",
                 "--context " + std::to_string(limits.context) + "; the model supports 1 to " +
                     std::to_string(most) + " positions",
                 "give --context " + std::to_string(most) + " or less"};
  if (!options.html.empty()) {
    MeasuredKernels measured;
    if (options.roofline)
      if (auto ran = roofline(options.path, options.common, options.limits, options.svg, &measured);
          !ran)
        return ran.error();
    const std::string page = runtime::inspectHtml(
        **engine, limits, pageFigures(**engine, static_cast<int>(limits.threads), measured));
    if (auto written = writeFile(options.html, page); !written)
      return written.error();
    options.common.say("wrote " + options.html);
  } else if (options.evidence) {
    emit(options.common.json ? runtime::evidenceJson(**engine) : runtime::evidenceText(**engine));
  } else {
    emit(options.common.json ? runtime::inspectJson(**engine, limits)
                             : runtime::inspectText(**engine, limits));
  }
  return 0;
}

} // namespace

Action defineInspect(CommandLine &command) {
  auto options = std::make_shared<InspectOptions>();
  command.option("ENGINE", options->path, "an engine file").required();
  auto html =
      command
          .option("--html", options->html,
                  "write the engine as a page: launches, kernels, code, memory, weights, evidence")
          .typeName("FILE");
  auto verify = command.flag("--verify", options->verify, "check every byte, as ingot verify does")
                    .excludes(html);
  auto evidence =
      command
          .flag("--evidence", options->evidence, "the error of each pass against the interpreter")
          .excludes(html)
          .excludes(verify);
  auto recipe =
      command
          .flag("--recipe", options->recipe,
                "print the recipe with which ingot compile --recipe makes the same engine")
          .excludes(html)
          .excludes(verify)
          .excludes(evidence);
  auto roofline =
      command
          .flag("--roofline", options->roofline,
                "run it and compare each kernel's time with the machine's limits (with --html: on "
                "the page)")
          .excludes(verify)
          .excludes(evidence)
          .excludes(recipe);
  command
      .option("--experts", options->text,
              "process TEXT and show how it spreads over the experts of each layer")
      .typeName("TEXT")
      .excludes(html)
      .excludes(verify)
      .excludes(evidence)
      .excludes(recipe)
      .excludes(roofline);
  command.option("--svg", options->svg, "with --roofline: write it as a picture")
      .typeName("FILE")
      .needs(roofline);
  options->common.define(command);
  command.find("--trace").needs(roofline); // only --roofline runs the engine
  options->limits.define(command);
  command.examples(
      "  ingot inspect smollm2.ingot\n"
      "  ingot inspect smollm2.ingot --context 8192 --max-seqs 8      the memory for these limits\n"
      "  ingot inspect smollm2.ingot --json | python3 -m json.tool\n");
  return [options] { return inspect(*options); };
}

Action defineVerify(CommandLine &command) {
  auto options = std::make_shared<InspectOptions>();
  auto replay = std::make_shared<std::string>();
  auto plugins = std::make_shared<std::vector<std::string>>();
  command.option("ENGINE", options->path, "an engine file").required();
  auto again = command.option(
      "--replay", *replay,
      "the checkpoint: compile it again with the engine's recipe, with all checks, and report "
      "differences");
  command.option("--plugin", *plugins, "a plugin of the engine that is not in this folder")
      .typeName("FILE")
      .needs(again);
  options->common.define(command);
  command.remove(command.find("--trace")); // no engine runs
  command.examples("  ingot verify smollm2.ingot\n"
                   "  ingot verify smollm2.ingot --replay smollm2.gguf\n"
                   "Hashes find damage, not attackers: an engine holds native code, so run only "
                   "engines that you built.\n");
  return [=]() -> Result<int> {
    auto whole = verify(options->path, options->common, /*says=*/!again.given());
    return !whole || !again.given()
               ? whole
               : compileAgain(options->path, *replay, *plugins, options->common);
  };
}

} // namespace ingot::cli
