//===- Prompts.cpp - Random words and requests from files --------------------===//
#include "tools/ingot/measure/load/Prompts.h"

#include "tools/files/Files.h"
#include "tools/files/Json.h"

#include <algorithm>
#include <cmath>
#include <simdjson.h>

namespace ingot::load {

using namespace std::literals;

namespace {

constexpr std::string_view kWords[] = {
    "time",     "year",    "people",    "way",    "day",        "man",    "thing",   "woman",
    "life",     "child",   "world",     "school", "state",      "family", "student", "group",
    "country",  "problem", "hand",      "part",   "place",      "case",   "week",    "company",
    "system",   "program", "question",  "work",   "government", "number", "night",   "point",
    "home",     "water",   "room",      "mother", "area",       "money",  "story",   "fact",
    "month",    "lot",     "right",     "study",  "book",       "eye",    "job",     "word",
    "business", "issue",   "side",      "kind",   "head",       "house",  "service", "friend",
    "father",   "power",   "hour",      "game",   "line",       "end",    "member",  "law",
    "car",      "city",    "community", "name"};

Error badFile(const std::string &path, const std::string &why) {
  return {ExitCode::File, "E0587", "the prompts cannot be read: " + path, why,
          "give one JSON object per line: {\"prompt\": …}, {\"messages\": […]} or ShareGPT's "
          "conversations"};
}

/// Samples uniformly from n (1 - r) … n (1 + r), with a minimum of 1.
int64_t drawn(int64_t around, double ratio, std::mt19937_64 &generator) {
  const auto low = std::max<int64_t>(1, int64_t(std::floor(double(around) * (1 - ratio))));
  const auto high = std::max(low, int64_t(std::ceil(double(around) * (1 + ratio))));
  return std::uniform_int_distribution<int64_t>(low, high)(generator);
}

/// Finds the text of the first human turn.
bool shareGpt(simdjson::dom::element entry, std::string_view &text) {
  simdjson::dom::array turns;
  if (entry["conversations"].get(turns))
    return false;
  for (simdjson::dom::element turn : turns) {
    std::string_view who;
    if (!turn["from"].get(who) && (who == "human" || who == "user"))
      return !turn["value"].get(text);
  }
  return false;
}

/// Returns the members of a body, except members that the run sets itself.
std::string kept(simdjson::dom::object body, int64_t &outputTokens) {
  std::string out = "{";
  bool limited = false;
  for (auto [key, value] : body) {
    if (key == "model"sv || key == "stream"sv || key == "stream_options"sv)
      continue;
    int64_t limit = 0;
    if ((key == "max_tokens"sv || key == "max_completion_tokens"sv) && !value.get(limit)) {
      outputTokens = limit;
      limited = true;
    }
    out += (out.size() > 1 ? "," : "") + cli::jsonQuote(key) + ":" + simdjson::minify(value);
  }
  if (!limited)
    out +=
        std::string(out.size() > 1 ? "," : "") + "\"max_tokens\":" + std::to_string(outputTokens);
  return out;
}

bool readEntry(simdjson::dom::element entry, Route route, int64_t outputTokens, Prompt &prompt) {
  prompt.outputTokens = outputTokens;
  std::string_view text;
  simdjson::dom::object body;
  if (shareGpt(entry, text)) {
    prompt.body = bodyOf(route, text, outputTokens);
    return true;
  }
  if (entry["body"].get(body) && entry.get(body))
    return false;
  if (simdjson::dom::element ignored; body["messages"].get(ignored) == simdjson::SUCCESS) {
    if (route != Route::Chat)
      return false;
  } else if (!body["prompt"].get(text) && route == Route::Chat) {
    int64_t limit = outputTokens;
    if (body["max_tokens"].get(limit) && body["output_tokens"].get(limit))
      limit = outputTokens;
    prompt.outputTokens = limit;
    prompt.body = bodyOf(route, text, limit);
    return true;
  } else if (body["prompt"].get(ignored) || route == Route::Chat) {
    return false;
  }
  prompt.body = kept(body, prompt.outputTokens);
  return true;
}

} // namespace

TokenFit fit(int64_t fewWords, int64_t fewTokens, int64_t manyWords, int64_t manyTokens) {
  TokenFit out;
  if (manyTokens <= fewTokens || fewTokens <= 0)
    return out; // the server does not count tokens
  out.perWord = double(manyTokens - fewTokens) / double(manyWords - fewWords);
  out.fixed = std::max(0.0, double(fewTokens) - out.perWord * double(fewWords));
  return out;
}

std::string words(int64_t count, std::mt19937_64 &generator) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text.append(i ? " " : "").append(kWords[generator() % std::size(kWords)]);
  return text;
}

