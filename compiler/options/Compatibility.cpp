//===- Compatibility.cpp - See Compatibility.h ----------------------------===//
#include "compiler/options/Compatibility.h"
#include "compiler/options/Options.h"
#include "runtime/abi/Limits.h"
#include "runtime/engine/Inspect.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::compiler;
using runtime::grouped;

static bool isOnGpu(const Requirement &, const Combination &m) { return !m.gpu.empty(); }
static bool hasExperts(const Requirement &, const Combination &m) { return m.model.experts != 0; }
static bool hasGpuExperts(const Requirement &rule, const Combination &m) {
  return isOnGpu(rule, m) && hasExperts(rule, m);
}
static bool hasKv(const Requirement &rule, const Combination &m) {
  return m.kv == kvFormat(rule.kv).name;
}
/// Returns whether the format applies to a target. In an engine for CPUs and GPUs, it applies to the devices that
/// support it; the others keep their default.
static bool hasKvOnDevice(const Requirement &rule, const Combination &m) {
  const KvFormatInfo &format = kvFormat(rule.kv);
  return hasKv(rule, m) && ((format.cpu && !m.cpu.empty()) || (format.gpu && !m.gpu.empty()));
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

const std::vector<Requirement> &compiler::requirements() {
  static const std::vector<Requirement> table = [] {
    using M = const Combination &;
    using R = const Requirement &;
    std::vector<Requirement> all;
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
                       [](R rule, M m) -> std::string {
                         for (int64_t width : m.model.headWidths)
                           if (width % kvFormat(rule.kv).step != 0)
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
           return m.dummy ? "--weights generates dummy weights instead of reading a checkpoint"
                          : "";
         },
         "omit --verify or --weights"});
    return all;
  }();
  return table;
}

static const Requirement *brokenBy(const Combination &combination) {
  for (const Requirement &rule : requirements())
    if (rule.has(rule, combination) && !rule.lacks(rule, combination).empty())
      return &rule;
  return nullptr;
}

/// Rewrites "--kv int4" in a message as "--kv 0-3=int4" if the rule is for single layers.
static std::string inLayers(std::string text, const Combination &combination) {
  for (KvFormat id : {KvFormat::F32, KvFormat::BF16, KvFormat::F16, KvFormat::Int8, KvFormat::FP8,
                      KvFormat::Int4})
    if (const size_t at = text.find("--kv " + std::string(kvFormat(id).name));
        at != std::string::npos && !combination.kvLayers.empty())
      text.insert(at + 5, combination.kvLayers + "=");
  return text;
}

Result<void> compiler::checkCompatibility(const Combination &combination) {
  const Requirement *rule = brokenBy(combination);
  if (!rule)
    return {};
  return Error{ExitCode::Usage, rule->code,
               inLayers(rule->feature, combination) + " needs " + rule->needs,
               rule->lacks(*rule, combination), inLayers(rule->fix, combination)};
}

Result<void> compiler::checkCompatibility(const CompileOptions &options, const KvRule &rule,
                                          ModelSizes model) {
  Combination combination = combinationOf(options, std::move(model));
  combination.kv = kvFormat(rule.format).name;
  combination.kvLayers = rule.layers;
  auto held = checkCompatibility(combination);
  if (held)
    return {};
  Error error = held.error();
  if (!rule.place.empty())
    error.what = rule.place + ": " + error.what;
  return error;
}

Combination compiler::combinationOf(const CompileOptions &options, ModelSizes model) {
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
/// A row or a column of the grid. Each adds one feature to a combination.
struct Feature {
  std::string name;
  void (*add)(Combination &);
};
} // namespace

/// Returns the features of models. A feature without a limit is compatible with everything, and the tests check that.
static const std::vector<Feature> &features() {
  static const std::vector<Feature> all = {
      {"attention to all", [](Combination &) {}},
      {"windows", [](Combination &) {}},
      {"softcaps", [](Combination &) {}},
      {"sinks", [](Combination &m) { m.model = {{}, 4, 2, 1}; }},
      {"learned positions", [](Combination &) {}},
      {"fixed states", [](Combination &) {}},
      {"experts", [](Combination &m) { m.model = {{}, 4, 2, 1}; }},
      {"weights as codes", [](Combination &) {}},
      {"heads of 6", [](Combination &m) { m.model.headWidths = {6}; }},
      {"heads of 20", [](Combination &m) { m.model.headWidths = {20}; }},
      {"heads of 320", [](Combination &m) { m.model.headWidths = {320}; }},
      {"1,500 experts", [](Combination &m) { m.model = {{}, 1500, 2, 1}; }},
      {"3,000 experts", [](Combination &m) { m.model = {{}, 3000, 2, 1}; }},
      {"40 experts a token", [](Combination &m) { m.model = {{}, 64, 40, 1}; }},
      {"--precision exact", [](Combination &m) { m.exact = true; }},
      {"--verify", [](Combination &m) { m.verify = true; }},
  };
  return all;
}

