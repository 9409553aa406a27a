//===- Roofline.cpp - ingot inspect --roofline ----------------------------===//
//
// Bytes and operations come from the plan and the compiler (fb::KernelCost). Times are measured here. The machine's
// limits are measured before and after the run; if the two measurements differ, other processes were running. A
// kernel that only moves activations finds them in a cache and may be faster than memory, so its fraction of the
// limit may exceed 100 %.
//===----------------------------------------------------------------------===//
#include "tools/ingot/measure/roofline/Roofline.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/GpuMachine.h"
#include "runtime/engine/Inspect.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/ingot/measure/roofline/KernelWork.h"
#include "tools/ingot/measure/roofline/MachineLimits.h"
#include "tools/ingot/measure/roofline/RooflineSvg.h"
#include "tools/ingot/measure/roofline/StepTime.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <map>

namespace ingot::cli {

namespace {

using runtime::Session;

constexpr int64_t kPrompt = 512, kSteps = 128;

/// The work and times of one kernel in one step.
struct Phase : KernelWork {
  uint64_t launches = 0, weightBytes = 0; ///< weights are read once per launch
  double us = 0;                          ///< measured: thread time / threads
  double predictedUs = 0;
  double boundUs = 0; ///< least time that the binding limit allows; 0: no limits are known
  const char *binds = "";

