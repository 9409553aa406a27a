//===- LoadRun.cpp - See LoadRun.h -------------------------------------------===//
#include "tools/ingot/measure/load/LoadRun.h"

#include "runtime/server/http/client/EventStream.h"
#include "tools/files/Json.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <simdjson.h>

namespace ingot::load {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours kTimeout{2};
constexpr size_t kMostErrorBytes = 4096;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(int64_t(std::min(seconds, 1e9) * 1e9));
}

/// One request in flight.
class Client {
public:
  Client(simdjson::dom::parser &parser, Clock::time_point begin) : parser(parser), begin(begin) {}

  http::ClientEvents events(std::function<void()> whenEnded) {
    return {.onHead = [this](int got) { status = got; },
            .onData =
                [this](std::string_view data) {
                  if (status != 200) {
                    body.append(
                        data.substr(0, kMostErrorBytes - std::min(kMostErrorBytes, body.size())));
                    return;
                  }
                  if (!stream.put(
                          data, [this](std::string_view, std::string_view event) { take(event); }))
                    outcome.error = "an event is too long";
                },
            .onEnd =
                [this, whenEnded = std::move(whenEnded)](const std::string &failure) {
                  finish(failure);
                  whenEnded();
                }};
  }

  int status = 0;
  std::string body;
  Outcome outcome;

private:
  /// Handles one event: text, usage, an error, or the end.
  void take(std::string_view event) {
    if (event == "[DONE]") {
      done = true;
      return;
    }
    simdjson::dom::element json;
    if (parser.parse(event.data(), event.size()).get(json)) {
      outcome.error = "an event is not JSON: " + std::string(event.substr(0, 80));
      return;
    }
    simdjson::dom::element error;
    if (!json["error"].get(error) && !error.is_null())
      outcome.error = simdjson::minify(error);
    simdjson::dom::object usage;
    if (!json["usage"].get(usage)) {
      counted = !usage["completion_tokens"].get(outcome.outputTokens);
      (void)usage["prompt_tokens"].get(outcome.inputTokens);
    }
    simdjson::dom::array choices;
    if (json["choices"].get(choices))
      return;
    for (simdjson::dom::element choice : choices)
      if (hasText(choice))
        return heard();
  }

  /// Returns whether a choice has text: the text of a completion, or the content, reasoning or tool calls of a chat
  /// delta.
  static bool hasText(simdjson::dom::element choice) {
    std::string_view text;
    if (!choice["text"].get(text))
      return !text.empty();
    simdjson::dom::object delta;
    if (choice["delta"].get(delta))
      return false;
    for (const char *name : {"content", "reasoning_content", "reasoning"})
      if (!delta[name].get(text) && !text.empty())
        return true;
    simdjson::dom::array calls;
    return !delta["tool_calls"].get(calls) && calls.size() != 0;
  }

  void heard() {
    const double now = secondsSince(begin);
    if (outcome.firstText == 0)
      outcome.firstText = now;
    else
      outcome.gaps.push_back(float(now - last));
    last = now;
    ++pieces;
  }

  void finish(const std::string &failure) {
    outcome.finish = secondsSince(begin);
    if (!failure.empty())
      outcome.error = failure;
    else if (status != 200)
      outcome.error = "status " + std::to_string(status) + (body.empty() ? "" : ": " + body);
    else if (!done && outcome.error.empty())
      outcome.error = "the stream ended without [DONE]";
    if (!counted)
      outcome.outputTokens = pieces;
    outcome.end = outcome.error.empty() ? End::Completed : End::Failed;
    if (outcome.firstText == 0) // an answer without text: use its end
      outcome.firstText = outcome.finish;
  }

  simdjson::dom::parser &parser;
  Clock::time_point begin;
  http::EventStream stream;
  double last = 0;
  int64_t pieces = 0;
  bool done = false, counted = false;
};

http::ClientRequest requestOf(const Target &target, const Prompt &prompt) {
  http::ClientRequest request;
  request.method = "POST";
  request.path = target.route == Route::Chat ? "/v1/chat/completions" : "/v1/completions";
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}};
  if (!target.apiKey.empty())
    request.headers.emplace_back("Authorization", "Bearer " + target.apiKey);
  request.body = wholeBody(target, prompt);
  request.timeout = kTimeout;
  return request;
}

class Run {
public:
  Run(const Target &target, Prompts given, const LoadOptions &options)
      : target(target), prompts(std::move(given)), options(options), loop(target.server),
        generator(options.seed ^ 0x5eed5eed5eed5eedull) {}

