//===- Mixes.cpp - See Mixes.h ---------------------------------------------===//
#include "compiler/console/Mixes.h"
#include "compiler/console/Options.h"
#include "runtime/abi/Limits.h"
#include "runtime/engine/Inspect.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::compiler;
using runtime::grouped;

static bool isOnGpu(const Mix &, const Mixture &m) { return !m.gpu.empty(); }
static bool hasExperts(const Mix &, const Mixture &m) { return m.model.experts != 0; }
static bool hasGpuExperts(const Mix &mix, const Mixture &m) {
  return isOnGpu(mix, m) && hasExperts(mix, m);
}
static bool hasKv(const Mix &mix, const Mixture &m) { return m.kv == kvFormat(mix.kv).name; }
/// Whether the format applies to a target. In an engine for CPUs and GPUs, it applies to the devices that
/// support it; the others keep their default.
static bool hasKvOnDevice(const Mix &mix, const Mixture &m) {
  const KvFormatInfo &format = kvFormat(mix.kv);
  return hasKv(mix, m) && ((format.cpu && !m.cpu.empty()) || (format.gpu && !m.gpu.empty()));
}

/// Returns "the model has 2,000 experts" if that exceeds the limit, else an empty string.
static std::string beyond(int64_t found, int64_t limit, const std::string &what) {
  if (found <= limit)
    return "";
  return "the model has " + grouped(found) + " " + what;
}

static std::string givenTarget(const std::string &target) {
  return target.empty() ? "" : "--target " + target + " was given";
}

const std::vector<Mix> &compiler::mixes() {
  static const std::vector<Mix> table = [] {
    using M = const Mixture &;
    using R = const Mix &;
    std::vector<Mix> all;
    all.push_back({"--precision exact", "only CPUs among the targets", "E0463",
                   [](R, M m) { return m.exact; }, [](R, M m) { return givenTarget(m.gpu); },
                   "omit --precision exact, or compile only for CPUs: --target cpu"});
    for (KvFormat id : {KvFormat::F32, KvFormat::BF16, KvFormat::F16, KvFormat::Int8, KvFormat::FP8,
                        KvFormat::Int4}) {
      const KvFormatInfo &format = kvFormat(id);
      const std::string name(format.name), feature = "--kv " + name;
      if (!format.gpu)
        all.push_back({feature, "a CPU among the targets", "E0463", hasKv,
                       [](R, M m) -> std::string {
                         return m.cpu.empty() ? givenTarget(m.gpu) : std::string();
                       },
                       "GPUs support " + kvFormatNames(isOfGpus, "and") + ": --kv bf16", id});
      if (!format.cpu)
        all.push_back({feature, "a GPU among the targets", "E0465", hasKv,
                       [](R, M m) -> std::string {
                         return m.gpu.empty() ? givenTarget(m.cpu) : std::string();
                       },
                       "CPUs support " + kvFormatNames(isOfCpus, "and") +
                           ": --kv bf16; or add a GPU: --target cuda:sm_90a",
                       id});
      if (!format.isPlain())
        all.push_back({feature, "--precision fast", "E0466", hasKv,
                       [](R, M m) -> std::string {
                         return m.exact
                                    ? "--precision exact was given, but this feature rounds values"
                                    : "";
                       },
                       "omit --kv, or compile with --precision fast", id});
      if (format.step > 1)
        all.push_back({feature, "heads of a multiple of " + std::to_string(format.step) + " values",
                       "E0467", hasKvOnDevice,
                       [](R mix, M m) -> std::string {
                         for (int64_t width : m.model.headWidths)
                           if (width % kvFormat(mix.kv).step != 0)
                             return "the model's heads have " + std::to_string(width) + " values";
                         return "";
                       },
                       "--kv f16", id});
    }
    all.push_back({"code for GPUs", "heads of at most " + grouped(kGpuLimits.headWidth) + " values",
                   "E0468", isOnGpu,
                   [](R, M m) {
                     int64_t widest = 0;
                     for (int64_t width : m.model.headWidths)
                       widest = std::max(widest, width);
                     return beyond(widest, kGpuLimits.headWidth, "values in a head");
                   },
                   "compile for CPUs: --target cpu"});
    all.push_back({"experts", "at most " + grouped(kMostExperts) + " of them", "E0469", hasExperts,
                   [](R, M m) { return beyond(m.model.experts, kMostExperts, "experts"); },
                   "use another checkpoint, or correct its config.json"});
    all.push_back({"experts on GPUs", "at most " + grouped(kGpuLimits.experts) + " of them",
                   "E0469", hasGpuExperts,
                   [](R, M m) { return beyond(m.model.experts, kGpuLimits.experts, "experts"); },
                   "compile for CPUs: --target cpu"});
    all.push_back({"experts on GPUs", "at most " + grouped(kGpuLimits.expertsUsed) + " for a token",
                   "E0469", hasGpuExperts,
                   [](R, M m) {
                     return beyond(m.model.expertsUsed, kGpuLimits.expertsUsed,
                                   "experts for a token");
                   },
                   "compile for CPUs: --target cpu"});
    all.push_back(
        {"experts on GPUs", "at most " + grouped(kGpuLimits.expertGroups) + " groups of them",
         "E0469", hasGpuExperts,
         [](R, M m) {
           return beyond(m.model.expertGroups, kGpuLimits.expertGroups, "groups of experts");
         },
         "compile for CPUs: --target cpu"});
    all.push_back(
        {"--verify", "the weights of a checkpoint", "E0412", [](R, M m) { return m.verify; },
         [](R, M m) -> std::string {
           return m.madeUp ? "--weights generates dummy weights instead of reading a checkpoint"
                           : "";
         },
         "omit --verify or --weights"});
    return all;
  }();
  return table;
}