std::string bodyOf(Route route, std::string_view text, int64_t outputTokens) {
  const std::string quoted = cli::jsonQuote(text);
  return (route == Route::Chat ? "{\"messages\":[{\"role\":\"user\",\"content\":" + quoted + "}]"
                               : "{\"prompt\":" + quoted) +
         ",\"max_tokens\":" + std::to_string(outputTokens);
}

Prompts Prompts::random(Route route, RandomShape shape, TokenFit fit, uint64_t seed) {
  Prompts prompts;
  prompts.route = route;
  prompts.shape = shape;
  prompts.tokens = fit;
  prompts.generator.seed(seed);
  if (shape.prefixTokens > 0)
    prompts.prefix =
        words(std::max<int64_t>(1, std::llround(double(shape.prefixTokens) / fit.perWord)),
              prompts.generator) +
        " ";
  return prompts;
}

Result<Prompts> Prompts::file(const std::string &path, Route route, int64_t outputTokens) {
  auto text = cli::readFile(path);
  if (!text)
    return text.error();
  Prompts prompts;
  prompts.route = route;
  simdjson::dom::parser parser;
  size_t number = 0;
  auto add = [&](simdjson::dom::element entry) {
    ++number;
    Prompt prompt;
    if (!readEntry(entry, route, outputTokens, prompt))
      return false;
    prompts.fixed.push_back(std::move(prompt));
    return true;
  };
  const auto unknown = [&] {
    return badFile(path, "entry " + std::to_string(number) + " is not a valid request for " +
                             (route == Route::Chat ? "/v1/chat/completions" : "/v1/completions"));
  };
  if (text->find_first_not_of(" \t\r\n") != std::string::npos &&
      (*text)[text->find_first_not_of(" \t\r\n")] == '[') {
    simdjson::dom::array list;
    if (auto wrong = parser.parse(*text).get(list))
      return badFile(path, simdjson::error_message(wrong));
    for (simdjson::dom::element entry : list)
      if (!add(entry) && !entry["conversations"].error())
        --number; // some ShareGPT conversations have no human turn
      else if (prompts.fixed.size() != number)
        return unknown();
  } else {
    for (size_t at = 0; at < text->size();) {
      const size_t end = std::min(text->find('\n', at), text->size());
      const std::string line = text->substr(at, end - at);
      at = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string::npos)
        continue;
      simdjson::dom::element entry;
      if (auto wrong = parser.parse(line).get(entry))
        return badFile(path, "line " + std::to_string(number + 1) + ": " +
                                 simdjson::error_message(wrong));
      if (!add(entry))
        return unknown();
    }
  }
  if (prompts.fixed.empty())
    return badFile(path, "it has no requests");
  return prompts;
}

Prompt Prompts::next() {
  if (!fixed.empty())
    return fixed[at++ % fixed.size()];
  Prompt prompt;
  prompt.inputTokens = drawn(shape.promptTokens, shape.rangeRatio, generator);
  prompt.outputTokens = drawn(shape.outputTokens, shape.rangeRatio, generator);
  const auto count = std::max<int64_t>(
      1, std::llround((double(prompt.inputTokens) - tokens.fixed) / tokens.perWord));
  prompt.inputTokens += shape.prefixTokens;
  prompt.body = bodyOf(route, prefix + words(count, generator), prompt.outputTokens);
  return prompt;
}

} // namespace ingot::load
