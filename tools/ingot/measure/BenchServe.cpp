//===- BenchServe.cpp - ingot bench-serve: benchmark of a server ------------===//
//
// Sends a load to any server with OpenAI's streaming /v1/completions or /v1/chat/completions, and
// reports the same figures as vLLM's `bench serve`, under the same names (load/Figures.h).
//
// Before the run it requests the list of models and sends one or two small requests. They reveal a
// problem (no server, no key, no such model) before a thousand requests fail, and show how many
// tokens a word takes.
//===----------------------------------------------------------------------===//
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/measure/load/LoadRun.h"
#include "tools/terminal/Console.h"

#include <ctime>
#include <simdjson.h>
#include <unistd.h>

namespace ingot::cli {

namespace {

using namespace ingot::load;

struct BenchServeOptions {
  std::string url, route = "completions", model, apiKey, promptsFile, goodput, jsonFile;
  std::string percentiles = "99";
  RandomShape shape;
  LoadOptions load;
  std::optional<int64_t> users;
  std::optional<double> temperature;
  bool ignoreEos = false, details = false, quiet = false;
};

Error nobodyThere(const std::string &url, const std::string &why) {
  return {ExitCode::Usage, "E0583", "no server answers at " + url, why,
          "start one: ingot serve MODEL; or give its address"};
}

/// Returns the error for a request that the server refused, from its status and body.
Error refused(const std::string &url, const std::string &model, int status,
              const std::string &body) {
  std::string message = body.substr(0, 300);
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::string_view text;
  if (!parser.parse(body).get(json) && (!json["error"]["message"].get(text) ||
                                        !json["message"].get(text) || !json["detail"].get(text)))
    message = text;
  for (char &c : message)
    if (static_cast<unsigned char>(c) < 0x20)
      c = ' ';
  if (status == 401 || status == 403)
    return {ExitCode::Usage, "E0584", "the server requires an API key", message,
            "give --api-key KEY"};
  if (status == 404)
    return {ExitCode::Usage, "E0585",
            model.empty() ? url + " does not serve models"
                          : "the server has no model " + model + ", or does not support this route",
            message, "give a --model that " + url + "/v1/models lists, or another --route"};
  return {ExitCode::Usage, "E0588",
          "the server refused a request: status " + std::to_string(status), message,
          "change the request, or the server"};
}

http::ClientRequest modelsRequest(const BenchServeOptions &options) {
  http::ClientRequest request;
  request.path = "/v1/models";
  if (!options.apiKey.empty())
    request.headers = {{"Authorization", "Bearer " + options.apiKey}};
  request.timeout = std::chrono::seconds(30);
  return request;
}

/// Returns the first model that the server lists.
Result<std::string> firstModel(const BenchServeOptions &options, const http::ServerUrl &server) {
  const auto answer = http::ClientLoop(server).ask(modelsRequest(options));
  if (!answer.failure.empty())
    return nobodyThere(options.url, answer.failure);
  if (answer.status != 200)
    return refused(options.url, "", answer.status, answer.body);
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::string_view name;
  if (parser.parse(answer.body).get(json) || json["data"].at(0)["id"].get(name))
    return Error{ExitCode::Usage, "E0585", options.url + " lists no models", "",
                 "give the model's name: --model NAME"};
  return std::string(name);
}

/// Sends one small request and returns its tokens as the server counts them.
Result<int64_t> tryOut(const BenchServeOptions &options, const Target &target, int64_t count) {
  std::mt19937_64 generator(options.load.seed + uint64_t(count));
  Prompt prompt;
  prompt.body = bodyOf(target.route, words(count, generator), 2);
  Probe tried = probe(target, prompt);
  if (tried.status == 400 && !options.promptsFile.empty() && target.route == Route::Completions) {
    // A server without a tokenizer accepts only token ids, and the file may hold token ids.
    prompt.body = "{\"prompt\":[1,2,3,4],\"max_tokens\":2";
    tried = probe(target, prompt);
  }
  if (tried.status == 0)
    return nobodyThere(options.url, tried.outcome.error);
  if (tried.status != 200)
    return refused(options.url, target.model, tried.status, tried.body);
  if (tried.outcome.end != End::Completed)
    return Error{ExitCode::Usage, "E0589", "the server's stream cannot be used",
                 tried.outcome.error, "it must send server-sent events that end with [DONE]"};
  return tried.outcome.inputTokens;
}

Result<std::vector<double>> readPercentiles(const std::string &text) {
  std::vector<double> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    double value = -1;
    size_t used = 0;
    const std::string one = text.substr(at, end - at);
    try {
      value = std::stod(one, &used);
    } catch (const std::exception &) {
      used = 0;
    }
    if (one.empty() || used != one.size() || !(value >= 0 && value <= 100))
      return Error{ExitCode::Usage, "E0590", "--percentiles cannot be read: " + text, "",
                   "give numbers from 0 to 100, such as --percentiles 50,90,99"};
    out.push_back(value);
    at = end + 1;
  }
  return out;
}

std::string today() {
  char text[32];
  const time_t now = std::time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

/// Makes prompts with lengths that are measured in the server's own tokens.
Result<Prompts> makePrompts(const BenchServeOptions &options, const Target &target) {
  // The word counts of two trial prompts, which fit any context. The server reports how many tokens the two prompts
  // have. From this, fit() derives the token count of a prompt with any number of words.
  constexpr int64_t kFew = 4, kMany = 36;
  auto few = tryOut(options, target, kFew);
  if (!few)
    return few.error();
  if (!options.promptsFile.empty())
    return Prompts::file(options.promptsFile, target.route, options.shape.outputTokens);
  auto many = tryOut(options, target, kMany);
  if (!many)
    return many.error();
  return Prompts::random(target.route, options.shape, fit(kFew, *few, kMany, *many),
                         options.load.seed);
}

/// Returns a callback that shows the count on a terminal, at most once per second.
std::function<void(int64_t)> progressLine(const BenchServeOptions &options) {
  if (options.quiet || !isTerminal(STDERR_FILENO))
    return {};
  return [last = std::time_t(0), total = options.load.requests](int64_t ended) mutable {
    if (const time_t now = std::time(nullptr); now != last || ended == total) {
      last = now;
      std::fprintf(stderr, "\r%lld of %lld requests%s", static_cast<long long>(ended),
                   static_cast<long long>(total), ended == total ? "\n" : "");
    }
  };
}

Result<int> benchServe(BenchServeOptions options) {
  auto server = http::parseUrl(options.url);
  if (!server)
    return server.error();
  // Clients usually take the URL with the version in its path, so accept it here too.
  if (server->path.ends_with("/v1"))
    server->path.resize(server->path.size() - 3);
  Goodput goodput;
  if (!options.goodput.empty()) {
    auto read = parseGoodput(options.goodput);
    if (!read)
      return read.error();
    goodput = *read;
  }
  auto percentiles = readPercentiles(options.percentiles);
  if (!percentiles)
    return percentiles.error();

  if (!options.jsonFile.empty() && options.jsonFile != "-")
    if (auto possible = checkWritable(options.jsonFile); !possible)
      return possible.error();

  Target target;
  target.server = *server;
  target.route = options.route == "chat" ? Route::Chat : Route::Completions;
  target.apiKey = options.apiKey;
  target.model = options.model;
  if (target.model.empty()) {
    auto model = firstModel(options, *server);
    if (!model)
      return model.error();
    target.model = *model;
  }
  auto prompts = makePrompts(options, target);
  if (!prompts)
    return prompts.error();
  if (options.temperature)
    target.more += ",\"temperature\":" + jsonNumber(*options.temperature);
  if (options.ignoreEos)
    target.more += ",\"ignore_eos\":true";

  options.load.users = options.users;
  if (!options.users && options.load.rate <= 0)
    options.load.users = 1;
  options.load.progress = progressLine(options);
  const RunResult run = runLoad(target, std::move(*prompts), options.load);

  RunFacts facts;
  facts.date = today();
  facts.backend = options.route == "chat" ? "openai-chat" : "openai";
  facts.model = target.model;
  facts.requests = int64_t(run.outcomes.size());
  facts.rate = options.load.rate;
  facts.burstiness = options.load.burstiness;
  facts.users = options.load.users;
  facts.percentiles = *percentiles;
  const Figures result = figures(run.outcomes, run.duration, goodput, *percentiles);
  const std::string json =
      resultJson(result, facts, options.details ? &run.outcomes : nullptr) + "\n";
  if (options.jsonFile == "-")
    emit(json);
  else
    emit(resultTable(result, facts));
  if (!options.jsonFile.empty() && options.jsonFile != "-")
    if (auto written = writeFile(options.jsonFile, json); !written)
      return written.error();
  for (const Outcome &one : run.outcomes)
    if (one.end == End::Failed) {
      note("first failure: " + one.error.substr(0, 300));
      break;
    }
  if (result.completed == 0 && result.left == 0)
    return Error{ExitCode::Device, "E0591", "no request was answered",
                 std::to_string(result.failed) + " failed", "see the server's log"};
  return 0;
}

} // namespace

Action defineBenchServe(CommandLine &command) {
  auto options = std::make_shared<BenchServeOptions>();
  constexpr int64_t kMost = int64_t{1} << 40, kMostTokens = int64_t{1} << 24;
  command.option("URL", options->url, "the server, such as http://127.0.0.1:8000").required();
  command.option("--route", options->route, "type of requests: completions or chat")
      .oneOf({"completions", "chat"})
      .showDefault();
  command.option("--model", options->model, "model (default: the first that the server lists)");
  command.option("--api-key", options->apiKey, "the server's key");
  const char *load = "Load";
  command
      .option(
          "--users", options->users,
          "clients that send the next request after each answer; with --rate: limit of concurrent "
          "requests")
      .range(int64_t{1}, kMost)
      .group(load);
  command.option("--rate", options->load.rate, "requests per second, independent of answers")
      .range(1e-6, 1e6)
      .group(load);
  command
      .option("--burstiness", options->load.burstiness,
              "shape of the gaps: 1 is a Poisson process, less is burstier")
      .range(1e-3, 1e6)
      .showDefault()
      .group(load);
  command.option("--requests", options->load.requests, "total of requests")
      .range(int64_t{1}, kMost)
      .showDefault()
      .group(load);
  command.option("--duration", options->load.duration, "seconds after which no request starts")
      .range(1e-3, 1e9)
      .group(load);
  command
      .option("--disconnect", options->load.disconnect,
              "share of the clients that leave at a random time")
      .range(0.0, 1.0)
      .group(load);
  command.option("--seed", options->load.seed, "seed of prompts, gaps and disconnects")
      .showDefault()
      .group(load);
  const char *asked = "Prompts";
  command.option("--prompt-tokens", options->shape.promptTokens, "tokens of a prompt")
      .range(int64_t{1}, kMost)
      .showDefault()
      .group(asked);
  command.option("--output-tokens", options->shape.outputTokens, "maximum of new tokens")
      .range(int64_t{1}, kMost)
      .showDefault()
      .group(asked);
  command
      .option("--prefix-tokens", options->shape.prefixTokens,
              "tokens at the start of each prompt, the same for all")
      .range(int64_t{0}, kMostTokens)
      .group(asked);
  command
      .option("--range-ratio", options->shape.rangeRatio, "R: lengths from n (1 - R) to n (1 + R)")
      .range(0.0, 1.0)
      .group(asked);
  command
      .option("--prompts", options->promptsFile,
              "a file of requests: ShareGPT, OpenAI bodies or {\"prompt\"}, JSON lines or array")
      .group(asked);
  command.option("--temperature", options->temperature, "(default: the server's)")
      .range(0.0, 2.0)
      .group(asked);
  command.flag("--ignore-eos", options->ignoreEos, "answers continue up to their maximum of tokens")
      .group(asked);
  const char *results = "Results";
  command
      .option("--goodput", options->goodput,
              "ttft:MS,tpot:MS,itl:MS,e2el:MS: count the requests that meet all of these")
      .group(results);
  command.option("--percentiles", options->percentiles, "percentiles of the latencies")
      .showDefault()
      .group(results);
  command.option("--json", options->jsonFile, "write the result to this file; -: only to stdout")
      .group(results);
  command.flag("--details", options->details, "include the figures of each request").group(results);
  command.flag("--quiet", options->quiet, "no progress").group(results);
  command.examples("  ingot bench-serve http://127.0.0.1:8000 --users 32 --requests 128\n"
                   "  ingot bench-serve http://127.0.0.1:8000 --rate 4 --duration 60 --goodput "
                   "ttft:500,itl:100\n");
  return [options] { return benchServe(*options); };
}

} // namespace ingot::cli
