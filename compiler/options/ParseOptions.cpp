//===- ParseOptions.cpp - See ParseOptions.h ------------------------------===//
#include "compiler/options/ParseOptions.h"

#include "compiler/options/Compatibility.h"
#include "compiler/options/DeviceOptions.h"
#include "compiler/options/PhaseOptions.h"
#include "compiler/options/RecipeFile.h"
#include "runtime/error/Suggest.h"
#include "runtime/formats/KvFormat.h"
#include "tools/options/CommandLine.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

using namespace ingot;
using namespace ingot::compiler;

static Error usage(std::string code, std::string what, std::string why, std::string fix) {
  return {ExitCode::Usage, std::move(code), std::move(what), std::move(why), std::move(fix)};
}

/// Rejects negative numbers, since CLI11 reads -1 as the largest number.
static std::string notNegative(const std::string &text) {
  return text.starts_with("-") ? "expected a number from 0 to 2^64 - 1, got " + text : "";
}

/// Records the given options that decide the engine's contents, as typed. For a file, it records the contents. The
/// options of `ingot run` come first, in the order that `ingot run` uses, so that it finds the same engine.
static Result<void> noteIdentity(const cli::CommandLine &command, CompileOptions &o) {
  for (const char *name :
       {"--target", "--ignore-key", "--quantize", "--kv", "--precision", "--weights", "--seed",
        "--disable", "--insert", "--batch-invariant", "--verify", "--chat-template-name"})
    for (const std::string &value : command.find(name).values())
      o.identity.insert(o.identity.end(), {name, value});
  std::vector<std::pair<const char *, std::string>> files = {{"--recipe", o.recipeFile},
                                                             {"--chat-template", o.chatTemplate},
                                                             {phaseName(o.from), o.fromFile}};
  for (const auto &[point, path] : o.patterns) {
    o.identity.insert(o.identity.end(), {"--patterns", point});
    files.emplace_back("--patterns", path);
  }
  for (const std::string &path : o.plugins)
    files.emplace_back("--plugin", path);
  for (const auto &[name, path] : files) {
    if (path.empty())
      continue;
    std::ifstream in(path, std::ios::binary);
    if (!in)
      return Error{ExitCode::File, "E0419", "cannot read the file of " + std::string(name), path,
                   "give a readable file"};
    o.identity.insert(o.identity.end(), {name, {std::istreambuf_iterator<char>(in), {}}});
  }
  return {};
}

namespace {
/// Typed values that need further checks before they become options.
struct Typed {
  std::vector<std::string> targets, insertions, patterns, kv;
  std::string recipe, precision = "fast", quantize, weights;
  bool seed = false, dumpChanges = false;    ///< whether these options were given
  std::map<std::string, std::string> places; ///< places of values from a recipe

  /// Returns the prefix for an error: "r.toml, line 3, column 5: ", or an empty string if the value was
  /// typed.
  std::string at(const char *key) const {
    auto place = places.find(key);
    return place == places.end() ? "" : place->second + ": ";
  }
  /// Prefixes the error with the place of the first key in `keys` that the recipe sets.
  Error placedAny(std::initializer_list<const char *> keys, Error error) const {
    for (const char *key : keys)
      if (places.contains(key))
        return placed(key, std::move(error));
    return error;
  }
  Error placed(const char *key, Error error) const {
    error.what = at(key) + error.what;
    return error;
  }
};

/// Sets options to the values of a recipe, except options that the user specified on the command line.
class FromRecipe {
public:
  FromRecipe(const cli::CommandLine &command, const RecipeFile &recipe, Typed &typed)
      : command(command), recipe(recipe), typed(typed) {}

