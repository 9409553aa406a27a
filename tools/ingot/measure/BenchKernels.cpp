//===- BenchKernels.cpp - ingot bench-kernels: each kernel by itself -------===//
//
//   for each number of tokens        1 … 256: that many sequences decode; more: a prompt
//     for each context               beyond the first, only attention
//       a step, which copies the batch to the device
//       for each kernel              its launches in all layers, repeatedly
//         for each kind of edge
//     the whole step and the sum of its kernels, and a decode step without each kernel
//
// Each result is written as soon as it is known, so it is not lost if a later measurement fails.
//===----------------------------------------------------------------------===//
#include "tools/ingot/measure/BenchKernels.h"
#include "runtime/device/KernelBench.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/GpuMachine.h"
#include "runtime/engine/Inspect.h"
#include "runtime/error/Suggest.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/measure/KernelBatch.h"
#include "tools/ingot/measure/roofline/KernelWork.h"
#include "tools/ingot/measure/roofline/MachineLimits.h"
#include "tools/ingot/measure/roofline/StepTime.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ingot::cli {

namespace {

using runtime::KernelBench;

constexpr int kRounds = 5;
constexpr double kSeconds = 0.3; ///< time limit of one figure; it may reduce the number of repeats

/// The default sizes to measure, and the KV positions that they need.
struct Sizes {
  std::vector<int64_t> tokens, contexts;
  int64_t positions;
};

Sizes defaultSizes(runtime::Device device) {
  switch (device) {
  case runtime::Device::Cpu:
    return {{1, 8, 32, 128, 512}, {128, 1024, 8192}, int64_t{1} << 15};
  case runtime::Device::Cuda:
    return {{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048, 8192},
            {128, 1024, 8192, 32768},
            int64_t{1} << 18};
  case runtime::Device::CudaEmulator:
    break;
  }
  return {{1, 8}, {128}, int64_t{1} << 12}; // the emulator is far slower than a GPU
}

/// Returns the steps with `tokens` tokens, by context. A prompt is never longer than its context.
std::vector<BenchStep> stepsOf(int64_t tokens, bool prompt, const std::vector<int64_t> &contexts) {
  std::set<int64_t> own;
  for (int64_t context : contexts)
    own.insert(prompt ? std::max(tokens, context) : context);
  std::vector<BenchStep> steps;
  for (int64_t context : own)
    steps.push_back(prompt ? BenchStep{1, tokens, context} : BenchStep{tokens, 1, context});
  return steps;
}

struct Figure {
  std::string kernel, variant; ///< variant: empty if there is only one
  int64_t tokens;
  std::optional<int64_t> context; ///< only for attention
  std::string edges;              ///< empty: the device has only one kind
  uint64_t launches = 0;
  std::vector<double> us; ///< per launch, sorted; at least one
  KernelWork work;        ///< per launch
  double boundUs = 0;     ///< 0: not known
  double predictedUs = 0; ///< predicted by the cost model; 0: not known

  double median() const { return (us[(us.size() - 1) / 2] + us[us.size() / 2]) / 2; }
  double gbPerS() const { return work.bytes / median() / 1e3; }
  double tflops() const { return work.operations / median() / 1e6; }
};

struct StepFigure {
  BenchStep step;
  std::string edges, without;
  double graphUs = 0;
  std::optional<double> sumUs, hostUs;
};

/// Writes the results as they arrive.
class Report {
public:
  explicit Report(bool json) : json(json) {}

