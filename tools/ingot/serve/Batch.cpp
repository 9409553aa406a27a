//===- Batch.cpp - ingot batch: answers a file of requests -------------------===//
//
// This is `ingot serve` without sockets: requests go straight to the routes, which answer through a
// responder that writes lines (BatchFile.h). As many requests are in flight as the engine runs at
// once, plus a few more so that a free sequence slot is filled in the next step.
//
//   this thread: next line -> Api::handle -> reading threads -> engine's thread
//                line of the results <- … <- work that they post to the loop below
//===----------------------------------------------------------------------===//
#include "runtime/server/api/Api.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/serve/BatchFile.h"
#include "tools/ingot/serve/ServedOptions.h"
#include "tools/terminal/Console.h"

#include <chrono>
#include <deque>
#include <unistd.h>

namespace ingot::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kReadAhead = 4; ///< requests in flight beyond the requests that run at once

struct BatchOptions {
  EngineOptions engine;
  ServedOptions served;
  std::string input, output, modelName;
};

/// Runs work that other threads post to this thread.
class Loop {
public:
  void post(std::function<void()> work) {
    {
      std::lock_guard lock(mutex);
      waiting.push_back(std::move(work));
    }
    wake.notify_one();
  }
  /// Waits for one piece of work and runs it.
  void runOne() {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return !waiting.empty(); });
    auto work = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    work();
  }

private:
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> waiting;
};

/// Shows the progress: on a terminal as one line that is redrawn, elsewhere as one line per tenth.
class BatchProgress {
public:
  BatchProgress(int64_t total, bool quiet) : total(total), quiet(quiet) {}
  ~BatchProgress() {
    if (drawnOnce)
      std::fputs("\r\033[K", stderr);
  }
  void update(int64_t done, uint64_t newTokens) {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - begun).count();
    if (quiet || seconds <= 0)
      return;
    const double share = double(done) / double(total);
    const std::string numbers =
        grouped(uint64_t(done)) + " of " + grouped(uint64_t(total)) + " requests, " +
        shortNumber(double(newTokens) / seconds) + " new tokens per second, " +
        shortNumber(share > 0 ? seconds / share - seconds : 0.0) + " s left";
    if (!terminal) {
      if (const int64_t tenth = done * 10 / total; tenth > lastTenth) {
        lastTenth = tenth;
        note(numbers);
      }
      return;
    }
    if (drawnOnce && now - drawn < std::chrono::milliseconds(50))
      return;
    drawn = now;
    drawnOnce = true;
    std::string bar(24, ' ');
    std::fill_n(bar.begin(), size_t(share * double(bar.size())), '=');
    std::fprintf(stderr, "\r\033[K[%s] %s", bar.c_str(), numbers.c_str());
  }

private:
  const int64_t total;
  const bool quiet, terminal = isTerminal(STDERR_FILENO);
  const Clock::time_point begun = Clock::now();
  Clock::time_point drawn{};
  bool drawnOnce = false;
  int64_t lastTenth = 0;
};

/// Turns a response into a result line.
class LineResponder final : public http::Responder {
public:
  using Done = std::function<void(int status, std::string body)>;
  LineResponder(Loop &loop, Done done) : loop(loop), done(std::move(done)) {}
  ~LineResponder() override {
    if (done)
      give(500, http::errorBody("the request was dropped", "internal_error", "", ""));
  }
  void send(int status, std::string_view, std::string body, http::Headers) override {
    give(status, std::move(body));
  }
  // Requests for a stream are not sent (BatchFile.cpp), so begin, write and finish are never called.
  void begin(int, std::string_view, http::Headers) override {}
  void write(std::string) override {}
  void finish() override {}
  void onGone(std::function<void()>) override {} // a file never disconnects
  bool gone() const override { return false; }

private:
  void give(int status, std::string body) {
    loop.post([done = std::exchange(done, nullptr), status, body = std::move(body)]() mutable {
      done(status, std::move(body));
    });
  }
  Loop &loop;
  Done done;
};

Result<std::shared_ptr<service::ServedModel>> openModel(const BatchOptions &options,
                                                        const api::Post &post) {
  service::ServiceOptions service;
  // The code in this file limits the requests in flight, so the service's own limits are set out of reach.
  service.queueRequests = service.queueTokens = int64_t(1) << 40;
  service.dispatch = post;
  return options.served.open(options.engine, options.modelName, {}, std::move(service));
}

class Batch {
public:
  Batch(const BatchOptions &options, BatchInput input, BatchOutput output)
      : options(options), input(std::move(input)), output(std::move(output)) {}
  Result<int> run();

private:
  void fill();
  void send(BatchRequest request);
  void ended(const BatchRequest &request, int status, const std::string &body);
  void failed(const BatchRequest &request, std::string why);
  uint64_t newTokens() const { return model->service().metrics().read().generationTokens; }
  Result<int> summary(double seconds) const;

