//===- Bench.cpp - ingot bench: prompt, decode and parallel speed ----------===//
//
//   pp512        a prompt of 512 ids, to its first new id
//   tg128        128 new ids, one after the other
//   pp512 @ d4096   the same with 4,096 positions in the KV already; tg128 @ d4096 likewise
//   parallel8    8 requests at once, 128 prompt ids and 64 new ones each: new ids per
//                second over the whole of it
//
// One warm-up, then --repeat times; the figure is the median. Ids are random but the
// same in every run. `samples` holds every measurement.
//===----------------------------------------------------------------------===//
#include "runtime/engine/EngineFile.h"
#include "tools/ingot/Command.h"
#include "tools/ingot/Console.h"
#include "tools/ingot/EngineOptions.h"
#include "tools/ingot/Json.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

namespace ingot::cli {

namespace {

using Clock = std::chrono::steady_clock;
using runtime::Request;
using runtime::Session;

constexpr int64_t kParallelPrompt = 128, kParallelNew = 64;
constexpr int64_t kLeastPrompt = 8; ///< before the new ids of a decode test

struct BenchOptions {
  EngineOptions engine;
  std::vector<int64_t> prompts = {512}, news = {128}, depths = {0}, parallel;
  int repeat = 5;
  std::string format = "md";
};

struct Row {
  std::string test;
  std::vector<double> samples; ///< tokens per second
  double tokens;               ///< of one sample