/// Returns the options that a user can request. An engine is for CPUs by default.
static const std::vector<Feature> &choices() {
  static const std::vector<Feature> all = {
      {"cpu", [](Combination &m) { m.cpu = "cpu"; }},
      {"cuda", [](Combination &m) { m.cpu = "", m.gpu = "cuda"; }},
      {"kv f32", [](Combination &m) { m.kv = "f32"; }},
      {"kv bf16", [](Combination &m) { m.kv = "bf16"; }},
      {"kv f16", [](Combination &m) { m.kv = "f16"; }},
      {"kv int8", [](Combination &m) { m.kv = "int8"; }},
      {"kv int4", [](Combination &m) { m.kv = "int4"; }},
      {"cuda, kv fp8", [](Combination &m) { m.cpu = "", m.gpu = "cuda", m.kv = "fp8"; }},
      {"cuda, kv f16", [](Combination &m) { m.cpu = "", m.gpu = "cuda", m.kv = "f16"; }},
      {"kv fp8", [](Combination &m) { m.kv = "fp8"; }},
      {"kv 1-=int4", [](Combination &m) { m.kv = "int4", m.kvLayers = "1-"; }},
      {"cuda, kv 1-=fp8",
       [](Combination &m) { m.cpu = "", m.gpu = "cuda", m.kv = "fp8", m.kvLayers = "1-"; }},
      {"cuda, kv 1-=int8",
       [](Combination &m) { m.cpu = "", m.gpu = "cuda", m.kv = "int8", m.kvLayers = "1-"; }},
      {"exact", [](Combination &m) { m.exact = true; }},
      {"int4-g32", [](Combination &) {}},
      {"fp8", [](Combination &) {}},
      {"seeded", [](Combination &m) { m.dummy = true; }},
  };
  return all;
}

static const Requirement *cell(const Feature &feature, const Feature &choice,
                               Combination &combination) {
  combination.cpu = "cpu";
  feature.add(combination);
  choice.add(combination);
  return brokenBy(combination);
}

static void pad(std::string &text, const std::string &word, size_t width) {
  text += word + std::string(word.size() < width ? width - word.size() : 0, ' ') + "  ";
}

std::string compiler::compatibilityText() {
  constexpr size_t kFeature = 20, kCode = 6;
  std::string text;
  pad(text, "FEATURE", kFeature);
  pad(text, "ELSE", kCode);
  text += "NEEDS\n";
  for (const Requirement &rule : requirements()) {
    pad(text, rule.feature, kFeature);
    pad(text, rule.code, kCode);
    text += rule.needs + "\n";
  }
  text += "\nFeatures and options (for CPUs, if no device is named): . means supported, else the "
          "error\n\n";
  pad(text, "", kFeature);
  for (const Feature &choice : choices())
    pad(text, choice.name, kCode);
  text.erase(text.find_last_not_of(' ') + 1);
  text += "\n";
  for (const Feature &feature : features()) {
    pad(text, feature.name, kFeature);
    for (const Feature &choice : choices()) {
      Combination combination;
      const Requirement *broken = cell(feature, choice, combination);
      pad(text, broken ? broken->code : ".", std::max(kCode, choice.name.size()));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string compiler::compatibilityJson() {
  std::string text;
  for (const Feature &feature : features())
    for (const Feature &choice : choices()) {
      Combination combination;
      const Requirement *broken = cell(feature, choice, combination);
      text += (text.empty() ? "[" : ",\n ") + std::string("{\"feature\":\"") + feature.name +
              "\",\"with\":\"" + choice.name + "\",\"code\":\"" + (broken ? broken->code : "") +
              "\",\"why\":\"" +
              (broken ? inLayers(broken->feature, combination) + " needs " + broken->needs : "") +
              "\"}";
    }
  return text + "]\n";
}
