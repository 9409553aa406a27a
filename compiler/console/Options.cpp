//===- Options.cpp - The command line of `ingot compile` ------------------===//
#include "compiler/console/Options.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Isa.h"
#include "runtime/error/Suggest.h"
#include "runtime/formats/KvFormat.h"
#include "tools/options/CommandLine.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace ingot;
using namespace ingot::compiler;

static Error usage(std::string code, std::string what, std::string why, std::string fix) {
  return {ExitCode::Usage, std::move(code), std::move(what), std::move(why), std::move(fix)};
}

/// "cpu": the levels of an engine that goes to many machines, of which each runs one of the two.
constexpr runtime::IsaLevel kPortable[] = {runtime::IsaLevel::Avx2, runtime::IsaLevel::Avx512};

/// "cuda:sm_80, sm_89, …", with what separates them.
static std::string architectureNames(const char *separator) {
  std::string names;
  for (const runtime::GpuArch &arch : runtime::gpuArchitectures())
    names += (names.empty() ? "" : separator) + std::string(arch.name);
  return names;
}

/// "cpu:avx2, cpu:avxvnni, …"
static std::string levelTargets() {
  std::string names;
  for (runtime::IsaLevel level : runtime::isaLevels())
    names += (names.empty() ? "" : ", ") + std::string(isaTarget(level));
  return names;
}

/// "cuda" is every architecture and PTX for those that are not known yet.
static Result<void> addTarget(const std::string &target, CompileOptions &options) {
  std::vector<std::string> levels, gpus;
  if (target == "cpu")
    for (runtime::IsaLevel level : kPortable)
      levels.emplace_back(isaName(level));
  for (runtime::IsaLevel level : runtime::isaLevels())
    if (target == isaTarget(level))
      levels.emplace_back(isaName(level));
  for (const runtime::GpuArch &arch : runtime::gpuArchitectures()) {
    const std::string name = "cuda:" + std::string(arch.name);
    if (target == "cuda" || target == name)
      gpus.push_back(name);
    if (target == "cuda-emulator:" + std::string(arch.name))
      gpus.push_back(target);
  }
  if (target == "cuda" || target == runtime::kPtxTarget)
    gpus.emplace_back(runtime::kPtxTarget);
  if (levels.empty() && gpus.empty())
    return usage("E0402", "unknown target '" + target + "'",
                 "targets are cpu, " + levelTargets() + "; cuda, cuda:" + architectureNames(", ") +
                     ", compute_80 (PTX); cuda-emulator:sm_90a",
                 "--target cpu");
  auto add = [](std::vector<std::string> &to, const std::vector<std::string> &from) {
    to.insert(to.end(), from.begin(), from.end());
    std::sort(to.begin(), to.end()); // the same engine, whatever the order of flags
    to.erase(std::unique(to.begin(), to.end()), to.end());
  };
  add(options.targets, levels);
  add(options.gpuTargets, gpus);
  return {};
}

/// Lines `GLOB FORMAT`; '#' starts a comment. As the pass takes them: "GLOB:FORMAT".
static Result<void> readRecipe(const std::string &path, CompileOptions &options) {
  std::ifstream in(path);
  if (!in)
    return Error{ExitCode::File, "E0413", "cannot read the recipe", path,
                 "--recipe names a file of lines: GLOB FORMAT"};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string glob, format, more;
    if (!(words >> glob))
      continue;
    words >> format >> more;
    std::replace(format.begin(), format.end(), '-', '_');
    const char *formats[] = {"int8", "int4_g32", "int4_g64", "int4_g128", "fp8", "bf16"};
    if (!more.empty() ||
        std::find(std::begin(formats), std::end(formats), format) == std::end(formats))
      return Error{
          ExitCode::File, "E0414", path + ", line " + std::to_string(number) + ": '" + line + "'",
          "a line is a glob over weight names and int8, int4-g32, int4-g64, int4-g128, fp8 or bf16",
          "blk.*.ffn_down int8"};
    options.recipe.push_back(glob + ":" + format);
    options.recipeLines.push_back(number);
  }
  if (options.recipe.empty())
    return Error{ExitCode::File, "E0418", "the recipe has no rules", path,
                 "write lines of GLOB FORMAT into it (blk.*.ffn_down int8), or drop --recipe"};
  options.recipeFile = path;
  return {};
}