static const Mix *brokenBy(const Mixture &mixture) {
  for (const Mix &mix : mixes())
    if (mix.has(mix, mixture) && !mix.lacks(mix, mixture).empty())
      return &mix;
  return nullptr;
}

/// Rewrites "--kv int4" in a message as "--kv 0-3=int4" if the rule is for single layers.
static std::string inLayers(std::string text, const Mixture &mixture) {
  for (KvFormat id : {KvFormat::F32, KvFormat::BF16, KvFormat::F16, KvFormat::Int8, KvFormat::FP8,
                      KvFormat::Int4})
    if (const size_t at = text.find("--kv " + std::string(kvFormat(id).name));
        at != std::string::npos && !mixture.kvLayers.empty())
      text.insert(at + 5, mixture.kvLayers + "=");
  return text;
}

Result<void> compiler::checkMixture(const Mixture &mixture) {
  const Mix *mix = brokenBy(mixture);
  if (!mix)
    return {};
  return Error{ExitCode::Usage, mix->code, inLayers(mix->feature, mixture) + " needs " + mix->needs,
               mix->lacks(*mix, mixture), inLayers(mix->fix, mixture)};
}

Result<void> compiler::checkMixture(const CompileOptions &options, const KvRule &rule,
                                    ModelSizes model) {
  Mixture mixture = mixtureOf(options, std::move(model));
  mixture.kv = kvFormat(rule.format).name;
  mixture.kvLayers = rule.layers;
  auto held = checkMixture(mixture);
  if (held)
    return {};
  Error error = held.error();
  if (!rule.place.empty())
    error.what = rule.place + ": " + error.what;
  return error;
}