  double gbPerS() const { return us > 0 ? bytes / us / 1e3 : 0; }
  double gops() const { return us > 0 ? operations / us / 1e3 : 0; }
  double share() const { return us > 0 ? boundUs / us : 0; }
};

struct Row {
  std::string kernel, family;
  const fb::KernelCost *cost = nullptr;
  Phase decode, prompt;
  int64_t readAhead = 0; ///< the value of Executor::readAhead()
};

/// Returns one row per kernel. The decode step is at the mean of positions 0 … steps - 1.
std::vector<Row> workPerStep(const Session &session, int64_t prompt, int64_t steps) {
  const fb::Program &program = session.program();
  const fb::CodeObject *code = codeWithCosts(program, session.target());
  const auto decoded = (static_cast<double>(steps) + 1) / 2, whole = static_cast<double>(prompt);
  std::vector<Row> rows(program.kernels()->size());
  for (unsigned k = 0; k < rows.size(); ++k) {
    const fb::Kernel *kernel = program.kernels()->Get(k);
    rows[k].kernel = kernel->name()->str();
    rows[k].family = kernel->family() ? kernel->family()->str() : "";
    rows[k].cost = code ? code->costs()->Get(k) : nullptr;
  }
  for (const fb::Step *step : *runtime::generateEntry(program).steps()) {
    const fb::Section &section = *program.sections()->Get(step->section());
    auto add = [&](Phase Row::*phase, int64_t tokens, const StepLoad &load) { // for a greedy step
      const runtime::StepCounts counts{fb::Mode::Greedy, static_cast<uint64_t>(tokens), 1};
      for (const fb::Launch *launch : *runtime::caseFor(section, counts).launches()) {
        Row &row = rows[launch->kernel()];
        ++(row.*phase).launches;
        (row.*phase).weightBytes += static_cast<uint64_t>(
            weightBytesOf(program, *launch, *step, load.sequences * load.tokens));
        addLaunch(program, *launch, *step, row.cost, load, row.*phase);
      }
    };
    add(&Row::decode, 1, {1, 1, decoded, 1});
    add(&Row::prompt, prompt, {1, whole, whole, 1});
  }
  std::erase_if(rows, [](const Row &row) { return !row.decode.launches && !row.prompt.launches; });
  return rows;
}

/// Sets the roof that binds a phase and the predicted time on this machine. `startsUs` is the start-up time
/// of its launches, if they have one.
void hold(Phase &phase, const fb::KernelCost *cost, const MachineLimits &limits, double threads,
          double startsUs) {
  if (limits.readGbPerS <= 0 || !cost)
    return;
  const bool int8 = cost->arithmetic() == fb::Arithmetic::Int8,
             bf16 = cost->arithmetic() == fb::Arithmetic::Bf16;
  const double rate = int8 ? limits.int8Gops : bf16 ? limits.bf16Gflops : limits.f32Gflops;
  const double memory = phase.bytes / limits.readGbPerS / 1e3,
               compute = phase.operations / rate / 1e3;
  phase.boundUs = std::max(memory, compute);
  phase.binds = memory >= compute ? "memory" : int8 ? "int8" : bf16 ? "bf16" : "f32";
  phase.predictedUs = predictUs(phase, cost, limits, threads) + startsUs;
}

std::map<std::string, double> seconds(const Session &session) {
  std::map<std::string, double> times;
  for (const Session::KernelTime &time : session.kernelTimes())
    times[time.kernel] += time.seconds;
  return times;
}

/// Runs one request and returns its thread seconds per kernel. Earlier requests do not count.
Result<std::map<std::string, double>> measure(Session &session, int64_t prompt, int64_t newIds) {
  auto before = seconds(session);
  runtime::Request request;
  for (int64_t i = 0; i < prompt; ++i)
    request.promptIds.push_back(static_cast<int32_t>((100 + i * 37) % session.vocab()));
  request.maxTokens = newIds;
  request.ignoreEos = true;
  auto id = session.submit(std::move(request));
  if (!id)
    return id.error();
  session.runUntilDone();
  session.take(*id);
  auto after = seconds(session);
  for (auto &[kernel, time] : after)
    time -= before[kernel];
  return after;
}

std::string json(const std::vector<Row> &rows, const MachineLimits &limits,
                 const std::string &busy) {
  std::string text = "[";
  for (const Row &row : rows) {
    JsonObject object;
    object.field("kernel", row.kernel)
        .field("family", row.family)
        .field("launches", std::max(row.decode.launches, row.prompt.launches))
        .field("weight_bytes", std::max(row.decode.weightBytes, row.prompt.weightBytes))
        .field("decode_us", row.decode.us)
        .field("decode_gb_per_s",
               row.decode.us > 0 ? static_cast<double>(row.decode.weightBytes) / row.decode.us / 1e3
                                 : 0)
        .field("prompt512_us", row.prompt.us)
        .field("read_ahead", row.readAhead);
    if (row.cost) {
      if (row.cost->shape() && row.cost->shape()->size())
        object.field("shape", row.cost->shape()->str())
            .field("schedule", flatbuffers::GetString(row.cost->schedule()))
            .field("source", flatbuffers::GetString(row.cost->source()));
      object.field("arithmetic", std::string(fb::EnumNameArithmetic(row.cost->arithmetic())));
      for (auto [name, phase] : {std::pair{"decode", &row.decode}, {"prompt512", &row.prompt}})
        object.field(std::string(name) + "_bytes", phase->bytes)
            .field(std::string(name) + "_operations", phase->operations)
            .field(std::string(name) + "_predicted_us", phase->predictedUs)
            .field(std::string(name) + "_limit_us", phase->boundUs)
            .field(std::string(name) + "_bound", std::string(phase->binds));
    }
    if (limits.readGbPerS > 0)
      object.field("limit_read_gb_per_s", limits.readGbPerS)
          .field("limit_int8_gops", limits.int8Gops)
          .field("limit_bf16_gflops", limits.bf16Gflops)
          .field("limit_f32_gflops", limits.f32Gflops)
          .field("busy", busy);
    text += (text.size() > 1 ? ",\n " : "") + object.str();
  }
  return text + "]\n";
}

std::string phaseLine(const char *name, const char *family, const Phase &phase, double total) {
  std::string predicted = phase.predictedUs > 0 ? formatted("%.1f", phase.predictedUs) : "-";
  std::string limit =
      phase.boundUs > 0 ? formatted("%.0f%% %s", 100 * phase.share(), phase.binds) : "-";
  return formatted("%-22s %-12s %8llu %12s %9s %10.1f %5.1f%% %10s %8.1f %8.1f   %s\n", name,
                   family, static_cast<unsigned long long>(phase.launches),
                   runtime::humanBytes(static_cast<uint64_t>(phase.bytes)).c_str(),
                   phase.operations > 0 ? shortNumber(phase.operations / 1e6).c_str() : "-",
                   phase.us, total > 0 ? 100 * phase.us / total : 0, predicted.c_str(),
                   phase.gbPerS(), phase.gops(), limit.c_str());
}

/// Formats the kernels of one phase and their sum. The binding limit is given per kernel but not for the sum.
std::string table(const std::vector<Row> &rows, Phase Row::*phase) {
  Phase sum;
  for (const Row &row : rows) {
    const Phase &one = row.*phase;
    sum.launches += one.launches;
    sum.bytes += one.bytes, sum.operations += one.operations, sum.us += one.us;
    sum.predictedUs += one.predictedUs, sum.boundUs += one.boundUs;
  }
  std::string text = formatted("%-22s %-12s %8s %12s %9s %10s %6s %10s %8s %8s   %s\n", "kernel",
                               "family", "launches", "bytes", "Mops", "us", "share", "predicted",
                               "GB/s", "Gop/s", "of its limit");
  for (const Row &row : rows)
    if ((row.*phase).launches)
      text += phaseLine(row.kernel.c_str(), row.family.c_str(), row.*phase, sum.us);
  return text + phaseLine("a step", "", sum, sum.us);
}

void print(const std::vector<Row> &rows, const Session &session, const MachineLimits &limits,
           const std::string &busy, int64_t prompt, int64_t steps) {
  emit("decode: one sequence, mean of " + std::to_string(steps) + " steps; " +
       std::string(session.target()) + ", " + session.device() + "\n" + table(rows, &Row::decode));
  emit("\nprompt: " + std::to_string(prompt) + " ids in one step\n" + table(rows, &Row::prompt));
  if (const auto *gpu = runtime::gpuMachineFor(session.target()))
    emit(formatted("\nlimits of an %s from its data sheet, not measured: %.0f GB/s "
                   "read, %.0f bf16 and %.0f f32 TFLOPS\n",
                   gpu->name, limits.readGbPerS, limits.bf16Gflops / 1e3, limits.f32Gflops / 1e3));
  else if (limits.readGbPerS > 0)
    emit(formatted(
        "\nlimits measured in this run: %.1f GB/s mapped read, %.2f int8 TOPS, %.2f bf16 and "
        "%.2f f32 "
        "TFLOPS (before and after, the higher)\n",
        limits.readGbPerS, limits.int8Gops / 1e3, limits.bf16Gflops / 1e3, limits.f32Gflops / 1e3));
  if (!busy.empty())
    emit("warning: " + busy + "\n");
  std::string schedules;
  for (const Row &row : rows)
    if (row.cost && row.cost->shape() && row.cost->shape()->size())
      schedules += formatted("%-22s ", row.kernel.c_str()) + row.cost->shape()->str() + ": " +
                   flatbuffers::GetString(row.cost->schedule()) + " (" +
                   flatbuffers::GetString(row.cost->source()) + ")" +
                   (row.readAhead ? ", decode prefetches each line " +
                                        runtime::humanBytes(uint64_t(row.readAhead)) + " ahead"
                                  : "") +
                   "\n";
  if (!schedules.empty())
    emit("\nschedules\n" + schedules);
}

std::vector<RooflinePoint> pointsOf(const std::vector<Row> &rows) {
  std::vector<RooflinePoint> points;
  for (const Row &row : rows)
    for (bool prompt : {false, true}) {
      const Phase &phase = prompt ? row.prompt : row.decode;
      points.push_back({row.kernel, prompt, phase.operations, phase.bytes, phase.us * 1e-6});
    }
  return points;
}

} // namespace

Result<int> roofline(const std::string &path, const CommonOptions &common,
                     const LimitOptions &given, const std::string &svg, MeasuredKernels *measured) {
  const double load = loadAverage();
  if (!svg.empty())
    if (auto writable = checkWritable(svg); !writable)
      return writable.error();
  const EngineOptions options = quietly(path, common, given);
  runtime::SessionOptions wanted;
  wanted.loadTokenizer = false;
  wanted.prefixCache = false; // every round is computed
  wanted.context = kPrompt + kSteps;
  wanted.maxBatchTokens = kPrompt;
  auto engine = runtime::EngineFile::open(path);
  if (!engine)
    return engine.error();
  const auto context = static_cast<int64_t>((*engine)->table().model()->context());
  wanted.context = std::min(wanted.context, given.context ? given.context : context);
  auto session = options.open(path, wanted);
  if (!session)
    return session.error();
  const int64_t prompt = std::min<int64_t>(kPrompt, wanted.context - 2);
  const int64_t steps = std::min<int64_t>(kSteps, wanted.context / 2);
  const auto level = runtime::isaLevelNamed((*session)->target());
  const MachineLimits before =
      level ? measureLimits(*level, (*session)->threads()) : MachineLimits();
  (*session)->profile(true);
  for (int round = 0; round < 2; ++round) // the first round touches every page
    if (auto warm = measure(**session, 1, steps / 4 + 1); !warm)
      return warm.error();
  auto promptTimes = measure(**session, prompt, 1);
  if (!promptTimes)
    return promptTimes.error();
  auto decodeTimes = measure(**session, 1, steps); // its one-id prompt counts as a decode step too
  if (!decodeTimes)
    return decodeTimes.error();

  const double threads = (*session)->threads();
  // The pool's threads are asleep again by now, so they do not disturb the second measurement of the limits.
  MachineLimits limits;
  std::string busy;
  const runtime::GpuMachine *gpu = runtime::gpuMachineFor((*session)->target());
  if (level) {
    const MachineLimits after = measureLimits(*level, (*session)->threads());
    limits = higher(before, after), busy = busyNote(before, after, load);
  } else if (gpu)
    limits = {gpu->readGbPerS(), 0, gpu->gops(gpu->bf16PerClock), gpu->gops(gpu->f32PerClock)};
  std::vector<Row> rows = workPerStep(**session, prompt, steps);
  for (Row &row : rows) {
    row.decode.us = (*decodeTimes)[row.kernel] / static_cast<double>(steps) / threads * 1e6;
    row.prompt.us = (*promptTimes)[row.kernel] / threads * 1e6;
    for (Phase *phase : {&row.decode, &row.prompt})
      hold(*phase, row.cost, limits, threads,
           gpu ? gpu->exposedUs * static_cast<double>(phase->launches) : 0);
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row &a, const Row &b) { return a.decode.us > b.decode.us; });
  for (const Session::KernelTime &time : (*session)->kernelTimes())
    for (Row &row : rows)
      if (row.kernel == time.kernel)
        row.readAhead = time.readAhead;
  if (!svg.empty()) {
    const std::string title = path.substr(path.find_last_of('/') + 1) + ", " +
                              std::string((*session)->target()) + ", " + (*session)->device();
    if (auto written = writeFile(svg, rooflineSvg(pointsOf(rows), limits, title)); !written)
      return written.error();
  }
  if (measured)
    *measured = {json(rows, limits, busy), std::string((*session)->target()), limits, busy};
  else if (common.json)
    emit(json(rows, limits, busy));
  else
    print(rows, **session, limits, busy, prompt, steps);
  return options.close(**session);
}

} // namespace ingot::cli