  double median() const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  }
  double deviation() const {
    const double mean =
        std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
    double sum = 0;
    for (double x : samples)
      sum += (x - mean) * (x - mean);
    return samples.size() < 2 ? 0 : std::sqrt(sum / static_cast<double>(samples.size() - 1));
  }
  std::string json() const {
    return JsonObject()
        .field("test", test)
        .field("tokens_per_s", median())
        .field("stddev", deviation())
        .field("avg_ns", std::llround(tokens / median() * 1e9))
        .field("samples", samples)
        .str();
  }
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Bench {
public:
  Bench(Session &session, int64_t chunk) : session(session), chunk(chunk) {}

  /// Tokens per second of `tokens` prompt ids that follow `depth` others. The steps
  /// that take those are not timed: with whole chunks they end exactly at `depth`.
  Result<double> prompt(int64_t tokens, int64_t depth) {
    auto id = session.submit(request(depth + tokens, 1));
    if (!id)
      return id.error();
    for (int64_t done = 0; done < depth; done += chunk)
      session.step();
    const auto start = Clock::now();
    session.runUntilDone();
    const double seconds = since(start);
    session.take(*id);
    return static_cast<double>(tokens) / seconds;
  }

  Result<double> decode(int64_t tokens, int64_t depth) {
    auto id = session.submit(request(std::max(depth, kLeastPrompt), tokens + 1));
    if (!id)
      return id.error();
    session.runUntilDone();
    return session.take(*id).timings.decodeTps;
  }

  Result<double> parallel(int64_t requests) {
    std::vector<runtime::RequestId> ids;
    const auto start = Clock::now();
    for (int64_t i = 0; i < requests; ++i) {
      auto id = session.submit(request(kParallelPrompt, kParallelNew));
      if (!id)
        return id.error();
      ids.push_back(*id);
    }
    session.runUntilDone();
    const double seconds = since(start);
    for (runtime::RequestId id : ids)
      session.take(id);
    return static_cast<double>(requests * kParallelNew) / seconds;
  }

private:
  Request request(int64_t promptTokens, int64_t newTokens) {
    Request request;
    std::uniform_int_distribution<int32_t> any(std::min<int32_t>(100, vocab() / 2),
                                               std::min<int32_t>(5000, vocab() - 1));
    for (int64_t i = 0; i < promptTokens; ++i)
      request.promptIds.push_back(any(random));
    request.maxTokens = newTokens;
    request.ignoreEos = true;
    return request;
  }
  int32_t vocab() const { return static_cast<int32_t>(session.vocab()); }

  Session &session;
  int64_t chunk;
  std::mt19937 random{0};
};

template <typename Measure>
Result<Row> measure(std::string name, double tokens, int repeat, Measure once) {
  Row row{std::move(name), {}, tokens};
  for (int i = 0; i <= repeat; ++i) {
    Result<double> figure = once();
    if (!figure)
      return figure.error();
    if (i > 0) // the first warms caches
      row.samples.push_back(*figure);
  }
  return row;
}

void print(const BenchOptions &options, const std::vector<Row> &rows) {
  const std::string format = options.engine.common.json ? "json" : options.format;
  if (format == "json") {
    std::string text = "[";
    for (const Row &row : rows)
      text += (text.size() > 1 ? ",\n " : "") + row.json();
    emit(text + "]\n");
    return;
  }
  if (format == "md")
    emit("| test | tokens/s | ± |\n|---|---:|---:|\n");
  if (format == "csv")
    emit("test,tokens_per_s,stddev,avg_ns\n");
  for (const Row &row : rows) {
    if (format == "md")
      emit("| " + row.test + " | " + shortNumber(row.median()) + " | " +
           shortNumber(row.deviation()) + " |\n");
    else if (format == "csv")
      emit(row.test + "," + jsonNumber(row.median()) + "," + jsonNumber(row.deviation()) + "," +
           std::to_string(std::llround(row.tokens / row.median() * 1e9)) + "\n");
    else
      emit(row.json() + "\n");
  }
}

Result<int> bench(const BenchOptions &options) {
  auto highest = [](const std::vector<int64_t> &values) {
    return values.empty() ? int64_t{0} : *std::max_element(values.begin(), values.end());
  };
  const LimitOptions &given = options.engine.limits;
  const int64_t chunk = given.maxBatchTokens ? given.maxBatchTokens : 512;
  auto whole = [&](int64_t depth) { return (depth + chunk - 1) / chunk * chunk; };
  const int64_t most = highest(options.parallel);

  runtime::SessionOptions limits;
  limits.loadTokenizer = false;
  limits.maxSeqs = std::max<int64_t>(1, most);
  limits.maxBatchTokens = chunk;
  const int64_t depth = highest(options.depths);
  if (!options.prompts.empty())
    limits.context = whole(depth) + highest(options.prompts);
  if (!options.news.empty())
    limits.context =
        std::max(limits.context, std::max(depth, kLeastPrompt) + highest(options.news));
  if (most)
    limits.context = std::max(limits.context, kParallelPrompt + kParallelNew);
  auto path = options.engine.enginePath();
  if (!path)
    return path.error();
  auto engine = runtime::EngineFile::open(*path);
  if (!engine)
    return engine.error();
  if (const int64_t model = (*engine)->table().model()->context();
      !given.context && limits.context > model)
    return Error{ExitCode::Usage, "E0135", "the measurements are longer than the model's context",
                 "they take " + grouped(static_cast<uint64_t>(limits.context)) +
                     " positions, it was made for " + grouped(static_cast<uint64_t>(model)),
                 "give smaller numbers: -p 512 -n 128 --depth 0"};
  auto session = options.engine.open(*path, limits);
  if (!session)
    return session.error();

  Bench run(**session, chunk);
  std::vector<Row> rows;
  auto add = [&](std::string name, double tokens, auto once) -> Result<void> {
    auto row = measure(std::move(name), tokens, options.repeat, once);
    if (!row)
      return row.error();
    rows.push_back(std::move(*row));
    return {};
  };
  auto at = [](int64_t depth) { return depth ? " @ d" + std::to_string(depth) : ""; };
  for (int64_t depth : options.depths) {
    const int64_t before = whole(depth);
    if (before != depth && !options.prompts.empty())
      options.engine.common.say("prompts at depth " + std::to_string(depth) + " are measured at " +
                                std::to_string(before) + ": whole steps of " +
                                std::to_string(chunk) + " tokens (--max-batch-tokens)");
    for (int64_t n : options.prompts)
      if (auto r = add("pp" + std::to_string(n) + at(before), static_cast<double>(n),
                       [&] { return run.prompt(n, before); });
          !r)
        return r.error();
    for (int64_t n : options.news)
      if (auto r = add("tg" + std::to_string(n) + at(depth), static_cast<double>(n),
                       [&] { return run.decode(n, depth); });
          !r)
        return r.error();
  }
  for (int64_t n : options.parallel)
    if (auto r = add("parallel" + std::to_string(n), static_cast<double>(n * kParallelNew),
                     [&] { return run.parallel(n); });
        !r)
      return r.error();
  print(options, rows);
  return options.engine.close(**session);
}

} // namespace

Action defineBench(CLI::App &app) {
  auto options = std::make_shared<BenchOptions>();
  options->engine.define(app);
  const auto count = CLI::Range(int64_t{0}, int64_t{1} << 24);
  auto list = [&](const char *name, std::vector<int64_t> &values, const char *help) {
    app.add_option(name, values, help)->delimiter(',')->allow_extra_args(false)->check(count);
  };
  list("-p,--prompt", options->prompts, "prompt lengths (default: 512)");
  list("-n,--new", options->news, "numbers of new ids (default: 128)");
  list("-d,--depth", options->depths,
       "positions in the KV before (of prompts: rounded up to whole steps)");
  list("--parallel", options->parallel, "numbers of requests at once");
  app.add_option("-r,--repeat", options->repeat, "measurements of each (default: 5)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--format", options->format, "how to print (default: md)")
      ->check(CLI::IsMember({"md", "json", "jsonl", "csv"}));
  examples(app, "  ingot bench smollm2.ingot\n"
                "  ingot bench smollm2.ingot -p 512,2048 -n 128 --depth 0,4096 --parallel 8,32 "
                "--format json\n");
  return [options] {
    for (auto *values : {&options->prompts, &options->news, &options->parallel})
      std::erase(*values, 0); // -p 0 leaves the prompt test out
    return bench(*options);
  };
}

} // namespace ingot::cli