/// CLI11 takes -1 for the largest number.
static std::string notNegative(const std::string &text) {
  return text.starts_with("-") ? "expected a number from 0 to 2^64 - 1, got " + text : "";
}

const char *compiler::weightOriginName(WeightOrigin origin) {
  return origin == WeightOrigin::Random ? "random" : origin == WeightOrigin::Seed ? "seed" : "";
}

/// --kv says the type of each kind of device that has it; the other keeps its default.
static Result<void> chooseKv(CompileOptions &o) {
  const std::optional<KvFormat> wanted = kvFormatNamed(o.kv);
  if (!o.kv.empty() && !wanted)
    return usage("E0403", "unsupported type of KV cache '" + o.kv + "'",
                 "types are " + kvFormatNames(isOfAny, "and"), "--kv bf16");
  const bool gpuHas = wanted && kvFormat(*wanted).gpu, cpuHas = wanted && kvFormat(*wanted).cpu;
  if (!o.gpuTargets.empty() && (o.exact || (o.targets.empty() && !o.kv.empty() && !gpuHas)))
    return usage("E0463",
                 "GPU code is made with --precision fast and a KV cache of " +
                     kvFormatNames(isOfGpus, "or"),
                 o.exact ? "--precision exact was given" : "--kv " + o.kv + " was given",
                 "leave it out, or compile for CPUs alone: --target cpu");
  if (wanted && !cpuHas && o.gpuTargets.empty())
    return usage("E0465", "a KV cache of " + o.kv + " is for GPUs",
                 "the targets are CPUs, which have " + kvFormatNames(isOfCpus, "and"),
                 "--kv bf16, or add a GPU: --target cuda:sm_90a");
  if (wanted && !kvFormat(*wanted).isPlain() && o.exact)
    return usage(
        "E0466", "a KV cache of " + o.kv + " rounds what --precision exact keeps",
        "exact engines have " +
            kvFormatNames([](const KvFormatInfo &f) { return f.cpu && f.isPlain(); }, "or"),
        "leave out --kv, or compile with --precision fast");
  o.gpuKv = gpuHas ? o.kv : "bf16";
  if (o.targets.empty())
    o.kv = o.gpuKv;
  else if (!cpuHas)
    o.kv = o.exact ? "f32" : "f16";
  return {};
}

static const std::vector<std::string> &extensionPoints() {
  static const std::vector<std::string> points = {"import", "pre-fusion", "post-fusion", "pre-plan",
                                                  "pre-codegen"};
  return points;
}

static bool isPoint(const std::string &name) {
  return std::find(extensionPoints().begin(), extensionPoints().end(), name) !=
         extensionPoints().end();
}

static Error noSuchPoint(const std::string &given, const std::string &point, std::string example) {
  const std::string near = didYouMean(point, extensionPoints());
  return usage("E0408", "unknown extension point in '" + given + "'",
               "points are import, pre-fusion, post-fusion, pre-plan and pre-codegen" +
                   (near.empty() ? "" : "; " + near),
               std::move(example));
}

/// "post-fusion=rules.pdll", or a file alone.
static PatternsAt patternsAt(const std::string &given) {
  const size_t equals = given.find('=');
  if (equals != std::string::npos && isPoint(given.substr(0, equals)))
    return {given.substr(0, equals), given.substr(equals + 1)};
  return {kPatternsPoint, given};
}

