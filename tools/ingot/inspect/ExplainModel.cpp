//===- ExplainModel.cpp - ingot explain MODEL -----------------------------===//
//
// Launches and their costs come from the engine. Fusion decisions come from the remarks that the compiler writes
// while it makes an engine. A checkpoint's shape is therefore compiled with dummy weights to get its remarks.
//===----------------------------------------------------------------------===//
#include "tools/ingot/inspect/ExplainModel.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/GpuMachine.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Isa.h"
#include "runtime/engine/Program.h"
#include "tools/files/Json.h"
#include "tools/files/TemporaryFolder.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/ModelName.h"
#include "tools/ingot/measure/roofline/StepTime.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <simdjson.h>
#include <thread>

namespace ingot::cli {

namespace {

/// A decision of a fusion pass, as `ingot compile --remarks-file F.json` writes it.
struct FusionRemark {
  std::string function, fusion, op, why;
  bool passed = false;
};

struct ExplainedLaunch {
  std::string kernel, family, ops; ///< ops: empty if no remark names them
  double bytes = 0, us = 0;        ///< us: 0 if the cost model cannot predict it
};

/// A stage (section) of the program: a layer kind, or the work before or after the layers.
struct ExplainedSection {
  std::string name;
  uint64_t steps = 0; ///< how often it runs in a step of the model
  std::vector<ExplainedLaunch> launches;

