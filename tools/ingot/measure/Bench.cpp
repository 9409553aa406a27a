//===- Bench.cpp - ingot bench: prompt, decode and parallel speed ----------===//
//
//   pp512           a prompt of 512 tokens, to its first new token
//   tg128           128 new tokens, one after the other
//   tg128 @ b8      8 sequences that decode together, 128 new tokens each; the figure counts the
//                   new tokens of all sequences
//   pp512 @ d4096   pp512 after 4,096 positions that are already in the KV cache; tg128 @ d4096
//                   likewise
//   parallel8       8 requests at once, with 128 prompt tokens and 64 new tokens each; the figure is
//                   the new tokens per second over the whole test
//
// Each test runs one warm-up and then --repeat times; the figure is the median. If untimed
// steps precede the timed ones (a depth), they are the warm-up. Tokens are random but the same
// in every run. `samples` holds every measurement.
//===----------------------------------------------------------------------===//
#include "runtime/abi/Batch.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/measure/BenchKernels.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace ingot::cli {

namespace {

using Clock = std::chrono::steady_clock;
using runtime::Request;
using runtime::Session;

constexpr int64_t kParallelPrompt = 128, kParallelNew = 64;
constexpr int64_t kLeastPrompt = 8; ///< prompt before the new tokens of a decode test

struct BenchOptions {
  EngineOptions engine;
  std::vector<std::string> kernels;                ///< only these, instead of all other tests
  std::vector<int64_t> kernelTokens = {1, 8, 512}; ///< sizes of their steps
  std::vector<int64_t> prompts = {512}, news = {128}, depths = {0}, batches = {1}, parallel;
  int repeat = 5;
  std::string format = "md";
};

/// A test: `sequences` at once, each with `prompt` tokens after `depth` others, or with `newIds` new
/// tokens, or (parallel) with both.
struct Test {
  std::string name;
  int64_t prompt = 0, newIds = 0, depth = 0, sequences = 1;

  /// Returns the number of tokens that tokens per second count.
  double tokens() const { return static_cast<double>((newIds ? newIds : prompt) * sequences); }
};

struct Row {
  Test test;
  std::vector<double> samples; ///< tokens per second; at least one

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
  double least() const { return *std::min_element(samples.begin(), samples.end()); }
  double most() const { return *std::max_element(samples.begin(), samples.end()); }
  long long nanoseconds() const { return std::llround(test.tokens() / median() * 1e9); }