  void give(const char *key, std::vector<std::string> &to) {
    if (const RecipeValue *value = valueOf(key))
      to = value->texts;
  }
  void give(const char *key, std::string &to) {
    if (const RecipeValue *value = valueOf(key))
      to = value->texts.front();
  }
  void give(const char *key, bool &to) {
    if (const RecipeValue *value = valueOf(key))
      to = value->flag;
  }
  void give(const char *key, uint64_t &to) {
    if (const RecipeValue *value = valueOf(key))
      to = value->number;
  }
  /// --kv covers both `kv` and `kv-layers`, so a typed --kv replaces both.
  void giveKv(std::string &kv, std::vector<KvRule> &layers) {
    give("kv", kv);
    if (const RecipeValue *value = valueOf("kv-layers", "kv"))
      layers = value->kvRules;
  }

private:
  const RecipeValue *valueOf(const char *key) { return valueOf(key, key); }
  const RecipeValue *valueOf(const char *key, const char *option) {
    auto found = recipe.find(key);
    if (found == recipe.end())
      return nullptr;
    if (command.find(std::string("--") + option).given())
      return nullptr;
    typed.places[key] = found->second.place;
    return &found->second;
  }

  const cli::CommandLine &command;
  const RecipeFile &recipe;
  Typed &typed;
};
} // namespace

static Result<void> takeRecipe(const cli::CommandLine &command, Typed &typed, CompileOptions &o) {
  if (typed.recipe.empty())
    return {};
  auto read = readRecipe(typed.recipe);
  if (!read)
    return read.error();
  o.recipeFile = typed.recipe;
  FromRecipe recipe(command, *read, typed);
  recipe.give("target", typed.targets);
  recipe.give("precision", typed.precision);
  recipe.giveKv(o.kv, o.kvLayers);
  recipe.give("batch-invariant", o.batchInvariant);
  recipe.give("quantize", typed.quantize);
  recipe.give("patterns", typed.patterns);
  recipe.give("plugin", o.plugins);
  recipe.give("insert", typed.insertions);
  recipe.give("disable", o.disabled);
  recipe.give("chat-template", o.chatTemplate);
  recipe.give("chat-template-name", o.chatTemplateName);
  recipe.give("ignore-key", o.ignoredKeys);
  recipe.give("weights", typed.weights);
  recipe.give("seed", o.seed);
  recipe.give("verify", o.verify);
  typed.seed |= read->contains("seed");
  if (auto formats = read->find("formats"); formats != read->end()) {
    o.recipe = formats->second.texts;
    o.recipePlaces = formats->second.places;
  }
  return {};
}

static Result<void> choosePrecision(const Typed &typed, CompileOptions &o) {
  if (typed.precision != "fast" && typed.precision != "exact")
    return usage("E0404", typed.at("precision") + "unknown precision '" + typed.precision + "'",
                 "expected fast (int8 activations for quantised weights) or exact (f32 throughout)",
                 "--precision fast");
  o.exact = typed.precision == "exact";
  std::string quantize = typed.quantize;
  std::replace(quantize.begin(), quantize.end(), '-', '_');
  const std::vector<std::string> formats = {"", "int8", "int4_g32", "int4_g64", "int4_g128", "fp8"};
  if (std::find(formats.begin(), formats.end(), quantize) == formats.end())
    return usage("E0186", typed.at("quantize") + "unknown quantisation '" + typed.quantize + "'",
                 "formats are int8, int4-g32, int4-g64, int4-g128 and fp8", "--quantize int4-g64");
  o.quantize = quantize;
  return {};
}

static Result<void> chooseWeights(const Typed &typed, CompileOptions &o) {
  for (WeightOrigin origin : {WeightOrigin::Random, WeightOrigin::Seed})
    if (typed.weights == weightOriginName(origin))
      o.weights = origin;
  if (!typed.weights.empty() && o.weights == WeightOrigin::Checkpoint)
    return usage("E0407", typed.at("weights") + "unknown weights '" + typed.weights + "'",
                 "expected random or seed; without --weights, the checkpoint's weights are used",
                 "--weights seed");
  if (typed.seed && o.weights == WeightOrigin::Checkpoint)
    return usage("E0184", typed.at("seed") + "--seed has no effect here",
                 "the weights come from the checkpoint",
                 "add --weights random or --weights seed, or drop --seed");
  return {};
}

