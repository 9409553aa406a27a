#include "tools/ingot/engines/EngineCache.h"

#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/import/files/FileKind.h"
#include "runtime/engine/CacheName.h"
#include "runtime/engine/Header.h"
#include "runtime/engine/Isa.h"
#include "runtime/formats/KvFormat.h"
#include "tools/ingot/engines/CachedEngines.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/ModelName.h"
#include "tools/terminal/Console.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ingot::cli {

namespace fs = std::filesystem;

std::string seedProblem(const std::string &text) {
  uint64_t seed = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seed);
  return failure == std::errc() && end == text.data() + text.size()
             ? ""
             : text + " is not a whole number from 0 to 18446744073709551615";
}

void CompileOptions::define(CommandLine &command) {
  const char *group = "Where MODEL is a checkpoint (see ingot compile --help)";
  command.option("--target", targets, "as in ingot compile: cpu, cpu:avx2 (repeatable)")
      .takesOne()
      .group(group);
  command
      .option("--quantize", quantize,
              "int8, int4-g32, int4-g64, int4-g128 or fp8 for floating-point weights")
      .group(group);
  command.option("--ignore-key", ignoredKeys, "ignore this key of its configuration")
      .takesOne()
      .group(group);
  command
      .option("--kv", kv,
              kvFormatNames(isOfCpus, "or") + "; on GPUs " + kvFormatNames(isOfGpus, "or") +
                  "; for single layers LAYERS=T (repeatable)")
      .takesOne()
      .group(group);
  command.option("--precision", precision, "fast (default) or exact").group(group);
  command
      .option("--weights", weights,
              "dummy weights, as for a config.json: random (stored) or seed (generated at load)")
      .group(group);
  command.option("--weights-seed", weightsSeed, "the seed of --weights (default: 0)")
      .check(seedProblem)
      .group(group);
  command.option("--cache", cacheFolder, "folder for compiled engines (default: ~/.cache/ingot)")
      .group(group);
}

std::vector<std::string> CompileOptions::arguments() const {
  std::vector<std::string> all;
  auto add = [&](const char *flag, const std::string &value) {
    if (!value.empty())
      all.insert(all.end(), {flag, value});
  };
  for (const std::string &target : targets)
    add("--target", target);
  for (const std::string &key : ignoredKeys)
    add("--ignore-key", key);
  add("--quantize", quantize);
  for (const std::string &type : kv)
    add("--kv", type);
  add("--precision", precision);
  add("--weights", weights);
  if (weightsSeed)
    add("--seed", std::to_string(*weightsSeed));
  return all;
}

std::string cacheFolder(const CompileOptions &options) {
  if (!options.cacheFolder.empty())
    return options.cacheFolder;
  const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (xdg && *xdg)
    return (fs::path(xdg) / "ingot").string();
  return home && *home ? (fs::path(home) / ".cache" / "ingot").string() : "";
}

bool isEngineFile(const std::string &path) {
  char start[sizeof runtime::kMagic] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return !std::memcmp(start, runtime::kMagic, sizeof start);
}

static bool namesCheckpoint(const fs::path &path) {
  const std::string extension = path.extension().string();
  return extension == ".gguf" || extension == ".safetensors" || extension == ".json";
}

/// Returns whether `model` is an owner and a name without a file extension:
/// "HuggingFaceTB/SmolLM2-135M-Instruct".
static bool looksLikeHubName(const std::string &model) {
  const size_t slash = model.find('/');
  return slash != std::string::npos && slash > 0 && slash + 1 < model.size() &&
         model.find('/', slash + 1) == std::string::npos && model[0] != '.' && model[0] != '~' &&
         !namesCheckpoint(model) && fs::path(model).extension() != ".ingot";
}

/// Returns the engine's file name in the cache: "smollm2-0123456789abcdef.ingot".
static Result<std::string> cacheName(const std::string &model, const CompileOptions &options) {
  auto checkpoint = import::openCheckpoint(model);
  if (!checkpoint)
    return checkpoint.error();
  auto compiler = compilerFingerprint();
  if (!compiler)
    return compiler.error();
  return runtime::cacheName(model, (*checkpoint)->contentHash, *compiler, options.arguments());
}

Result<std::string> resolveEngine(const std::string &named, const CompileOptions &options,
                                  bool quiet) {
  auto found = checkpointOf(named, quiet);
  if (!found)
    return found.error();
  std::string model = std::move(*found);
  while (model.size() > 1 && model.ends_with('/')) // errors show the path's last component
    model.pop_back();
  std::error_code failure;
  const fs::file_status status = fs::status(model, failure);
  if (!fs::exists(status)) {
    const bool hub = looksLikeHubName(model);
    return Error{ExitCode::File, "E0130", "there is no file or folder " + model,
                 hub ? "a name on the Hugging Face hub begins with hf:" : "",
                 hub ? "give hf:" + model
                     : "give an engine, a checkpoint folder, a .gguf or a .safetensors"};
  }
  const bool folder = fs::is_directory(status);
  if (!folder && fs::is_regular_file(status) && isEngineFile(model)) {
    if (const auto given = options.arguments(); !given.empty())
      return Error{ExitCode::Usage, "E0134",
                   given[0] + " has no effect: " + model + " is an engine",
                   "formats, targets and weights are chosen at compile time",
                   "omit it, or: ingot compile CHECKPOINT " + given[0] + " " + given[1] + " -o E"};
    return model;
  }
  if (!folder && !import::isCheckpointFile(model)) {
    if (fs::path(model).extension() == ".ingot")
      return model; // the loader reports what is wrong with it
    return Error{
        ExitCode::File, "E0131", model + " is neither an engine nor a checkpoint",
        "by content it is neither an engine, GGUF, safetensors nor JSON, and it is not a folder",
        "give an engine, a checkpoint folder, a GGUF or a safetensors file"};
  }

  const fs::path cache = cacheFolder(options);
  if (cache.empty())
    return Error{ExitCode::File, "E0132", "there is no folder for the compiled engine",
                 "neither XDG_CACHE_HOME nor HOME is set",
                 "give --cache DIR, or: ingot compile " + model + " -o E"};
  // A cached engine stays on this machine, so it also gets code for this CPU's ISA level, which an
  // engine for all machines may lack.
  CompileOptions wanted = options;
  if (const auto best = runtime::hostCpu().best();
      wanted.targets.empty() &&
      (best == runtime::IsaLevel::AvxVnni || best == runtime::IsaLevel::Avx512Vnni))
    wanted.targets = {"cpu", std::string(isaTarget(*best))};
  auto name = cacheName(model, wanted);
  if (!name)
    return name.error();
  const fs::path engine = cache / *name;
  if (fs::exists(engine, failure)) {
    noteUse(engine);
    if (!quiet)
      note("using " + engine.string() + " (compiled before)");
    return engine.string();
  }
  fs::create_directories(cache, failure);
  if (failure)
    return Error{ExitCode::File, "E0132", "cannot create the cache folder " + cache.string(),
                 failure.message(), "give --cache DIR, or: ingot compile " + model + " -o E"};
  if (!quiet)
    note("compiling " + model + "; kept in " + engine.string());
  // Models of the same shape differ only in weights, so their code is generated once and cached.
  std::vector<std::string> arguments = {model, "-o", engine.string(), "--cache", cache.string()};
  for (std::string &argument : wanted.arguments())
    arguments.push_back(std::move(argument));
  if (quiet)
    arguments.push_back("--quiet");
  if (auto compiled = compileAsChild(arguments); !compiled)
    return compiled.error();
  return engine.string();
}

} // namespace ingot::cli