Mixture compiler::mixtureOf(const CompileOptions &options, ModelSizes model) {
  return {options.targets.empty() ? "" : "cpu:" + options.targets.front(),
          options.gpuTargets.empty() ? "" : options.gpuTargets.front(),
          options.kvAsked,
          "",
          options.exact,
          options.verify,
          options.weights != WeightOrigin::Checkpoint,
          std::move(model)};
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

namespace {
/// A row or a column: the feature that it adds to a combination.
struct Ingredient {
  std::string name;
  void (*add)(Mixture &);
};
} // namespace

/// The features of models. A feature without a limit is compatible with everything, and the tests check that.
static const std::vector<Ingredient> &features() {
  static const std::vector<Ingredient> all = {
      {"attention to all", [](Mixture &) {}},
      {"windows", [](Mixture &) {}},
      {"softcaps", [](Mixture &) {}},
      {"sinks", [](Mixture &m) { m.model = {{}, 4, 2, 1}; }},
      {"learned positions", [](Mixture &) {}},
      {"fixed states", [](Mixture &) {}},
      {"experts", [](Mixture &m) { m.model = {{}, 4, 2, 1}; }},
      {"weights as codes", [](Mixture &) {}},
      {"heads of 6", [](Mixture &m) { m.model.headWidths = {6}; }},
      {"heads of 20", [](Mixture &m) { m.model.headWidths = {20}; }},
      {"heads of 320", [](Mixture &m) { m.model.headWidths = {320}; }},
      {"1,500 experts", [](Mixture &m) { m.model = {{}, 1500, 2, 1}; }},
      {"3,000 experts", [](Mixture &m) { m.model = {{}, 3000, 2, 1}; }},
      {"40 experts a token", [](Mixture &m) { m.model = {{}, 64, 40, 1}; }},
      {"--precision exact", [](Mixture &m) { m.exact = true; }},
      {"--verify", [](Mixture &m) { m.verify = true; }},
  };
  return all;
}

/// The options that a user can request. An engine is for CPUs by default.
static const std::vector<Ingredient> &choices() {
  static const std::vector<Ingredient> all = {
      {"cpu", [](Mixture &m) { m.cpu = "cpu"; }},
      {"cuda", [](Mixture &m) { m.cpu = "", m.gpu = "cuda"; }},
      {"kv f32", [](Mixture &m) { m.kv = "f32"; }},
      {"kv bf16", [](Mixture &m) { m.kv = "bf16"; }},
      {"kv f16", [](Mixture &m) { m.kv = "f16"; }},
      {"kv int8", [](Mixture &m) { m.kv = "int8"; }},
      {"kv int4", [](Mixture &m) { m.kv = "int4"; }},
      {"cuda, kv fp8", [](Mixture &m) { m.cpu = "", m.gpu = "cuda", m.kv = "fp8"; }},
      {"cuda, kv f16", [](Mixture &m) { m.cpu = "", m.gpu = "cuda", m.kv = "f16"; }},
      {"kv fp8", [](Mixture &m) { m.kv = "fp8"; }},
      {"kv 1-=int4", [](Mixture &m) { m.kv = "int4", m.kvLayers = "1-"; }},
      {"cuda, kv 1-=fp8",
       [](Mixture &m) { m.cpu = "", m.gpu = "cuda", m.kv = "fp8", m.kvLayers = "1-"; }},
      {"cuda, kv 1-=int8",
       [](Mixture &m) { m.cpu = "", m.gpu = "cuda", m.kv = "int8", m.kvLayers = "1-"; }},
      {"exact", [](Mixture &m) { m.exact = true; }},
      {"int4-g32", [](Mixture &) {}},
      {"fp8", [](Mixture &) {}},
      {"seeded", [](Mixture &m) { m.madeUp = true; }},
  };
  return all;
}

static const Mix *cell(const Ingredient &feature, const Ingredient &choice, Mixture &mixture) {
  mixture.cpu = "cpu";
  feature.add(mixture);
  choice.add(mixture);
  return brokenBy(mixture);
}

static void pad(std::string &text, const std::string &word, size_t width) {
  text += word + std::string(word.size() < width ? width - word.size() : 0, ' ') + "  ";
}

std::string compiler::mixesText() {
  constexpr size_t kFeature = 20, kCode = 6;
  std::string text;
  pad(text, "FEATURE", kFeature);
  pad(text, "ELSE", kCode);
  text += "NEEDS\n";
  for (const Mix &mix : mixes()) {
    pad(text, mix.feature, kFeature);
    pad(text, mix.code, kCode);
    text += mix.needs + "\n";
  }
  text += "\nFeatures and options (for CPUs, if no device is named): . means supported, else the "
          "error\n\n";
  pad(text, "", kFeature);
  for (const Ingredient &choice : choices())
    pad(text, choice.name, kCode);
  text.erase(text.find_last_not_of(' ') + 1);
  text += "\n";
  for (const Ingredient &feature : features()) {
    pad(text, feature.name, kFeature);
    for (const Ingredient &choice : choices()) {
      Mixture mixture;
      const Mix *broken = cell(feature, choice, mixture);
      pad(text, broken ? broken->code : ".", std::max(kCode, choice.name.size()));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string compiler::mixesJson() {
  std::string text;
  for (const Ingredient &feature : features())
    for (const Ingredient &choice : choices()) {
      Mixture mixture;
      const Mix *broken = cell(feature, choice, mixture);
      text += (text.empty() ? "[" : ",\n ") + std::string("{\"feature\":\"") + feature.name +
              "\",\"with\":\"" + choice.name + "\",\"code\":\"" + (broken ? broken->code : "") +
              "\",\"why\":\"" +
              (broken ? inLayers(broken->feature, mixture) + " needs " + broken->needs : "") +
              "\"}";
    }
  return text + "]\n";
}
