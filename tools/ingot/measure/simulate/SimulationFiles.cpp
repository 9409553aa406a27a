//===- SimulationFiles.cpp - See SimulationFiles.h -------------------------===//
#include "tools/ingot/measure/simulate/SimulationFiles.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include <simdjson.h>

namespace ingot::cli {

namespace {

namespace dom = simdjson::dom;

Error bad(const std::string &where, std::string why) {
  return {ExitCode::File, "E0178", "cannot be read: " + where, std::move(why),
          "docs/scheduling.md describes the format"};
}

/// Reads the value of a key as a number, if the key is present. Returns false if the value is not a number from `least`
/// to `most`.
bool read(const dom::object &object, const char *key, double least, double most, double &value) {
  dom::element element;
  if (object[key].get(element))
    return true;
  return !element.get(value) && value >= least && value <= most;
}

/// Converts "2026-11-21T19:25:31.898Z" to seconds since 1970.
std::optional<double> secondsOf(std::string_view time) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(std::string(time).c_str(), "%4d-%2d-%2dT%2d:%2d:%lfZ", &year, &month, &day, &hour,
                  &minute, &second) != 6)
    return {};
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok())
    return {};
  return double(std::chrono::sys_days(date).time_since_epoch().count()) * 86400 + hour * 3600 +
         minute * 60 + second;
}

/// Reads a line of `ingot serve --log json`. Returns a request if the line is one that was
/// answered, otherwise nothing. Its arrival is the time of the log line less the request's
/// duration. A log does not contain the prefixes of prompts.
Result<std::optional<runtime::SimulatedRequest>>
readLogged(const dom::object &object, std::string_view event, const std::string &here) {
  double prompt = 0, output = 0, status = 0, took = 0;
  if (event != "request" || !read(object, "status", 0, 999, status) || status != 200 ||
      !read(object, "prompt_tokens", 0, 1e7, prompt) || prompt < 1 ||
      !read(object, "new_tokens", 0, 1e7, output) || output < 1)
    return std::optional<runtime::SimulatedRequest>();
  std::string_view time;
  std::optional<double> seconds;
  if (object["time"].get(time) || !(seconds = secondsOf(time)) ||
      !read(object, "total_ms", 0, 1e12, took))
    return bad(here, "a line of a log has \"time\": \"2026-11-21T19:25:31.898Z\" and "
                     "\"total_ms\": milliseconds");
  runtime::SimulatedRequest one;
  one.arrival = *seconds - took / 1e3;
  one.promptTokens = static_cast<int64_t>(prompt);
  one.outputTokens = static_cast<int64_t>(output);
  return std::optional(one);
}

/// Chains the requests of each session.
void linkTurns(std::vector<runtime::SimulatedRequest> &requests) {
  std::map<int64_t, int64_t> last;
  for (size_t i = 0; i < requests.size(); ++i)
    if (const int64_t session = requests[i].session; session >= 0) {
      const auto [found, isFirst] = last.try_emplace(session, static_cast<int64_t>(i));
      if (!isFirst)
        requests[i].follows = std::exchange(found->second, static_cast<int64_t>(i));
    }
}

} // namespace