/// Applies the values of --kv: a format for all layers, at most once, or a rule such as "0-3=bf16".
static Result<void> addKv(const Typed &typed, CompileOptions &o) {
  bool all = false;
  for (const std::string &given : typed.kv) {
    const size_t equals = given.find('=');
    if (equals == std::string::npos) {
      if (all)
        return usage("E0401", "--kv " + o.kv + " and --kv " + given + " both apply to all layers",
                     "only one --kv may omit the layers",
                     "name layers: --kv " + o.kv + " --kv 0-3=" + given);
      all = true;
      o.kv = given;
      continue;
    }
    auto rule = kvRule(given.substr(0, equals), given.substr(equals + 1));
    if (!rule)
      return rule.error();
    o.kvLayers.push_back(std::move(*rule));
  }
  return {};
}

static Result<void> addInsertions(const Typed &typed, CompileOptions &o) {
  for (const std::string &insertion : typed.insertions) {
    const size_t equals = insertion.find('=');
    const std::string point = insertion.substr(0, equals);
    if (equals == std::string::npos || !isExtensionPoint(point))
      return typed.placed("insert",
                          noSuchPoint(insertion, point, "--insert 'pre-fusion=lm.model(my-pass)'"));
    o.insertions.emplace_back(point, insertion.substr(equals + 1));
  }
  return {};
}

static Result<void> addPatterns(const Typed &typed, CompileOptions &o) {
  for (const std::string &given : typed.patterns) {
    o.patterns.push_back(patternsAt(given));
    // A file may have such a name, but a near miss of a point's name is a typing error.
    const std::string word = given.substr(0, given.find('='));
    if (word != given && !isExtensionPoint(word) && !didYouMean(word, extensionPoints()).empty() &&
        !std::ifstream(given))
      return typed.placed(
          "patterns",
          noSuchPoint(given, word, "--patterns pre-fusion=" + given.substr(word.size() + 1)));
  }
  return {};
}

