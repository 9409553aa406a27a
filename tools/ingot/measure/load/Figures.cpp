//===- Figures.cpp - See Figures.h -------------------------------------------===//
#include "tools/ingot/measure/load/Figures.h"

#include "tools/files/Json.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace ingot::load {

using cli::formatted;

namespace {

double percentile(const std::vector<double> &sorted, double p) {
  const double rank = p / 100 * double(sorted.size() - 1);
  const auto low = size_t(rank);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (rank - double(low));
}

double timePerToken(const Outcome &one) {
  return one.outputTokens > 1 ? (one.finish - one.firstText) / double(one.outputTokens - 1) : 0;
}

bool isGood(const Outcome &one, const Goodput &limits) {
  auto within = [](const std::optional<double> &limit, double seconds) {
    return !limit || seconds * 1e3 <= *limit;
  };
  const float longest = one.gaps.empty() ? 0 : *std::ranges::max_element(one.gaps);
  return within(limits.ttft, one.firstText - one.start) && within(limits.tpot, timePerToken(one)) &&
         within(limits.itl, double(longest)) && within(limits.e2el, one.finish - one.start);
}

/// Returns the tokens in the best second. As in vLLM, a piece of text counts as one token.
double peakOutput(const std::vector<Outcome> &outcomes) {
  std::vector<int64_t> seconds;
  for (const Outcome &one : outcomes) {
    if (one.end != End::Completed || one.firstText == 0)
      continue;
    double time = one.firstText;
    for (size_t i = 0;; ++i) {
      const auto second = size_t(time);
      if (seconds.size() <= second)
        seconds.resize(second + 1);
      ++seconds[second];
      if (i == one.gaps.size())
        break;
      time += double(one.gaps[i]);
    }
  }
  return seconds.empty() ? 0 : double(*std::ranges::max_element(seconds));
}

int64_t peakRequests(const std::vector<Outcome> &outcomes) {
  std::vector<std::pair<double, int>> changes;
  for (const Outcome &one : outcomes) {
    changes.emplace_back(one.start, 1);
    changes.emplace_back(one.finish, -1);
  }
  std::ranges::sort(changes); // ends come before starts at the same time
  int64_t now = 0, most = 0;
  for (const auto &[time, change] : changes)
    most = std::max(most, now += change);
  return most;
}

/// Returns "99" or "99.9", as in "p99_ttft_ms".
std::string rankName(double p) { return cli::jsonNumber(p); }

} // namespace

Result<Goodput> parseGoodput(const std::string &text) {
  Goodput out;
  auto wrong = [&](const std::string &why) {
    return Error{ExitCode::Usage, "E0586", "--goodput cannot be read: " + text, why,
                 "give limits in milliseconds, such as --goodput ttft:500,itl:100"};
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", at), text.size());
    const std::string one = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = one.find(':');
    double value = 0;
    if (colon == std::string::npos)
      return wrong("\"" + one + "\" has no colon");
    const char *last = one.data() + one.size();
    auto [stop, bad] = std::from_chars(one.data() + colon + 1, last, value);
    if (bad != std::errc() || stop != last || !(value >= 0) || std::isinf(value))
      return wrong("\"" + one.substr(colon + 1) + "\" is not a number of milliseconds");
    const std::string name = one.substr(0, colon);
    std::optional<double> *limit = name == "ttft"   ? &out.ttft
                                   : name == "tpot" ? &out.tpot
                                   : name == "itl"  ? &out.itl
                                   : name == "e2el" ? &out.e2el
                                                    : nullptr;
    if (!limit)
      return wrong("there is no \"" + name + "\"; available: ttft, tpot, itl and e2el");
    *limit = value;
  }
  if (!out.any())
    return wrong("it is empty");
  return out;
}