Result<runtime::StepCostTable> parseCost(std::string_view json, const std::string &where) {
  dom::parser parser;
  dom::object object;
  simdjson::padded_string padded(json);
  if (auto error = parser.parse(padded).get(object))
    return bad(where, std::string("no JSON object: ") + simdjson::error_message(error));
  runtime::StepCostTable table;
  dom::array points;
  if (object["points"].get(points))
    return bad(where, "it has no \"points\": [[tokens, seconds], ...]");
  for (dom::element element : points) {
    dom::array pair;
    double tokens = 0, seconds = 0;
    if (element.get(pair) || pair.size() != 2 || pair.at(0).get(tokens) ||
        pair.at(1).get(seconds) || !(tokens >= 1 && tokens <= 1e9) || !(seconds > 0))
      return bad(where, "point " + std::to_string(table.points.size() + 1) +
                            " is not a pair of tokens and seconds above 0");
    const auto whole = static_cast<int64_t>(tokens);
    if (!table.points.empty() &&
        (table.points.back().tokens >= whole || table.points.back().seconds > seconds))
      return bad(where,
                 "point " + std::to_string(table.points.size() + 1) +
                     " is out of order: tokens must increase, and seconds must not decrease");
    table.points.push_back({whole, seconds});
  }
  if (table.points.empty())
    return bad(where, "it has no points");
  if (!read(object, "per_row", 0, 1e6, table.perRow) ||
      !read(object, "per_position", 0, 1e6, table.perPosition) ||
      !read(object, "per_read", 0, 1e6, table.perRead))
    return bad(where, "\"per_row\", \"per_position\" and \"per_read\" are seconds, 0 or more");
  return table;
}

Result<std::vector<runtime::SimulatedRequest>> parseTrace(std::string_view lines,
                                                          const std::string &where) {
  std::vector<runtime::SimulatedRequest> requests;
  dom::parser parser;
  size_t number = 0;
  bool isLog = false;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const std::string here = where + " line " + std::to_string(++number);
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    dom::object object;
    simdjson::padded_string padded(line);
    if (auto error = parser.parse(padded).get(object))
      return bad(here, std::string("no JSON object: ") + simdjson::error_message(error));
    if (std::string_view event; !object["event"].get(event)) {
      auto logged = readLogged(object, event, here);
      if (!logged)
        return logged.error();
      if (*logged)
        requests.push_back(**logged);
      isLog = true;
      continue;
    }
    double arrival = -1, prompt = -1, output = -1, priority = 0, user = 0, prefix = -1,
           prefixTokens = 0, session = -1, think = 0;
    if (!read(object, "arrival_s", 0, 1e9, arrival) || arrival < 0)
      return bad(here, "\"arrival_s\" is seconds, 0 or more");
    if (!read(object, "prompt_tokens", 1, 1e7, prompt) || prompt < 1 ||
        !read(object, "output_tokens", 1, 1e7, output) || output < 1)
      return bad(here, "\"prompt_tokens\" and \"output_tokens\" are 1 or more");
    if (!read(object, "priority", -1e9, 1e9, priority) || !read(object, "user", 0, 1e15, user) ||
        !read(object, "prefix_id", 0, 1e9, prefix) ||
        !read(object, "prefix_tokens", 0, prompt, prefixTokens))
      return bad(here, "\"priority\", \"user\", \"prefix_id\" and \"prefix_tokens\" are whole "
                       "numbers; a prefix is no longer than its prompt");
    if (!read(object, "session", 0, 1e15, session) || !read(object, "think_s", 0, 1e9, think))
      return bad(here, "\"session\" is a whole number, \"think_s\" seconds, 0 or more");
    bool isLong = false;
    if (dom::element given; !object["long"].get(given) && given.get(isLong))
      return bad(here, "\"long\" is true or false");
    requests.push_back({arrival, static_cast<int64_t>(prompt), static_cast<int64_t>(output),
                        static_cast<int32_t>(priority), static_cast<int64_t>(user),
                        static_cast<int64_t>(prefix), static_cast<int64_t>(prefixTokens), isLong,
                        -1, think, static_cast<int64_t>(session)});
  }
  if (requests.empty())
    return bad(where, "it has no requests");
  std::vector<std::pair<double, size_t>> order; // the index keeps equal arrivals in order
  for (const runtime::SimulatedRequest &one : requests)
    order.emplace_back(one.arrival, order.size());
  std::ranges::sort(order);
  std::vector<runtime::SimulatedRequest> sorted;
  for (auto [arrival, index] : order)
    sorted.push_back(requests[index]);
  if (isLog) // times count from the first arrival
    for (const double first = sorted.front().arrival; runtime::SimulatedRequest &one : sorted)
      one.arrival -= first;
  linkTurns(sorted);
  return sorted;
}

} // namespace ingot::cli