  std::string json() const {
    return JsonObject()
        .field("test", test.name)
        .field("tokens_per_s", median())
        .field("stddev", deviation())
        .field("min", least())
        .field("max", most())
        .field("avg_ns", nanoseconds())
        .field("samples", samples)
        .field("prompt", test.prompt)
        .field("new", test.newIds)
        .field("depth", test.depth)
        .field("sequences", test.sequences)
        .str();
  }
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Bench {
public:
  Bench(Session &session, int64_t chunk) : session(session), chunk(chunk) {}

  /// Measures the tokens per second of `tokens` prompt tokens that follow `depth` others. The steps of
  /// the `depth` tokens are not timed; they are whole chunks and therefore end exactly at `depth`.
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

  /// Measures the new tokens per second of `sequences` that decode together. The clock starts when
  /// every sequence has its first token; earlier sequences have several tokens by then (idsBefore()).
  Result<double> decode(int64_t tokens, int64_t depth, int64_t sequences) {
    const int64_t prompt = std::max(depth, kLeastPrompt);
    const int64_t most = idsBefore(prompt, sequences, chunk) + tokens;
    if (auto fits = fitTogether(sequences, prompt + most); !fits)
      return fits.error();
    std::vector<runtime::RequestId> ids;
    std::atomic<bool> enough{false};
    int64_t begun = 0, found = 0;
    for (int64_t i = 0; i < sequences; ++i) {
      Request one = request(prompt, most + 1);
      one.cancel = &enough;
      one.onToken = [&, first = true](const runtime::TokenEvent &) mutable {
        begun += std::exchange(first, false);
        ++found;
      };
      auto id = session.submit(std::move(one));
      if (!id)
        return id.error();
      ids.push_back(*id);
    }
    while (begun < sequences && session.step()) {
    }
    const int64_t before = found;
    const auto start = Clock::now();
    for (int64_t i = 0; i < tokens; ++i)
      session.step();
    const double seconds = since(start);
    const int64_t timed = found - before; // equals tokens * sequences, since idsBefore() leaves
                                          // room
    enough = true;
    session.runUntilDone();
    for (runtime::RequestId id : ids)
      session.take(id);
    return static_cast<double>(timed) / seconds;
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

  /// Returns the number of tokens that the first of `sequences` may get before the last has its first
  /// one. A step takes one token of each decoding sequence and fills the rest of `chunk` with
  /// prompt tokens.
  static int64_t idsBefore(int64_t prompt, int64_t sequences, int64_t chunk) {
    auto steps = [](int64_t tokens, int64_t each) { return (tokens + each - 1) / each; };
    const int64_t budget = std::max(chunk, sequences); // the session raises it likewise
    return steps(prompt * sequences, budget - sequences + 1) - steps(prompt, budget);
  }

  const Error *failure() const { return session.failure(); }

private:
  /// Returns E0137 if the scheduler would not admit all of `sequences` at once. The last one would
  /// then wait for the first.
  Result<void> fitTogether(int64_t sequences, int64_t positions) const {
    const int64_t pages = sequences * ((positions + kPageTokens - 1) / kPageTokens);
    const auto there = static_cast<int64_t>(session.memory().pages);
    auto number = [](int64_t n) { return grouped(static_cast<uint64_t>(n)); };
    std::string why;
    if (sequences > session.maxSeqs())
      why = "--max-seqs is " + number(session.maxSeqs());
    else if (pages > there)
      why = "they need " + number(pages) + " KV pages, there are " + number(there);
    else
      return {};
    return Error{ExitCode::Usage, "E0137",
                 number(sequences) + " sequences cannot decode together here", why,
                 "omit --max-seqs and --kv-memory, or lower --batch"};
  }

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

/// Prints all rows in any format except jsonl, which is printed row by row.
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
    emit("| test | tokens/s | ± | min | max |\n|---|---:|---:|---:|---:|\n");
  if (format == "csv")
    emit("test,tokens_per_s,stddev,min,max,avg_ns\n");
  for (const Row &row : rows) {
    const double figures[] = {row.median(), row.deviation(), row.least(), row.most()};
    std::string line;
    if (format == "md") {
      for (double figure : figures)
        line += " | " + shortNumber(figure);
      emit("| " + row.test.name + line + " |\n");
    } else {
      for (double figure : figures)
        line += "," + jsonNumber(figure);
      emit(row.test.name + line + "," + std::to_string(row.nanoseconds()) + "\n");
    }
  }
}

/// Returns the tests in the order of the table. Prompt depths are rounded up to whole steps of
/// `chunk`.
std::vector<Test> testsOf(const BenchOptions &options, int64_t chunk) {
  std::vector<Test> tests;
  auto at = [](const char *what, int64_t n) { return n ? what + std::to_string(n) : ""; };
  for (int64_t depth : options.depths) {
    const int64_t before = (depth + chunk - 1) / chunk * chunk;
    if (before != depth && !options.prompts.empty())
      options.engine.common.say("prompts at depth " + std::to_string(depth) + " are measured at " +
                                std::to_string(before) + ": whole steps of " +
                                std::to_string(chunk) + " tokens (--max-batch-tokens)");
    for (int64_t n : options.prompts)
      tests.push_back({"pp" + std::to_string(n) + at(" @ d", before), n, 0, before, 1});
    for (int64_t n : options.news)
      for (int64_t batch : options.batches)
        tests.push_back(
            {"tg" + std::to_string(n) + at(" @ d", depth) + (batch > 1 ? at(" @ b", batch) : ""), 0,
             n, depth, batch});
  }
  for (int64_t n : options.parallel)
    tests.push_back({"parallel" + std::to_string(n), kParallelPrompt, kParallelNew, 0, n});
  return tests;
}

/// Returns session limits with room for every test.
runtime::SessionOptions limitsOf(const std::vector<Test> &tests, int64_t chunk) {
  runtime::SessionOptions limits;
  limits.loadTokenizer = false;
  limits.maxBatchTokens = chunk;
  limits.prefixCache = false; // timed work must be computed
  limits.balance = false;     // steps must have `chunk` tokens
  for (const Test &test : tests) {
    int64_t positions = test.depth + test.prompt + test.newIds;
    if (!test.prompt) {
      const int64_t before = std::max(test.depth, kLeastPrompt);
      positions = before + Bench::idsBefore(before, test.sequences, chunk) + test.newIds;
    }
    limits.context = std::max(limits.context, positions);
    limits.maxSeqs = std::max(limits.maxSeqs, test.sequences);
  }
  return limits;
}

Result<Row> measure(Bench &run, Test test, int repeat, int64_t chunk) {
  Row row{std::move(test), {}};
  const Test &what = row.test;
  for (int i = what.depth >= chunk ? 1 : 0; i <= repeat; ++i) {
    Result<double> figure = what.prompt && what.newIds ? run.parallel(what.sequences)
                            : what.prompt ? run.prompt(what.prompt, what.depth)
                                          : run.decode(what.newIds, what.depth, what.sequences);
    if (!figure)
      return figure.error();
    if (const Error *failed = run.failure())
      return *failed;
    if (i > 0) // the first run warms the caches
      row.samples.push_back(*figure);
  }
  return row;
}

/// Returns the default number of tokens in a step, which is the same as in a session.
int64_t defaultChunk(const CommonOptions &common, const fb::Engine &table) {
  runtime::SessionOptions where;
  where.device = common.device;
  return static_cast<int64_t>(runtime::deviceOf(where, table) == runtime::Device::Cpu
                                  ? runtime::kDefaultBatchTokens
                                  : runtime::kDefaultGpuBatchTokens);
}

Result<int> bench(const BenchOptions &options) {
  const LimitOptions &given = options.engine.limits;
  if (options.prompts.empty() && options.news.empty() && options.parallel.empty())
    return Error{ExitCode::Usage, "E0136", "there is nothing to measure",
                 "-p 0 and -n 0 skip the prompt and the decode test",
                 "give -p, -n or --parallel numbers above 0"};
  auto path = options.engine.enginePath();
  if (!path)
    return path.error();
  auto engine = runtime::EngineFile::open(*path);
  if (!engine)
    return engine.error();
  const int64_t chunk = given.maxBatchTokens
                            ? given.maxBatchTokens
                            : defaultChunk(options.engine.common, (*engine)->table());
  const std::vector<Test> tests = testsOf(options, chunk);
  const runtime::SessionOptions limits = limitsOf(tests, chunk);
  if (const int64_t model = (*engine)->table().model()->context();
      !given.context && limits.context > model)
    return Error{ExitCode::Usage, "E0135", "the benchmark does not fit the model's context",
                 "it needs " + grouped(static_cast<uint64_t>(limits.context)) +
                     " positions, the model supports " + grouped(static_cast<uint64_t>(model)),
                 "give smaller numbers: -p 512 -n 128 --depth 0"};
  auto session = options.engine.open(*path, limits);
  if (!session)
    return session.error();

  Bench run(**session, chunk);
  std::vector<Row> rows;
  const bool lines = options.format == "jsonl" && !options.engine.common.json;
  for (const Test &test : tests) {
    auto row = measure(run, test, options.repeat, chunk);
    if (!row)
      return row.error();
    if (lines) // print at once, so that rows stay if a later test fails
      emit(row->json() + "\n");
    rows.push_back(std::move(*row));
  }
  if (!lines)
    print(options, rows);
  return options.engine.close(**session);
}

} // namespace

/// Implements `ingot bench --kernel`: runs bench-kernels at the most important step sizes.
static Result<int> benchOf(const BenchOptions &options) {
  BenchKernelsOptions own;
  own.engine = options.engine;
  own.kernels = options.kernels;
  own.tokens = options.kernelTokens;
  own.contexts = {options.engine.limits.context ? options.engine.limits.context : 128};
  return benchKernels(own);
}

Action defineBench(CommandLine &command) {
  auto options = std::make_shared<BenchOptions>();
  options->engine.define(command);
  auto kernel =
      command
          .option("--kernel", options->kernels,
                  "measure only this kernel, in all layers: time, GB/s, share of the limit, and "
                  "prediction (repeatable)")
          .typeName("NAME")
          .takesOne();
  command
      .option("--tokens", options->kernelTokens,
              "with --kernel: tokens of a step (default: 1,8,512)")
      .separatedBy(',')
      .takesOne()
      .range(int64_t{1}, int64_t{1} << 20)
      .needs(kernel);
  auto list = [&](const char *name, std::vector<int64_t> &values, const char *help,
                  int64_t least = 0, int64_t most = int64_t{1} << 24) {
    command.option(name, values, help)
        .separatedBy(',')
        .takesOne()
        .range(least, most)
        .excludes(kernel);
  };
  list("-p,--prompt", options->prompts, "prompt lengths (default: 512)");
  list("-n,--new", options->news, "numbers of new ids (default: 128)");
  list("-d,--depth", options->depths,
       "positions already in the KV cache (for prompts: rounded up to whole steps)");
  list("--batch", options->batches, "numbers of sequences that decode together (default: 1)", 1,
       int64_t{1} << 16);
  list("--parallel", options->parallel,
       "numbers of concurrent requests, each with 128 prompt ids and 64 new ids", 0,
       int64_t{1} << 16);
  command.option("-r,--repeat", options->repeat, "measurements of each (default: 5)")
      .range(1, 1000);
  command.option("--format", options->format, "how to print (default: md)")
      .oneOf({"md", "json", "jsonl", "csv"})
      .excludes(kernel);
  command.examples("  ingot bench smollm2.ingot\n"
                   "  ingot bench smollm2.ingot --kernel gate_up_0 --tokens 1,8,512\n"
                   "  ingot bench smollm2.ingot -p 0 -n 128 --batch 1,8,32\n"
                   "  ingot bench smollm2.ingot -p 512,2048 -n 128 --depth 0,4096 --parallel 8,32 "
                   "--format json\n");
  return [options]() -> Result<int> {
    if (!options->kernels.empty())
      return benchOf(*options);
    for (auto *values : {&options->prompts, &options->news, &options->parallel})
      std::erase(*values, 0); // -p 0 skips the prompt test
    return bench(*options);
  };
}

} // namespace ingot::cli