  RunResult run() {
    outcomes.reserve(size_t(std::min<int64_t>(options.requests, 1 << 20)));
    begin = Clock::now();
    if (options.rate > 0) {
      nextArrival = 0;
      arrive();
    } else {
      const int64_t users = options.users.value_or(options.requests);
      for (int64_t i = 0; i < users && mayBegin(); ++i)
        ask();
    }
    loop.run();
    RunResult result;
    double first = 1e300, last = 0;
    for (const Outcome &one : outcomes) {
      first = std::min(first, one.start);
      last = std::max(last, one.finish);
    }
    result.duration = outcomes.empty() ? 0 : last - first;
    result.outcomes = std::move(outcomes);
    return result;
  }

private:
  bool mayBegin() const {
    return begun < options.requests &&
           (options.duration <= 0 || secondsSince(begin) < options.duration);
  }

  /// Handles an arrival in an open loop: one request arrives, and the time of the next is sampled. Each time is
  /// relative to the previous arrival rather than to the clock, so a late timer does not delay later requests.
  void arrive() {
    if (arrived >= options.requests || (options.duration > 0 && nextArrival >= options.duration))
      return;
    ++arrived;
    if (!options.users || underWay < *options.users)
      ask();
    else
      ++held;
    std::gamma_distribution<double> gap(options.burstiness,
                                        1 / (options.rate * options.burstiness));
    nextArrival += gap(generator);
    loop.after(nanoseconds(std::max(0.0, nextArrival - secondsSince(begin))), [this] { arrive(); });
  }

  void ask() {
    ++begun;
    ++underWay;
    const Prompt prompt = prompts.next();
    auto client = std::make_shared<Client>(parser, begin);
    const size_t place = outcomes.size();
    outcomes.emplace_back();
    client->outcome.inputTokens = prompt.inputTokens;
    client->outcome.start = outcomes[place].start = secondsSince(begin);
    // The events own the client, so it lives as long as its request.
    auto events = client->events([] {});
    events.onEnd = [this, client, place, inner = events.onEnd](const std::string &failure) {
      inner(failure);
      ended(place, std::move(client->outcome));
    };
    const auto ticket = loop.send(requestOf(target, prompt), std::move(events));
    std::uniform_real_distribution<double> unit(0, 1);
    if (options.disconnect > 0 && unit(generator) < options.disconnect)
      loop.after(nanoseconds(unit(generator) * typical()),
                 [this, weak = std::weak_ptr(client), place, ticket] {
                   if (auto alive = weak.lock())
                     leave(place, ticket, *alive);
                 });
  }

  /// Returns the mean duration of requests, in seconds. Clients that disconnect do so within it.
  double typical() const { return finished ? spent / double(finished) : 1.0; }

  void leave(size_t place, http::ClientLoop::Ticket ticket, Client &client) {
    if (outcomes[place].finish > 0)
      return;
    Outcome outcome = std::move(client.outcome);
    outcome.end = End::Left;
    outcome.finish = secondsSince(begin);
    loop.abandon(ticket);
    ended(place, std::move(outcome));
  }

  void ended(size_t place, Outcome outcome) {
    --underWay;
    if (outcome.end == End::Completed) {
      ++finished;
      spent += outcome.finish - outcome.start;
    }
    outcomes[place] = std::move(outcome);
    if (options.progress)
      options.progress(begun - underWay);
    if (options.rate > 0) {
      if (held > 0) {
        --held;
        ask();
      }
    } else if (mayBegin()) {
      // Do not start a request inside the callback that ends another one. If the server refuses
      // requests at once, the calls would nest.
      loop.after({}, [this] {
        if (mayBegin())
          ask();
      });
    }
  }

  const Target &target;
  Prompts prompts;
  const LoadOptions &options;
  simdjson::dom::parser parser;
  std::vector<Outcome> outcomes;
  Clock::time_point begin;
  int64_t begun = 0, arrived = 0, held = 0, underWay = 0, finished = 0;
  double nextArrival = 0, spent = 0;
  http::ClientLoop loop;
  std::mt19937_64 generator;
};

} // namespace

std::string wholeBody(const Target &target, const Prompt &prompt) {
  return prompt.body + ",\"model\":" + cli::jsonQuote(target.model) +
         ",\"stream\":true,\"stream_options\":{\"include_usage\":true}" + target.more + "}";
}

RunResult runLoad(const Target &target, Prompts prompts, const LoadOptions &options) {
  return Run(target, std::move(prompts), options).run();
}

Probe probe(const Target &target, const Prompt &prompt) {
  simdjson::dom::parser parser;
  http::ClientLoop loop(target.server);
  Client client(parser, Clock::now());
  http::ClientRequest request = requestOf(target, prompt);
  request.timeout = std::chrono::minutes(5);
  loop.send(std::move(request), client.events([] {}));
  loop.run();
  return {client.status, client.body, std::move(client.outcome)};
}

} // namespace ingot::load