/// What was given of the options that decide what is in the engine, as typed; of files what they hold. Those that
/// `ingot run` knows come first, in its order: it finds the same engine.
static Result<void> noteIdentity(const cli::CommandLine &command, CompileOptions &o) {
  for (const char *name :
       {"--target", "--ignore-key", "--quantize", "--kv", "--precision", "--weights", "--seed",
        "--disable", "--insert", "--batch-invariant", "--verify"})
    for (const std::string &value : command.find(name).values())
      o.identity.insert(o.identity.end(), {name, value});
  auto noteFile = [&](const std::string &name, const std::string &path,
                      const std::string &before) -> Result<void> {
    std::ifstream in(path, std::ios::binary);
    if (!in)
      return Error{ExitCode::File, "E0419", "cannot read the file of " + name, path,
                   "give a file that may be read"};
    o.identity.insert(o.identity.end(),
                      {name, before + std::string(std::istreambuf_iterator<char>(in), {})});
    return {};
  };
  for (const char *name : {"--recipe", "--plugin", "--chat-template", "--tuning"})
    for (const std::string &path : command.find(name).values())
      if (auto ok = noteFile(name, path, ""); !ok)
        return ok;
  for (const auto &[point, path] : o.patterns)
    if (auto ok = noteFile("--patterns", path, point + "="); !ok)
      return ok;
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
  std::vector<std::string> targets, insertions, patterns;
  std::string recipe;
  std::string precision = "fast", quantize, emit, weights;
  command
      .option("MODEL", o.model,
              "folder, .gguf, .safetensors, hf:ORG/NAME, or config.json with --weights")
      .required();
  command.option("-o,--output", o.output, "the engine to write");
  command
      .option("--target", targets,
              "cpu (avx2 and avx512), " + levelTargets() + "; cuda:" + architectureNames("|") +
                  ", cuda (all of them); cuda-emulator:sm_90a; may be repeated")
      .typeName("T");
  command.option("--quantize", quantize,
                 "floating weights become int8, int4-g32, int4-g64, int4-g128 or fp8");
  command.option("--recipe", recipe,
                 "a file of lines `GLOB FORMAT`: formats of single weights (blk.*.ffn_down int8)");
  command
      .option(
          "--patterns", patterns,
          "rewrite patterns, .pdll or .pdl.mlir, applied before fusion or at a point of --insert; may be repeated")
      .typeName("[POINT=]F")
      .takesOne();
  command.option("--plugin", o.plugins, "a shared object with your own passes; may be repeated")
      .typeName("F.so")
      .takesOne(); // what follows may be MODEL
  command
      .option("--insert", insertions,
              "run passes at a point: import, pre-fusion, post-fusion, pre-plan or pre-codegen")
      .typeName("POINT=PIPELINE")
      .takesOne();
  command.option("--kv", o.kv,
                 "type of the KV cache: " + kvFormatNames(isOfCpus, "or") +
                     " (default f16; f32 with --precision exact); on GPUs " +
                     kvFormatNames(isOfGpus, "or") + " (default bf16)");
  command
      .option("--precision", precision,
              "fast: int8 activations for quantised weights; exact: f32 throughout")
      .oneOf({"fast", "exact"});
  command.flag(
      "--batch-invariant", o.batchInvariant,
      "GPU code that gives a token the same bits in every batch (slower prompts on sm_90a)");
  command
      .option("--weights", weights,
              "made up from --seed: random packs them, seed leaves them to the device at load")
      .oneOf({"random", "seed"});
  cli::Option seed =
      command.option("--seed", o.seed, "of --weights (default: 0)").check(notNegative);
  command.option("--chat-template", o.chatTemplate,
                 "a Jinja file for a checkpoint that has none, or instead of its own");
  command.option("--disable", o.disabled, "leave out an optional pass (see: ingot passes)")
      .typeName("PASS");
  command
      .option("--dump-after", o.dumpAfter,
              "print the IR after a pass, to stderr; all: after each that changes it")
      .typeName("PASS");
  command.option("--remarks", o.remarks, "why ops were fused or not: passed, missed, all")
      .oneOf({"passed", "missed", "all"});
  command
      .option(
          "--emit", emit,
          "instead of an engine: lm, fused, kernel (what each computes), plan (with launches), llvm, asm or cuda; to -o or standard output")
      .oneOf({"lm", "fused", "kernel", "plan", "llvm", "asm", "cuda"});
  cli::Option kernel =
      command.option("--kernel", o.kernel, "this kernel alone, of --emit kernel, llvm, asm or cuda")
          .typeName("NAME");
  cli::Option brief = command.flag(
      "--brief", o.brief,
      "of --emit lm, fused, kernel or plan: without most weights, long lines cut; for reading");
  command
      .option(
          "--cache", o.cache,
          "keep generated code in DIR/code, and take from there what was generated before; without -o the engine stays "
          "in DIR, and its path is printed")
      .typeName("DIR");
  command
      .option("--tuning", o.tuning,
              "take schedules from this file of rows (ingot tune writes them)")
      .typeName("F");
  command.option("-j,--jobs", o.threads, "threads (default: all)").range(1, 256);
  command
      .option(
          "--ignore-key", o.ignoredKeys,
          "a key of config.json or of a GGUF that changes nothing, you are sure; PREFIX* for many; may be repeated")
      .typeName("KEY")
      .takesOne();
  command.flag(
      "--verify", o.verify,
      "run all passes over lm against the interpreter on the checkpoint's weights too, and measure what rounding them costs");
  command.flag("--quiet", o.quiet, "print nothing but errors");
  command.flag("--json", o.json, "print the summary as JSON");
  int errorTo = -1; // Main.cpp reads it
  command.option("--error-fd", errorTo, "of ingot run: an open file for our error").group("");
  auto parsed = command.parse(argc, argv);
  if (!parsed)
    return parsed.error();
  if (!*parsed)
    return std::optional<CompileOptions>();

  for (const std::string &target : targets)
    if (auto ok = addTarget(target, o); !ok)
      return ok.error();
  if (targets.empty())
    (void)addTarget(emit == "cuda" ? "cuda:sm_90a" : "cpu", o);
  o.exact = precision == "exact";
  if (auto ok = chooseKv(o); !ok)
    return ok.error();
  if (!quantize.empty()) {
    std::replace(quantize.begin(), quantize.end(), '-', '_');
    if (quantize != "int8" && quantize != "int4_g32" && quantize != "int4_g64" &&
        quantize != "int4_g128" && quantize != "fp8")
      return usage("E0404", "unknown quantisation '" + quantize + "'",
                   "formats are int8, int4-g32, int4-g64, int4-g128 and fp8",
                   "--quantize int4-g64");
    o.quantize = quantize;
  }
  if (!recipe.empty())
    if (auto ok = readRecipe(recipe, o); !ok)
      return ok.error();
  for (const std::string &given : patterns) {
    o.patterns.push_back(patternsAt(given));
    const std::string word = given.substr(0, given.find('='));
    if (word != given && !isPoint(word) && !didYouMean(word, extensionPoints()).empty() &&
        !std::ifstream(given))
      return noSuchPoint(given, word, "--patterns pre-fusion=" + given.substr(word.size() + 1));
  }
  for (const std::string &insertion : insertions) {
    size_t equals = insertion.find('=');
    std::string point = insertion.substr(0, equals);
    if (equals == std::string::npos || !isPoint(point))
      return noSuchPoint(insertion, point, "--insert 'pre-fusion=lm.model(my-pass)'");
    o.insertions.emplace_back(point, insertion.substr(equals + 1));
  }
  for (WeightOrigin origin : {WeightOrigin::Random, WeightOrigin::Seed})
    if (weights == weightOriginName(origin))
      o.weights = origin;
  if (seed.given() && o.weights == WeightOrigin::Checkpoint)
    return usage("E0407", "--seed has nothing to seed", "the weights are the checkpoint's own",
                 "add --weights random or --weights seed, or drop --seed");
  const std::pair<const char *, Emit> emits[] = {
      {"lm", Emit::Lm},     {"fused", Emit::Fused}, {"kernel", Emit::Kernel}, {"plan", Emit::Plan},
      {"llvm", Emit::Llvm}, {"asm", Emit::Asm},     {"cuda", Emit::Cuda}};
  for (auto [name, kind] : emits)
    if (emit == name)
      o.emit = kind;
  if ((o.emit == Emit::Cuda && o.gpuTargets.empty()) ||
      ((o.emit == Emit::Llvm || o.emit == Emit::Asm) && o.targets.empty()))
    return usage("E0464", "--emit " + emit + " has nothing to print",
                 "no target of that kind was given",
                 o.emit == Emit::Cuda ? "--target cuda:sm_90a" : "--target cpu");
  if (kernel.given() && o.emit != Emit::Kernel && o.emit != Emit::Llvm && o.emit != Emit::Asm &&
      o.emit != Emit::Cuda)
    return usage("E0474", "--kernel has nothing to choose from", "it is for what prints kernels",
                 "--emit asm --kernel " + o.kernel);
  if (brief.given() && o.emit != Emit::Lm && o.emit != Emit::Fused && o.emit != Emit::Kernel &&
      o.emit != Emit::Plan)
    return usage("E0476", "--brief has nothing to shorten", "it is for IR that is printed",
                 "--emit fused --brief");
  o.intoCache = o.emit == Emit::Engine && o.output.empty() && !o.cache.empty();
  if (o.emit == Emit::Engine && o.output.empty() && !o.intoCache)
    return usage("E0405", "no engine to write",
                 "-o names the file; with --cache DIR alone it is kept there",
                 "ingot compile " + o.model + " -o model.ingot");
  if (o.intoCache)
    if (auto ok = noteIdentity(command, o); !ok)
      return ok.error();
  return std::optional(std::move(o));
}