  double sum(double ExplainedLaunch::*what) const {
    double all = 0;
    for (const ExplainedLaunch &launch : launches)
      all += launch.*what;
    return all;
  }
};

struct Explanation {
  std::string target;
  std::vector<ExplainedSection> sections;
  std::vector<FusionRemark> remarks;
  bool predicted = false; ///< the limits of the machine are known
  bool reasons = false;   ///< remarks were written
};

std::vector<FusionRemark> readRemarks(const std::string &path) {
  std::vector<FusionRemark> remarks;
  std::ifstream in(path);
  simdjson::dom::parser parser;
  for (std::string line; std::getline(in, line);) {
    simdjson::dom::element root;
    if (parser.parse(line).get(root))
      continue;
    auto text = [&](const char *key) {
      std::string_view value;
      return root[key].get(value) ? std::string() : std::string(value);
    };
    FusionRemark remark{text("function"), text("fusion"), text("op"), text("what") + text("reason"),
                        text("result") == "passed"};
    remarks.push_back(std::move(remark));
  }
  return remarks;
}

/// Returns the pattern in a kernel's name: "gate_up" for "gate_up_0", "linear" for "linear_0_keys".
std::string patternOf(const std::string &kernel) {
  for (size_t at = kernel.find('_'); at != std::string::npos; at = kernel.find('_', at + 1))
    if (at + 1 < kernel.size() && kernel[at + 1] >= '0' && kernel[at + 1] <= '9')
      return kernel.substr(0, at);
  return kernel;
}

/// Returns the ops of a launch. They are the ops of the fusion that the kernel is named after, preferably in the
/// function that became the section.
std::string opsOf(const std::string &kernel, const std::string &section,
                  std::vector<FusionRemark> &unused) {
  const std::string pattern = patternOf(kernel);
  for (bool same : {true, false})
    for (auto remark = unused.begin(); remark != unused.end(); ++remark)
      if (remark->passed && remark->fusion == pattern && (remark->function == section) == same) {
        std::string ops = remark->op;
        unused.erase(remark);
        return ops;
      }
  return "";
}

Explanation explained(const runtime::EngineFile &engine, std::vector<FusionRemark> remarks,
                      const ExplainOptions &options) {
  const fb::Program &program = *engine.table().programs()->Get(0);
  Explanation all;
  all.target = (*program.code()->rbegin())->target()->str(); // the best level
  const int threads =
      options.threads ? options.threads : int(std::max(1u, std::thread::hardware_concurrency()));
  const MachineLimits limits = limitsFor(all.target, threads);
  const fb::CodeObject *code = codeWithCosts(program, all.target);
  const runtime::GpuMachine *gpu = runtime::gpuMachineFor(all.target);
  const double startUs = gpu ? gpu->exposedUs : 0; // start-up time of each launch
  all.predicted = limits.readGbPerS > 0 && code;
  const auto tokens = static_cast<double>(options.tokens);
  const StepLoad load{1, tokens, std::max(tokens, static_cast<double>(options.positions)), 1};
  const runtime::StepCounts counts{fb::Mode::Greedy, static_cast<uint64_t>(options.tokens), 1,
                                   static_cast<uint64_t>(options.tokens)};
  std::vector<FusionRemark> unused = remarks;
  std::map<uint32_t, size_t> known; // engine section -> index in all.sections
  for (const fb::Step *step : *runtime::generateEntry(program).steps()) {
    auto [place, isNew] = known.try_emplace(step->section(), all.sections.size());
    if (!isNew) {
      ++all.sections[place->second].steps;
      continue;
    }
    const fb::Section &section = *program.sections()->Get(step->section());
    ExplainedSection &to = all.sections.emplace_back();
    to.name = section.name()->str(), to.steps = 1;
    for (const fb::Launch *launch : *runtime::caseFor(section, counts).launches()) {
      const fb::Kernel &kernel = *program.kernels()->Get(launch->kernel());
      const fb::KernelCost *cost = code ? code->costs()->Get(launch->kernel()) : nullptr;
      KernelWork work;
      addLaunch(program, *launch, *step, cost, load, work);
      const std::string name = kernel.name()->str();
      to.launches.push_back({name, kernel.family() ? kernel.family()->str() : "",
                             opsOf(name, to.name, unused), work.bytes,
                             predictUs(work, cost, limits, threads) + startUs});
    }
  }
  all.remarks = std::move(remarks);
  return all;
}

std::string sectionText(const ExplainedSection &section, const Explanation &all) {
  std::string text =
      formatted("\n@%s: %zu launches, run %llu time%s in a step\n", section.name.c_str(),
                section.launches.size(), static_cast<unsigned long long>(section.steps),
                section.steps == 1 ? "" : "s");
  for (const ExplainedLaunch &launch : section.launches)
    text +=
        formatted("  %-24s %-10s %12s %10s   %s\n", launch.kernel.c_str(), launch.family.c_str(),
                  runtime::humanBytes(static_cast<uint64_t>(launch.bytes)).c_str(),
                  all.predicted ? formatted("%.1f us", launch.us).c_str() : "-",
                  launch.ops.empty() && all.reasons ? "one op" : launch.ops.c_str());
  return text;
}

std::string text(const Explanation &all, const std::string &model, const ExplainOptions &options) {
  std::string out = formatted(
      "%s for %s: a step of %lld token%s, %lld positions of context\n", model.c_str(),
      all.target.c_str(), static_cast<long long>(options.tokens), options.tokens == 1 ? "" : "s",
      static_cast<long long>(std::max(options.positions, options.tokens)));
  double launches = 0, bytes = 0, us = 0;
  for (const ExplainedSection &section : all.sections) {
    out += sectionText(section, all);
    const auto steps = static_cast<double>(section.steps);
    launches += steps * static_cast<double>(section.launches.size());
    bytes += steps * section.sum(&ExplainedLaunch::bytes);
    us += steps * section.sum(&ExplainedLaunch::us);
  }
  out += formatted("\na step: %.0f launches, %s", launches,
                   runtime::humanBytes(static_cast<uint64_t>(bytes)).c_str());
  out += all.predicted ? formatted(", %.1f us predicted\n", us) : ", no predicted time\n";
  if (!all.reasons)
    return out +
           "\nan engine does not record reasons: give the checkpoint to see what was not fused\n";
  out += "\nnot fused\n";
  bool any = false;
  for (const FusionRemark &remark : all.remarks)
    if (!remark.passed) {
      any = true;
      out += "  @" + remark.function + ", " + remark.op + " (" + remark.fusion +
             "): " + remark.why + "\n";
    }
  return any ? out : out + "  nothing that a pass considered\n";
}

std::string json(const Explanation &all, const std::string &model, const ExplainOptions &options) {
  auto list = [](const auto &items, const auto &object) {
    std::string text = "[";
    for (const auto &item : items)
      text += (text.size() > 1 ? "," : "") + object(item).str();
    return text + "]";
  };
  auto launch = [&](const ExplainedLaunch &one) {
    JsonObject object;
    object.field("kernel", one.kernel).field("family", one.family).field("ops", one.ops);
    object.field("bytes", one.bytes);
    return all.predicted ? object.field("foretold_us", one.us) : object;
  };
  auto section = [&](const ExplainedSection &one) {
    return JsonObject()
        .field("name", one.name)
        .field("steps", one.steps)
        .raw("launches", list(one.launches, launch));
  };
  auto remark = [](const FusionRemark &one) {
    return JsonObject()
        .field("result", one.passed ? "fused" : "not fused")
        .field("function", one.function)
        .field("fusion", one.fusion)
        .field("op", one.op)
        .field("why", one.why);
  };
  return JsonObject()
             .field("model", model)
             .field("target", all.target)
             .field("tokens", options.tokens)
             .field("positions", options.positions)
             .raw("sections", list(all.sections, section))
             .raw("remarks", list(all.remarks, remark))
             .str() +
         "\n";
}

/// Compiles the checkpoint to `engine` with generated weights, for this machine unless targets are given.
Result<void> compileShape(const std::string &checkpoint, const ExplainOptions &options,
                          const std::string &engine, const std::string &remarks) {
  CompileOptions wanted = options.compile;
  wanted.weights = "seed";
  if (const auto best = runtime::hostCpu().best(); wanted.targets.empty() && best)
    wanted.targets = {std::string(isaTarget(*best))};
  std::vector<std::string> arguments = {checkpoint,       "-o",   engine, "--quiet",
                                        "--remarks-file", remarks};
  if (const std::string cache = cacheFolder(options.compile); !cache.empty())
    arguments.insert(arguments.end(), {"--cache", cache});
  for (std::string &argument : wanted.arguments())
    arguments.push_back(std::move(argument));
  return compileAsChild(arguments);
}

/// Returns the path to compile. For a model on a hub, its configuration is enough.
Result<std::string> shapeOf(const ExplainOptions &options) {
  if (!isModelName(options.model))
    return options.model;
  auto outline = outlineOf(options.model, options.quiet || options.json);
  if (!outline)
    return outline.error();
  return outline->weights.empty() ? outline->folder : outline->folder + "/config.json";
}

} // namespace

Result<int> explain(const ExplainOptions &options) {
  auto show = [&](const std::string &path, const std::string &remarks) -> Result<int> {
    auto engine = runtime::EngineFile::open(path);
    if (!engine)
      return engine.error();
    Explanation all = explained(
        **engine, remarks.empty() ? std::vector<FusionRemark>() : readRemarks(remarks), options);
    all.reasons = !remarks.empty();
    const std::string name = (*engine)->table().model()->name()->str();
    emit((options.json ? json : text)(all, name, options));
    return 0;
  };
  if (isEngineFile(options.model)) {
    if (!options.compile.arguments().empty())
      return Error{ExitCode::Usage, "E0147", options.model + " is already an engine",
                   "--target, --quantize and similar options apply to a compilation",
                   "omit them, or give the checkpoint"};
    return show(options.model, "");
  }
  auto shape = shapeOf(options);
  if (!shape)
    return shape.error();
  auto place = TemporaryFolder::make("ingot-explain");
  if (!place)
    return place.error();
  const std::string engine = (*place)->path + "/model.ingot",
                    remarks = (*place)->path + "/remarks.json";
  if (auto compiled = compileShape(*shape, options, engine, remarks); !compiled)
    return compiled.error();
  return show(engine, remarks);
}

} // namespace ingot::cli