Result<std::optional<CompileOptions>> compiler::parseCompileOptions(int argc,
                                                                    const char *const *argv) {
  CompileOptions o;
  cli::CommandLine command("Compiles a checkpoint into an engine file.", "ingot compile");
  command.examples(
      "  ingot compile smollm2.gguf -o smollm2.ingot\n"
      "  ingot compile ./Llama-3.2-1B --quantize int4-g64 -o llama.ingot --target cpu:avx512\n"
      "  ingot compile ./Llama-3.1-8B/config.json --weights seed --quantize int4-g64 -o shape.ingot\n"
      "  ingot compile smollm2.gguf --emit plan\n");
  Typed typed;
  PhaseWords phases;
  std::string &emit = phases.emit;
  command
      .option("MODEL", o.model,
              "folder, .gguf, .safetensors, hf:ORG/NAME, or config.json with --weights")
      .required();
  command.option("-o,--output", o.output, "the engine to write");
  command
      .option("--target", typed.targets,
              "cpu (avx2 and avx512; amx for bf16), " + levelTargets() +
                  "; cuda:" + architectureNames("|") +
                  ", cuda (all of them); cuda-emulator:sm_90a; may be repeated")
      .typeName("T");
  command.option("--quantize", typed.quantize,
                 "quantise floating-point weights to int8, int4-g32, int4-g64, int4-g128 or fp8");
  command.option(
      "--recipe", typed.recipe,
      "a TOML file with any of these options, and with formats of single weights; the command line "
      "takes precedence");
  command.option("--write-recipe", o.writeRecipe, "write the recipe that makes the same engine")
      .typeName("FILE");
  command
      .option(
          "--patterns", typed.patterns,
          "rewrite patterns, .pdll or .pdl.mlir, applied before fusion or at a point of --insert; may be repeated")
      .typeName("[POINT=]F")
      .takesOne();
  command
      .option("--plugin", o.plugins,
              "a shared object with your own passes, ops and families; may be repeated")
      .typeName("F.so")
      .takesOne(); // the next argument may be MODEL
  command
      .option("--insert", typed.insertions,
              "run passes at a point: import, pre-fusion, post-fusion, pre-plan or pre-codegen")
      .typeName("POINT=PIPELINE")
      .takesOne();
  command
      .option("--kv", typed.kv,
              "type of the KV cache: " + kvFormatNames(isOfCpus, "or") +
                  " (default f16; f32 with --precision exact); on GPUs " +
                  kvFormatNames(isOfGpus, "or") +
                  " (default bf16); for single layers: 0-3,28-=T, window=T or global=T; may be "
                  "repeated")
      .typeName("[LAYERS=]T")
      .takesOne();
  command
      .option("--precision", typed.precision,
              "fast: int8 activations for quantised weights; exact: f32 throughout")
      .oneOf({"fast", "exact"});
  command.flag(
      "--batch-invariant", o.batchInvariant,
      "GPU code that gives a token the same bits in every batch (slower prompts on sm_90a)");
  command
      .option(
          "--weights", typed.weights,
          "dummy weights from --seed: random stores them in the engine, seed generates them on the "
          "device at load")
      .oneOf({"random", "seed"});
  cli::Option seed =
      command.option("--seed", o.seed, "of --weights (default: 0)").check(notNegative);
  cli::Option chatTemplate =
      command.option("--chat-template", o.chatTemplate,
                     "a Jinja file, for a checkpoint without a template or instead of its own");
  command
      .option("--chat-template-name", o.chatTemplateName,
              "which of the checkpoint's templates to use for all requests")
      .typeName("NAME")
      .excludes(chatTemplate);
  command.option("--disable", o.disabled, "skip an optional pass (see: ingot passes)")
      .typeName("PASS");
  command
      .option("--dump-after,--mlir-print-ir-after", o.dumpAfter,
              "print the IR after a pass, to stderr; all: after each pass that changes it")
      .typeName("PASS");
  command.option("--mlir-print-ir-before", o.dumpBefore, "print the IR before a pass, to stderr")
      .typeName("PASS");
  command.flag("--mlir-print-ir-after-change", typed.dumpChanges, "the same as --dump-after all");
  command.flag("--mlir-timing", o.timing,
               "print the time of passes and stages of code generation, to stderr at the end");
  command.option("--remarks", o.remarks, "why ops were fused or not: passed, missed, all")
      .oneOf({"passed", "missed", "all"});
  command
      .option("--remarks-file", o.remarksFile,
              "write all remarks: YAML for LLVM's tools, or one JSON object per line if F ends in "
              ".json")
      .typeName("F");
  command
      .option("--emit", emit,
              "instead of an engine, print lm, fused, kernel (what each computes), plan (with "
              "launches), llvm, asm or cuda, to -o or standard output")
      .oneOf({"lm", "fused", "kernel", "plan", "llvm", "asm", "cuda"});
  command
      .option(
          "--to", phases.to,
          "as --emit, but print IR that --from can read: lm, fused, kernel (before planning) or "
          "plan")
      .oneOf({"lm", "fused", "kernel", "plan"})
      .excludes(command.find("--emit"));
  command
      .option("--from", phases.from,
              "start from this IR of lm, fused, kernel or plan, with the weights of MODEL")
      .typeName("PHASE=FILE")
      .onlyOnce();
  command
      .option("--dump-intermediates", o.intermediates,
              "write the IR after each pass that changes it into DIR, numbered")
      .typeName("DIR");
  cli::Option kernel = command
                           .option("--kernel", o.kernel,
                                   "print only this kernel, with --emit kernel, llvm, asm or cuda")
                           .typeName("NAME");
  cli::Option brief = command.flag(
      "--brief", o.brief,
      "with --emit lm, fused, kernel or plan: omit most weights and cut long lines, for reading");
  command
      .option(
          "--cache", o.cache,
          "cache generated code in DIR/code; without -o, store the engine in DIR too and print its "
          "path")
      .typeName("DIR");
  command
      .option("--link", o.link,
              "with --cache and without -o: make F a symbolic link to the finished engine")
      .typeName("F");
  command.option("-j,--jobs", o.threads, "threads (default: all)").range(1, 256);
  command
      .option(
          "--ignore-key", o.ignoredKeys,
          "ignore this key of config.json or of a GGUF, if you are sure that it does not affect "
          "the result; PREFIX* for many; may be repeated")
      .typeName("KEY")
      .takesOne();
  command.flag(
      "--verify", o.verify,
      "also check all passes over lm against the interpreter on the checkpoint's weights, and "
      "measure the error of rounding them");
  command.flag("--quiet", o.quiet, "print only errors");
  command.flag(
      "--verbose", o.verbose,
      "list the configuration keys that were ignored because they do not affect the result");
  command.flag("--json", o.json, "print the summary as JSON");
  int errorTo = -1; // Main.cpp reads it
  command.option("--error-fd", errorTo, "for ingot run: an open file descriptor for errors")
      .group("");
  auto parsed = command.parse(argc, argv);
  if (!parsed)
    return parsed.error();
  if (!*parsed)
    return std::optional<CompileOptions>();

  typed.seed = seed.given();
  if (typed.dumpChanges)
    o.dumpAfter.push_back("all");
  if (auto ok = takeRecipe(command, typed, o); !ok)
    return ok.error();
  for (const std::string &target : typed.targets)
    if (auto ok = addTarget(target, o); !ok)
      return typed.placed("target", ok.error());
  if (typed.targets.empty())
    (void)addTarget(emit == "cuda" ? "cuda:sm_90a" : "cpu", o);
  if (auto ok = choosePrecision(typed, o); !ok)
    return ok.error();
  if (auto ok = addKv(typed, o); !ok)
    return ok.error();
  if (auto ok = chooseKv(o); !ok)
    return typed.placed("kv", ok.error());
  if (auto ok = addPatterns(typed, o); !ok)
    return ok.error();
  if (auto ok = addInsertions(typed, o); !ok)
    return ok.error();
  if (auto ok = chooseWeights(typed, o); !ok)
    return ok.error();
  if (auto ok = choosePhases(phases, o); !ok)
    return ok.error();
  if (auto ok = checkCompatibility(combinationOf(o)); !ok)
    return typed.placedAny({"kv", "precision", "target", "verify"}, ok.error());
  for (const KvRule &rule : o.kvLayers)
    if (auto ok = checkCompatibility(o, rule); !ok)
      return ok.error();
  if (kernel.given() && o.emit != Emit::Kernel && o.emit != Emit::Llvm && o.emit != Emit::Asm &&
      o.emit != Emit::Cuda)
    return usage("E0474", "--kernel has no effect here",
                 "it selects a kernel of --emit kernel, llvm, asm or cuda",
                 "--emit asm --kernel " + o.kernel);
  if (brief.given() && o.emit != Emit::Lm && o.emit != Emit::Fused && o.emit != Emit::Lowered &&
      o.emit != Emit::Kernel && o.emit != Emit::Plan)
    return usage("E0476", "--brief has no effect here", "it shortens the IR that --emit prints",
                 "--emit fused --brief");
  o.intoCache = o.emit == Emit::Engine && o.output.empty() && !o.cache.empty();
  if (o.emit == Emit::Engine && o.output.empty() && !o.intoCache && o.writeRecipe.empty())
    return usage("E0405", "no output is given",
                 "name the engine file with -o, or keep the engine in a cache with --cache DIR",
                 "ingot compile " + o.model + " -o model.ingot");
  if (!o.link.empty() && !o.intoCache)
    return usage("E0498", "--link needs --cache DIR without -o",
                 "it links to the engine that the cache stores under its content hash",
                 "ingot compile " + o.model + " --cache DIR --link " + o.link);
  if (o.intoCache)
    if (auto ok = noteIdentity(command, o); !ok)
      return ok.error();
  return std::optional(std::move(o));
}
