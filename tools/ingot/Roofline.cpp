#include "tools/ingot/Roofline.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "tools/ingot/Console.h"
#include "tools/ingot/Json.h"

#include <algorithm>
#include <map>

namespace ingot::cli {

namespace {

using runtime::Session;

constexpr int64_t kPrompt = 512, kSteps = 128;

/// What one step asks of a kernel: the plan says it, nothing is measured.
struct Work {
  uint64_t launches = 0;
  uint64_t weightBytes = 0; ///< read once per launch
};

std::map<std::string, Work> workPerStep(const fb::Engine &engine) {
  std::map<std::string, Work> work;
  for (const fb::Step *step : *engine.steps())
    for (const fb::Launch *launch : *engine.sections()->Get(step->section())->launches()) {
      const fb::Kernel *code = engine.kernels()->Get(launch->kernel());
      Work &kernel = work[code->name()->str()];
      ++kernel.launches;
      for (const fb::Arg *arg : *launch->args()) {
        const fb::Weight *weight = nullptr;
        if (arg->kind() == fb::ArgKind::Weight)
          weight = engine.weights()->Get(arg->index());
        else if (arg->kind() == fb::ArgKind::LayerWeight)
          weight = engine.weights()->Get(step->weights()->Get(arg->index()));
        if (weight) // a gather reads the row of its token
          kernel.weightBytes += code->family() && code->family()->string_view() == "gather"
                                    ? weight->size() / weight->shape()->Get(0)
                                    : weight->size();
      }
    }
  return work;
}

std::map<std::string, double> seconds(const Session &session) {
  std::map<std::string, double> times;
  for (const Session::KernelTime &time : session.kernelTimes())
    times[time.kernel] += time.seconds;
  return times;
}

/// Thread seconds per kernel for one request, the part before it taken off.
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

struct Row {
  std::string kernel, family;
  Work work;
  double decode = 0, prompt = 0; ///< microseconds of a step: thread time / threads
  double rate() const {
    return decode > 0 ? static_cast<double>(work.weightBytes) / decode / 1e3 : 0;
  } ///< GB/s
};

void print(const std::vector<Row> &rows, const Session &session, bool json) {
  double total = 0, promptTotal = 0;
  uint64_t bytes = 0;
  std::string text = json ? "[" : "";
  for (const Row &row : rows) {
    total += row.decode;
    promptTotal += row.prompt;
    bytes += row.work.weightBytes;
    if (json)
      text += (text.size() > 1 ? ",\n " : "") + JsonObject()
                                                    .field("kernel", row.kernel)
                                                    .field("family", row.family)
                                                    .field("launches", row.work.launches)
                                                    .field("weight_bytes", row.work.weightBytes)
                                                    .field("decode_us", row.decode)
                                                    .field("decode_gb_per_s", row.rate())
                                                    .field("prompt512_us", row.prompt)
                                                    .str();
  }
  if (json) {
    emit(text + "]\n");
    return;
  }
  char line[160];
  std::snprintf(line, sizeof line, "%-22s %-12s %8s %12s %10s %6s %8s %12s\n", "kernel", "family",
                "launches", "weights", "decode us", "share", "GB/s", "prompt us");
  emit(line);
  for (const Row &row : rows) {
    std::snprintf(line, sizeof line, "%-22s %-12s %8llu %12s %10.1f %5.1f%% %8.1f %12.0f\n",
                  row.kernel.c_str(), row.family.c_str(),
                  static_cast<unsigned long long>(row.work.launches),
                  runtime::humanBytes(row.work.weightBytes).c_str(), row.decode,
                  100 * row.decode / total, row.rate(), row.prompt);
    emit(line);
  }
  std::snprintf(line, sizeof line, "%-44s %12s %10.1f %6s %8.1f %12.0f\n", "a step",
                runtime::humanBytes(bytes).c_str(), total, "",
                static_cast<double>(bytes) / total / 1e3, promptTotal);
  emit(line);
  emit("decode: one sequence, mean of " + std::to_string(kSteps) +
       " steps; prompt: " + std::to_string(kPrompt) + " ids; " + std::string(session.target()) +
       ", " + session.device() + "\n");
}

} // namespace

Result<int> roofline(const std::string &path, const CommonOptions &common,
                     const LimitOptions &limits) {
  EngineOptions options;
  options.model = path;
  options.common = common;
  options.common.quiet = true;
  options.limits = limits;
  runtime::SessionOptions wanted;
  wanted.loadTokenizer = false;
  wanted.context = kPrompt + kSteps;
  wanted.maxBatchTokens = kPrompt;
  auto engine = runtime::EngineFile::open(path);
  if (!engine)
    return engine.error();
  const auto context = static_cast<int64_t>((*engine)->table().model()->context());
  wanted.context = std::min(wanted.context, context);
  auto session = options.open(path, wanted);
  if (!session)
    return session.error();
  const int64_t prompt = std::min<int64_t>(kPrompt, wanted.context - 2);
  const int64_t steps = std::min<int64_t>(kSteps, wanted.context / 2);
  (*session)->profile(true);
  for (int round = 0; round < 2; ++round) // the first touches every page
    if (auto warm = measure(**session, 1, steps / 4 + 1); !warm)
      return warm.error();
  auto promptTimes = measure(**session, prompt, 1);
  if (!promptTimes)
    return promptTimes.error();
  auto decodeTimes = measure(**session, 1, steps); // its prompt of one id is a decode step as well
  if (!decodeTimes)
    return decodeTimes.error();

  const auto work = workPerStep((*session)->program());
  const double threads = (*session)->threads();
  std::vector<Row> rows;
  for (const fb::Kernel *kernel : *(*session)->program().kernels()) {
    const std::string name = kernel->name()->str();
    Row row{name, kernel->family() ? kernel->family()->str() : "",
            work.count(name) ? work.at(name) : Work{}};
    row.decode = (*decodeTimes)[name] / static_cast<double>(steps) / threads * 1e6;
    row.prompt = (*promptTimes)[name] / threads * 1e6;
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
                   [](const Row &a, const Row &b) { return a.decode > b.decode; });
  print(rows, **session, common.json);
  return options.close(**session);
}

} // namespace ingot::cli