  const BatchOptions &options;
  BatchInput input;
  BatchOutput output;
  Loop loop;
  std::shared_ptr<service::ServedModel> model;
  std::unique_ptr<api::Api> routes; ///< last, so its threads end before the rest is destroyed
  int64_t underWay = 0, mostUnderWay = 0;
  int64_t done = 0, failures = 0, skipped = 0;
  std::string firstFailure;
  bool allRead = false;
  std::optional<Error> fatal; ///< if set, no more requests are sent
};

Result<int> Batch::run() {
  const api::Post post = [this](std::function<void()> work) { loop.post(std::move(work)); };
  auto opened = openModel(options, post);
  if (!opened)
    return opened.error();
  model = std::move(*opened);
  auto models = std::make_shared<service::ModelRegistry>();
  models->add(model);
  routes = std::make_unique<api::Api>(models, api::ApiOptions{.version = INGOT_VERSION}, post);
  mostUnderWay = model->session().maxSeqs() + kReadAhead;

  const auto begun = Clock::now();
  {
    const CommonOptions &common = options.engine.common;
    BatchProgress progress(input.requests(), common.quiet || common.json);
    for (fill(); underWay; fill()) {
      loop.runOne();
      progress.update(skipped + done + failures, newTokens());
    }
  }
  routes.reset();
  if (fatal)
    return *fatal;
  return summary(std::chrono::duration<double>(Clock::now() - begun).count());
}

void Batch::fill() {
  while (!allRead && !fatal && underWay < mostUnderWay) {
    auto request = input.next();
    if (!request)
      allRead = true;
    else if (output.has(request->customId))
      ++skipped;
    else if (request->refusal.empty())
      send(std::move(*request));
    else {
      failed(*request, request->refusal);
      if (auto written = output.addRefused(*request); !written)
        fatal = written.error();
    }
  }
}

void Batch::send(BatchRequest request) {
  ++underWay;
  http::HttpRequest sent;
  sent.method = "POST";
  sent.path = request.url;
  sent.headers = {{"content-type", "application/json"}};
  sent.body = std::move(request.body);
  sent.id = request.customId;
  routes->handle(std::move(sent),
                 std::make_shared<LineResponder>(
                     loop, [this, request = std::move(request)](int status, std::string body) {
                       ended(request, status, body);
                     }));
}

void Batch::ended(const BatchRequest &request, int status, const std::string &body) {
  --underWay;
  if (fatal)
    return;
  // Requests that a failed device did not answer get no line, so the next run repeats them.
  if (auto failure = model->service().failure()) {
    fatal = *failure;
    return;
  }
  if (status == 200)
    ++done;
  else
    failed(request, std::to_string(status) + " " + body);
  if (auto written = output.add(request, status, body); !written)
    fatal = written.error();
}

void Batch::failed(const BatchRequest &request, std::string why) {
  if (failures++ == 0)
    firstFailure = "the first: \"" + request.customId + "\": " + why.substr(0, 300);
}

Result<int> Batch::summary(double seconds) const {
  const uint64_t tokens = newTokens();
  if (options.engine.common.json)
    emit(JsonObject()
             .field("requests", input.requests())
             .field("done", done)
             .field("failed", failures)
             .field("skipped", skipped)
             .field("new_tokens", tokens)
             .field("seconds", seconds)
             .str() +
         "\n");
  options.engine.common.say(grouped(uint64_t(done)) + " requests done, " +
                            grouped(uint64_t(failures)) + " failed, " + grouped(uint64_t(skipped)) +
                            " already had results; " + grouped(tokens) + " new tokens, " +
                            shortNumber(double(tokens) / seconds) + " per second");
  if (failures)
    return Error{ExitCode::Usage, "E0140",
                 std::to_string(failures) + " of " + std::to_string(input.requests()) +
                     " requests failed",
                 firstFailure, "their lines in " + options.output + " have the reasons"};
  return 0;
}

} // namespace

Action defineBatch(CommandLine &command) {
  auto options = std::make_shared<BatchOptions>();
  options->engine.define(command);
  command.option("-i,--input", options->input, "requests, one JSON object per line").required();
  command
      .option("-o,--output", options->output,
              "results; an existing file is continued: requests with a line there are skipped")
      .required();
  const char *service = "Service";
  command
      .option("--model-name", options->modelName,
              "the model name in requests (default: its name in the engine)")
      .group(service);
  options->served.define(command, service);
  command.examples(
      "  ingot batch smollm2.ingot -i requests.jsonl -o results.jsonl\n"
      "  ingot batch smollm2.ingot -i requests.jsonl -o results.jsonl --max-seqs 64\n");
  return [options]() -> Result<int> {
    // Open both files before the engine, which takes longer.
    auto input = BatchInput::open(options->input);
    if (!input)
      return input.error();
    auto output = BatchOutput::open(options->output);
    if (!output)
      return output.error();
    return Batch(*options, std::move(*input), std::move(*output)).run();
  };
}

} // namespace ingot::cli