  void begin(const std::string &engine, const runtime::Session &session,
             const KernelBench::Limits &limits) {
    const double read = limits.readGbPerS, tflops = limits.bf16Gflops / 1e3;
    if (json) {
      JsonObject line;
      line.field("engine", engine).field("device", session.device());
      line.field("target", session.target()).raw("read_gb_s", known(read));
      emit(line.raw("bf16_tflops", known(tflops)).str() + "\n");
      return;
    }
    emit(engine + ", " + std::string(session.target()) + ", " + session.device() +
         (read > 0 ? formatted(": %.1f GB/s, %.2f bf16 TFLOPS", read, tflops) : std::string()) +
         "\n\n| kernel | variant | tokens | context | edges | launches | µs | min | max | GB/s | "
         "TFLOPS | of bound | predicted |\n"
         "|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  }

  void add(const Figure &figure) {
    const double us = figure.median();
    if (!json) {
      std::string line = "| " + figure.kernel + " | " + figure.variant + " | " +
                         std::to_string(figure.tokens) + " | " +
                         (figure.context ? std::to_string(*figure.context) : "") + " | " +
                         figure.edges + " | " + std::to_string(figure.launches);
      for (double value :
           {us, figure.us.front(), figure.us.back(), figure.gbPerS(), figure.tflops()})
        line += " | " + shortNumber(value);
      emit(line + " | " +
           (figure.boundUs > 0 ? formatted("%.0f %%", 100 * figure.boundUs / us) : "") + " | " +
           (figure.predictedUs > 0 ? shortNumber(figure.predictedUs) : "") + " |\n");
      return;
    }
    JsonObject line;
    line.field("kernel", figure.kernel)
        .raw("variant", figure.variant.empty() ? "null" : jsonQuote(figure.variant))
        .field("tokens", figure.tokens)
        .raw("context", figure.context ? std::to_string(*figure.context) : "null")
        .raw("edges", figure.edges.empty() ? "null" : jsonQuote(figure.edges))
        .field("launches", figure.launches)
        .field("us", us)
        .field("us_min", figure.us.front())
        .field("us_max", figure.us.back())
        .field("bytes", figure.work.bytes)
        .field("gb_s", figure.gbPerS())
        .field("flops", figure.work.operations)
        .field("tflops", figure.tflops())
        .raw("bound_us", known(figure.boundUs))
        .raw("of_bound", known(figure.boundUs / us))
        .raw("foretold_us", known(figure.predictedUs));
    emit(line.str() + "\n");
  }

  void add(const StepFigure &figure) {
    auto value = [&](std::optional<double> us) { return us ? jsonNumber(*us) : "null"; };
    auto word = [](const std::string &text) { return text.empty() ? "null" : jsonQuote(text); };
    if (json) {
      JsonObject step;
      step.field("tokens", figure.step.allTokens()).field("context", figure.step.context);
      step.raw("edges", word(figure.edges)).raw("without", word(figure.without));
      step.field("us_step_graph", figure.graphUs)
          .raw("us_sum_of_kernels", value(figure.sumUs))
          .raw("host_us", value(figure.hostUs));
      emit(JsonObject().raw("step", step.str()).str() + "\n");
      return;
    }
    auto shown = [](std::optional<double> us) { return us ? shortNumber(*us) : std::string(); };
    steps += "| " + std::to_string(figure.step.allTokens()) + " | " +
             std::to_string(figure.step.context) + " | " + figure.edges + " | " + figure.without +
             " | " + shortNumber(figure.graphUs) + " | " + shown(figure.sumUs) + " | " +
             shown(figure.hostUs) + " |\n";
  }

  void fail(const std::string &kernel, const BenchStep &step, const std::string &edges,
            const Error &error) {
    const std::string text = error.code + ": " + error.what + "; " + error.why;
    if (json)
      emit(JsonObject()
               .field("kernel", kernel)
               .field("tokens", step.allTokens())
               .field("context", step.context)
               .raw("edges", edges.empty() ? "null" : jsonQuote(edges))
               .field("error", text)
               .str() +
           "\n");
    else
      emit("| " + kernel + " | failed: " + text + " | " + std::to_string(step.allTokens()) + " | " +
           std::to_string(step.context) + " | " + edges + " | | | | | | | | |\n");
  }

  void end() {
    if (!steps.empty())
      emit("\n| tokens | context | edges | without | step, µs | sum of its kernels | host |\n"
           "|---:|---:|---|---|---:|---:|---:|\n" +
           steps);
  }

private:
  static std::string known(double value) { return value > 0 ? jsonNumber(value) : "null"; }

  bool json;
  std::string steps; ///< lines of the table at the end
};

class KernelRuns {
public:
  KernelRuns(const BenchKernelsOptions &options, runtime::Session &session,
             runtime::Executor &executor, KernelBench &bench, Report &report)
      : options(options), session(session), program(session.program()), bench(bench),
        report(report), batch(executor.memory(), session.vocab()),
        costs(codeWithCosts(program, session.target())) {
    for (const fb::Step *step : *runtime::generateEntry(program).steps())
      for (const fb::Case *one : *program.sections()->Get(step->section())->cases())
        addKernels(*one);
  }

  /// Checks the kernels' names. Errors: E0139: an unknown kernel.
  Result<void> checkNames() const;
  void setLimits(const KernelBench::Limits &known) { limits = known; }
  const KernelBatch &batches() const { return batch; }
  /// Runs the steps of one number of tokens, shortest context first. An error means that the device
  /// has failed and ends the benchmark.
  Result<void> run(const std::vector<BenchStep> &steps);

private:
  void addKernels(const fb::Case &one) {
    for (const fb::Launch *launch : *one.launches())
      if (std::ranges::find(kernels, launch->kernel()) == kernels.end())
        kernels.push_back(launch->kernel());
  }
  std::string nameOf(uint32_t kernel) const {
    return program.kernels()->Get(kernel)->name()->str();
  }
  const fb::KernelCost *costOf(uint32_t kernel) const {
    return costs ? costs->costs()->Get(kernel) : nullptr;
  }
  bool readsContext(uint32_t kernel) const {
    const auto *family = program.kernels()->Get(kernel)->family();
    return costOf(kernel) ? costOf(kernel)->bytes_per_position() > 0
                          : family && family->string_view() == "attention";
  }
  bool wanted(uint32_t kernel) const {
    return options.kernels.empty() ||
           std::ranges::find(options.kernels, nameOf(kernel)) != options.kernels.end();
  }

  std::vector<std::string> edgesOf(bool overlap) const;
  Result<std::vector<double>> seconds(const KernelBench::Choice &choice);
  KernelWork workOf(uint32_t kernel, const BenchStep &step) const;
  double boundUs(const Figure &figure, const fb::KernelCost *cost) const;
  double predict(const KernelWork &work, const fb::KernelCost *cost) const;
  Result<void> kernelRuns(uint32_t kernel, const BenchStep &step);
  Result<void> stepRuns(const BenchStep &step);
  Result<void> failed(const std::string &kernel, const BenchStep &step, const std::string &edges,
                      const Error &error);

  const BenchKernelsOptions &options;
  runtime::Session &session;
  const fb::Program &program;
  KernelBench &bench;
  Report &report;
  KernelBatch batch;
  const fb::CodeObject *costs;
  KernelBench::Limits limits;
  std::vector<uint32_t> kernels;            ///< in the order of their first launch
  std::map<std::string, double> sumOfEdges; ///< µs of a step's kernels, by kind of edge
  bool complete = true;                     ///< the sum has all kernels of the step
};

Result<void> KernelRuns::checkNames() const {
  std::vector<std::string> names;
  for (uint32_t kernel : kernels)
    names.push_back(nameOf(kernel));
  for (const std::string &name : options.kernels) {
    if (std::ranges::find(names, name) != names.end())
      continue;
    const std::string near = nearest(name, names);
    std::string all;
    for (const std::string &known : names)
      all += (all.empty() ? "" : ", ") + known;
    return Error{ExitCode::Usage, "E0139", "no step launches a kernel '" + name + "'",
                 near.empty() ? "there are: " + all : "did you mean " + near + "?",
                 "ingot inspect E lists the kernels"};
  }
  return {};
}

/// Returns the kinds of edges to measure for launches that can start early (`overlap`) or cannot.
std::vector<std::string> KernelRuns::edgesOf(bool overlap) const {
  if (session.target().starts_with("cpu:"))
    return {""};
  if (!overlap)
    return {"full"};
  if (options.edges != "both")
    return {options.edges};
  return {"programmatic", "full"};
}

/// Returns the seconds of one run of the launches in each round. The time of the first run decides
/// the number of repeats; if the first run is long, its own time is the result.
Result<std::vector<double>> KernelRuns::seconds(const KernelBench::Choice &choice) {
  auto once = bench.time(choice, 1, 1);
  if (!once)
    return once;
  const double first = once->front();
  const int most = first > 0 ? static_cast<int>(std::min(kSeconds / first, 1e6)) : options.repeats;
  const int repeats = std::min(most, options.repeats);
  if (repeats < 2)
    return once;
  const int rounds = std::min(kRounds, repeats);
  return bench.time(choice, rounds, repeats / rounds);
}

/// Returns the work of a launch, as the mean over layers and specialisations.
KernelWork KernelRuns::workOf(uint32_t kernel, const BenchStep &step) const {
  KernelWork sum;
  int count = 0;
  // Specialisations differ in their kernels, but a kernel that several launch does the same work in
  // each.
  for (const fb::Step *layer : *runtime::generateEntry(program).steps())
    for (const fb::Case *one : *program.sections()->Get(layer->section())->cases())
      for (const fb::Launch *launch : *one->launches())
        if (launch->kernel() == kernel && ++count)
          addLaunch(program, *launch, *layer, costOf(kernel), step.load(), sum);
  return {sum.bytes / count, sum.operations / count, sum.coreSeconds / count,
          sum.memoryBytes / count, sum.kvBytes / count};
}

double KernelRuns::boundUs(const Figure &figure, const fb::KernelCost *cost) const {
  if (limits.readGbPerS <= 0)
    return 0;
  const double memory = figure.work.bytes / limits.readGbPerS / 1e3;
  if (!cost)
    return memory;
  const double rate = figure.variant.ends_with("_wgmma_fp8")       ? limits.fp8Gflops
                      : cost->arithmetic() == fb::Arithmetic::Int8 ? limits.int8Gops
                      : cost->arithmetic() == fb::Arithmetic::Bf16 ? limits.bf16Gflops
                                                                   : limits.f32Gflops;
  return std::max(memory, rate > 0 ? figure.work.operations / rate / 1e3 : 0);
}

double KernelRuns::predict(const KernelWork &work, const fb::KernelCost *cost) const {
  const double us = predictUs(
      work, cost, {limits.readGbPerS, limits.int8Gops, limits.bf16Gflops, limits.f32Gflops},
      session.threads());
  const auto *gpu = runtime::gpuMachineFor(session.target());
  return us > 0 && gpu ? us + gpu->exposedUs : us;
}

/// Records a failure. Returns the error if the device can run nothing more.
Result<void> KernelRuns::failed(const std::string &kernel, const BenchStep &step,
                                const std::string &edges, const Error &error) {
  report.fail(kernel, step, edges, error);
  complete = false;
  return bench.alive() ? Result<void>() : error;
}

Result<void> KernelRuns::kernelRuns(uint32_t kernel, const BenchStep &step) {
  const KernelBench::Launches launches = bench.launches({.only = kernel});
  if (launches.count == 0)
    return {}; // other kernels do its work in such steps
  for (const std::string &edges : edgesOf(launches.overlap)) {
    auto each = seconds({.only = kernel, .overlap = edges != "full"});
    if (!each) {
      if (auto on = failed(nameOf(kernel), step, edges, each.error()); !on)
        return on;
      continue;
    }
    Figure figure{
        nameOf(kernel),      launches.variant, step.allTokens(), {}, edges, launches.count, {},
        workOf(kernel, step)};
    if (readsContext(kernel))
      figure.context = step.context;
    const auto count = static_cast<double>(launches.count);
    for (double run : *each)
      figure.us.push_back(run * 1e6 / count);
    std::sort(figure.us.begin(), figure.us.end());
    figure.boundUs = boundUs(figure, costOf(kernel));
    figure.predictedUs = predict(figure.work, costOf(kernel));
    report.add(figure);
    sumOfEdges[edges] += figure.median() * count;
    if (!launches.overlap) // the kernel has full edges in every step
      sumOfEdges["programmatic"] += figure.median() * count;
  }
  return {};
}

/// Measures the whole step and, for a decode step, the step without each of its kernels. Prompt
/// steps take too long for that.
Result<void> KernelRuns::stepRuns(const BenchStep &step) {
  auto host = bench.hostSeconds();
  if (!host)
    return failed("a step", step, "", host.error());
  const std::vector<std::string> kinds = edgesOf(bench.launches({}).overlap);
  auto add = [&](const KernelBench::Choice &choice, StepFigure figure) -> Result<void> {
    auto runs = seconds(choice);
    if (!runs)
      return failed("a step", step, figure.edges, runs.error());
    std::sort(runs->begin(), runs->end());
    figure.graphUs = (*runs)[runs->size() / 2] * 1e6;
    report.add(figure);
    return {};
  };
  for (const std::string &edges : kinds) {
    StepFigure figure{step, edges, "", 0, {}, {}};
    if (complete)
      figure.sumUs = sumOfEdges[edges];
    if (*host)
      figure.hostUs = **host * 1e6;
    if (auto on = add({.overlap = edges != "full"}, figure); !on)
      return on;
  }
  for (uint32_t kernel : kernels)
    if (step.tokens == 1 && bench.launches({.only = kernel}).count)
      if (auto on = add({.without = kernel, .overlap = kinds.front() != "full"},
                        {step, kinds.front(), nameOf(kernel), 0, {}, {}});
          !on)
        return on;
  return {};
}

Result<void> KernelRuns::run(const std::vector<BenchStep> &steps) {
  for (const BenchStep &step : steps) {
    const bool first = &step == &steps.front();
    sumOfEdges.clear();
    complete = true;
    if (auto ready = bench.prepare(batch.fill(step)); !ready) {
      if (auto on = failed("a step", step, "", ready.error()); !on)
        return on;
      continue;
    }
    for (uint32_t kernel : kernels)
      if (wanted(kernel) && (first || readsContext(kernel)))
        if (auto on = kernelRuns(kernel, step); !on)
          return on;
    if (first && options.kernels.empty())
      if (auto on = stepRuns(step); !on)
        return on;
  }
  return {};
}

/// Opens a session with the wanted number of KV pages, halved until the device has room.
Result<std::unique_ptr<runtime::Session>> open(EngineOptions engine, const std::string &path,
                                               const runtime::SessionOptions &wanted, int64_t pages,
                                               uint64_t pageBytes) {
  const bool given = engine.limits.kvMemory != 0;
  for (;; pages /= 2) {
    if (!given)
      engine.limits.kvMemory = static_cast<uint64_t>(pages) * pageBytes;
    auto session = engine.open(path, wanted);
    if (session || given || pages <= 1 ||
        (session.error().code != errors::kTooLittleGpuMemory &&
         session.error().code != errors::kTooLittleMemory))
      return session;
  }
}

KernelBench::Limits limitsOf(const runtime::Session &session, Result<KernelBench::Limits> device) {
  const auto level = runtime::isaLevelNamed(session.target());
  if (!level)
    return device ? *device : KernelBench::Limits{};
  const MachineLimits machine = measureLimits(*level, session.threads());
  return {.readGbPerS = machine.readGbPerS,
          .bf16Gflops = machine.bf16Gflops,
          .f32Gflops = machine.f32Gflops,
          .int8Gops = machine.int8Gops};
}

} // namespace

Result<int> benchKernels(const BenchKernelsOptions &options) {
  auto path = options.engine.enginePath();
  if (!path)
    return path.error();
  auto file = runtime::EngineFile::open(*path);
  if (!file)
    return file.error();
  const fb::Engine &table = (*file)->table();
  runtime::SessionOptions where;
  where.device = options.engine.common.device;
  const runtime::Device device = runtime::deviceOf(where, table);
  const fb::Program *program = runtime::programFor(table, runtime::kindOf(device));
  Sizes sizes = defaultSizes(device);
  if (!options.tokens.empty())
    sizes.tokens = options.tokens;
  if (!options.contexts.empty())
    sizes.contexts = options.contexts;

  std::vector<std::vector<BenchStep>> all;
  runtime::SessionOptions limits;
  limits.loadTokenizer = false;
  limits.prefixCache = false;
  limits.maxBatchTokens = 1;
  int64_t pages = 1;
  const auto modelContext = static_cast<int64_t>(table.model()->context());
  for (int64_t tokens : sizes.tokens) {
    all.push_back(stepsOf(tokens, tokens > options.decodeUpTo, sizes.contexts));
    std::erase_if(all.back(), [&](const BenchStep &s) { return s.context > modelContext; });
    for (const BenchStep &step : all.back()) {
      limits.context = std::max(limits.context, step.context);
      limits.maxSeqs = std::max(limits.maxSeqs, step.sequences);
      limits.maxBatchTokens = std::max(limits.maxBatchTokens, step.allTokens());
      pages = std::max(pages, step.sequences * pagesOfEach({}, step));
    }
  }
  const Error nothing{ExitCode::Usage, "E0138", "no step fits",
                      "the model supports " + std::to_string(modelContext) +
                          " positions; a step of more than " + std::to_string(options.decodeUpTo) +
                          " tokens is a prompt of so many",
                      "give smaller numbers: --tokens 1,8 --context 128, or more --kv-memory"};
  if (limits.context == 0)
    return nothing;
  runtime::Executor *executor = nullptr;
  limits.around = [&](std::unique_ptr<runtime::Executor> own) {
    executor = own.get();
    return own;
  };
  const int64_t most = std::max(sizes.positions, limits.maxBatchTokens) / kPageTokens;
  auto session = open(options.engine, *path, limits, std::min(pages, most),
                      program ? program->bytes_per_page() : 0);
  if (!session)
    return session.error();

  auto bench = executor->kernelBench();
  Report report(options.engine.common.json || options.format == "jsonl");
  KernelRuns runs(options, **session, *executor, *bench, report);
  if (auto known = runs.checkNames(); !known)
    return known.error();
  int64_t leftOut = 0;
  for (std::vector<BenchStep> &steps : all)
    leftOut += static_cast<int64_t>(
        std::erase_if(steps, [&](const BenchStep &s) { return !runs.batches().fits(s); }));
  std::erase_if(all, [](const auto &steps) { return steps.empty(); });
  if (all.empty())
    return nothing;
  if (leftOut)
    options.engine.common.say(std::to_string(leftOut) +
                              " steps are skipped: their KV does not fit (--kv-memory)");
  fillPages(*executor);
  const KernelBench::Limits found = limitsOf(**session, bench->limits());
  runs.setLimits(found);
  report.begin(std::filesystem::path(*path).filename().string(), **session, found);
  for (const std::vector<BenchStep> &steps : all)
    if (auto ran = runs.run(steps); !ran) {
      report.end();
      return ran.error();
    }
  report.end();
  return 0;
}

Action defineBenchKernels(CommandLine &command) {
  auto options = std::make_shared<BenchKernelsOptions>();
  EngineOptions &engine = options->engine;
  command
      .option("MODEL", engine.model,
              "an engine file, or a checkpoint: a folder, .gguf, .safetensors or hf:ORG/NAME")
      .required();
  engine.common.define(command);
  engine.gpu.define(command);
  engine.compile.define(command);
  auto list = [&](const char *name, std::vector<int64_t> &values, const char *help) {
    command.option(name, values, help)
        .separatedBy(',')
        .takesOne()
        .range(int64_t{1}, int64_t{1} << 20);
  };
  list("--tokens", options->tokens,
       "tokens of a step: up to 256 are decoding sequences, more are a prompt");
  command
      .option("--decode-up-to", options->decodeUpTo, "limit of decoding sequences, instead of 256")
      .range(int64_t{0}, int64_t{1} << 16);
  list("--context", options->contexts, "positions that attention reads");
  command.option("--kernel", options->kernels, "measure only this kernel (repeatable)").takesOne();
  command
      .option("--edges", options->edges,
              "on a GPU: how a launch follows the previous one (default: both)")
      .oneOf({"programmatic", "full", "both"});
  command.option("-r,--repeats", options->repeats, "runs of each (default: 20)").range(1, 1000);
  command
      .option("--kv-memory", engine.limits.kvMemory,
              "bytes for KV pages (default: what the steps need, as far as memory allows)")
      .bytes();
  command.option("--format", options->format, "how to print (default: md)").oneOf({"md", "jsonl"});
  command.examples("  ingot bench-kernels E\n"
                   "  ingot bench-kernels E --device cuda --tokens 1,64,2048 --format jsonl\n"
                   "  ingot bench-kernels E --kernel attention_0 --context 1024,32768\n");
  return [options] { return benchKernels(*options); };
}

} // namespace ingot::cli