Spread spread(std::vector<double> values, const std::vector<double> &percentiles) {
  Spread out;
  out.percentiles.assign(percentiles.size(), 0);
  if (values.empty())
    return out;
  std::ranges::sort(values);
  const auto count = double(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (double value : values)
    squares += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(squares / count);
  out.median = percentile(values, 50);
  for (size_t i = 0; i < percentiles.size(); ++i)
    out.percentiles[i] = percentile(values, percentiles[i]);
  return out;
}

Figures figures(const std::vector<Outcome> &outcomes, double duration, const Goodput &goodput,
                const std::vector<double> &percentiles) {
  Figures out;
  out.duration = duration;
  std::vector<double> ttft, tpot, itl, e2el;
  int64_t good = 0;
  for (const Outcome &one : outcomes) {
    out.failed += one.end == End::Failed;
    out.left += one.end == End::Left;
    if (one.end != End::Completed)
      continue;
    ++out.completed;
    out.inputTokens += one.inputTokens;
    out.outputTokens += one.outputTokens;
    ttft.push_back((one.firstText - one.start) * 1e3);
    if (one.outputTokens > 1)
      tpot.push_back(timePerToken(one) * 1e3);
    for (float gap : one.gaps)
      itl.push_back(double(gap) * 1e3);
    e2el.push_back((one.finish - one.start) * 1e3);
    good += isGood(one, goodput);
  }
  const double seconds = std::max(duration, 1e-9);
  out.requestThroughput = double(out.completed) / seconds;
  out.outputThroughput = double(out.outputTokens) / seconds;
  out.totalThroughput = double(out.inputTokens + out.outputTokens) / seconds;
  if (goodput.any())
    out.requestGoodput = double(good) / seconds;
  out.peakOutput = peakOutput(outcomes);
  out.peakRequests = peakRequests(outcomes);
  out.ttft = spread(std::move(ttft), percentiles);
  out.tpot = spread(std::move(tpot), percentiles);
  out.itl = spread(std::move(itl), percentiles);
  out.e2el = spread(std::move(e2el), percentiles);
  return out;
}

namespace {

struct Named {
  const char *key, *name, *title;
  const Spread *values;
};

std::array<Named, 4> spreads(const Figures &f) {
  return {{{"ttft", "TTFT", "Time to First Token", &f.ttft},
           {"tpot", "TPOT", "Time per Output Token (excl. 1st token)", &f.tpot},
           {"itl", "ITL", "Inter-token Latency", &f.itl},
           {"e2el", "E2EL", "End-to-end Latency", &f.e2el}}};
}

} // namespace

std::string resultJson(const Figures &f, const RunFacts &facts,
                       const std::vector<Outcome> *outcomes) {
  cli::JsonObject json;
  json.field("date", facts.date).field("backend", facts.backend).field("model_id", facts.model);
  json.field("tokenizer_id", facts.model).field("num_prompts", facts.requests);
  json.raw("request_rate", facts.rate > 0 ? cli::jsonNumber(facts.rate) : "\"inf\"");
  json.field("burstiness", facts.burstiness);
  json.raw("max_concurrency", facts.users ? std::to_string(*facts.users) : "null");
  json.field("duration", f.duration).field("completed", f.completed).field("failed", f.failed);
  json.field("disconnected", f.left);
  json.field("total_input_tokens", f.inputTokens).field("total_output_tokens", f.outputTokens);
  json.field("request_throughput", f.requestThroughput);
  json.raw("request_goodput", f.requestGoodput ? cli::jsonNumber(*f.requestGoodput) : "null");
  json.field("output_throughput", f.outputThroughput);
  json.field("total_token_throughput", f.totalThroughput);
  json.field("max_output_tokens_per_s", f.peakOutput);
  json.field("max_concurrent_requests", f.peakRequests);
  for (const Named &one : spreads(f)) {
    const std::string end = std::string("_") + one.key + "_ms";
    json.field("mean" + end, one.values->mean).field("median" + end, one.values->median);
    json.field("std" + end, one.values->deviation);
    for (size_t i = 0; i < facts.percentiles.size(); ++i)
      json.field("p" + rankName(facts.percentiles[i]) + end, one.values->percentiles[i]);
  }
  if (outcomes) {
    std::vector<int64_t> inputs, outputs;
    std::vector<double> firsts, starts, latencies;
    std::vector<std::string> errors;
    std::vector<std::vector<float>> gaps;
    for (const Outcome &one : *outcomes) {
      const bool whole = one.end == End::Completed;
      inputs.push_back(one.inputTokens);
      outputs.push_back(whole ? one.outputTokens : 0);
      firsts.push_back(one.firstText > 0 ? one.firstText - one.start : 0);
      starts.push_back(one.start);
      latencies.push_back(one.finish - one.start);
      errors.push_back(one.error);
      gaps.push_back(one.gaps);
    }
    json.field("input_lens", inputs).field("output_lens", outputs).field("ttfts", firsts);
    json.field("itls", gaps).field("latencies", latencies).field("start_times", starts);
    json.field("errors", errors);
  }
  return json.str();
}

std::string resultTable(const Figures &f, const RunFacts &facts) {
  std::string out;
  auto line = [&](const std::string &name, const std::string &value) {
    out += formatted("%-42s%s\n", name.c_str(), value.c_str());
  };
  auto number = [](double value) { return formatted("%.2f", value); };
  auto count = [](int64_t value) { return cli::grouped(uint64_t(value)); };
  auto title = [&](const std::string &text) {
    const size_t dashes = 52 - std::min<size_t>(52, text.size() + 2);
    out += std::string(dashes / 2, '-') + " " + text + " " + std::string(dashes - dashes / 2, '-') +
           "\n";
  };
  title("Serving Benchmark Result");
  line("Successful requests:", count(f.completed));
  line("Failed requests:", count(f.failed));
  if (f.left)
    line("Requests whose client left:", count(f.left));
  if (facts.users)
    line("Maximum request concurrency:", count(*facts.users));
  if (facts.rate > 0)
    line("Request rate configured (RPS):", number(facts.rate));
  line("Benchmark duration (s):", number(f.duration));
  line("Total input tokens:", count(f.inputTokens));
  line("Total generated tokens:", count(f.outputTokens));
  line("Request throughput (req/s):", number(f.requestThroughput));
  if (f.requestGoodput)
    line("Request goodput (req/s):", number(*f.requestGoodput));
  line("Output token throughput (tok/s):", number(f.outputThroughput));
  line("Peak output token throughput (tok/s):", number(f.peakOutput));
  line("Peak concurrent requests:", count(f.peakRequests));
  line("Total token throughput (tok/s):", number(f.totalThroughput));
  for (const Named &one : spreads(f)) {
    title(one.title);
    line(std::string("Mean ") + one.name + " (ms):", number(one.values->mean));
    line(std::string("Median ") + one.name + " (ms):", number(one.values->median));
    for (size_t i = 0; i < facts.percentiles.size(); ++i)
      line("P" + rankName(facts.percentiles[i]) + " " + one.name + " (ms):",
           number(one.values->percentiles[i]));
  }
  return out;
}

} // namespace ingot::load
