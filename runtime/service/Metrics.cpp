//===- Metrics.cpp - Histograms and the exposition format -----------------===//
#include "runtime/service/Metrics.h"

#include "runtime/device/Trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace ingot::service {

namespace {

// These are vLLM's buckets, so that its dashboards and recording rules work.
constexpr double kFirstToken[] = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                  0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                  20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
constexpr double kBetweenTokens[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                                     0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1.0,   2.5,
                                     5.0,   7.5,    10.0,  20.0, 40.0,  80.0};
constexpr double kRequest[] = {0.01, 0.03, 0.1,   0.3,   0.5,   0.8,   1.0,    1.5,
                               2.0,  2.5,  5.0,   10.0,  15.0,  20.0,  30.0,   40.0,
                               50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
constexpr double kStep[] = {0.0005, 0.001, 0.002, 0.004, 0.008, 0.016,
                            0.032,  0.064, 0.128, 0.256, 0.512, 1.024};
constexpr double kLength[] = {1,   2,    5,    10,   20,    50,    100,   200,
                              500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
constexpr double kStepTokens[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

constexpr double kChoices[] = {1, 2, 5, 10, 20};

std::string number(double value) {
  char text[32];
  // Counts are written as integers, exact to the last digit.
  const bool whole = value == std::floor(value) && std::fabs(value) < 9e15;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", value);
  return text;
}

/// Escapes backslash, quote and line feed in a label's value and drops other control bytes.
/// Truncates long values, since every sample repeats them.
std::string labelValue(std::string_view text) {
  constexpr size_t kMostBytes = 256;
  std::string out;
  text = text.substr(0, kMostBytes);
  for (char c : text)
    if (c == '\\' || c == '"')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      out += c;
  return out;
}

void head(std::string &out, std::string_view name, std::string_view help, std::string_view type) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  out.append(" ").append(type).append("\n");
}

void sample(std::string &out, std::string_view name, std::string_view labels, double value) {
  out.append(name).append("{").append(labels).append("} ").append(number(value)).append("\n");
}

constexpr const char *kEndings[] = {"stop", "length", "abort", "error"};

using Labelled = std::pair<std::string, Measurements>; ///< labels of the model, its measurements

/// Writes metric families. A family has a name, its help and type, and the samples of every model.
struct Writer {
  std::span<const Labelled> models;
  std::string out;

  template <typename Value>
  void single(std::string_view name, std::string_view help, std::string_view type, Value value) {
    head(out, name, help, type);
    for (const auto &[labels, numbers] : models)
      sample(out, name, labels, double(value(numbers)));
  }
  template <typename Value> void gauge(std::string_view name, std::string_view help, Value value) {
    single(name, help, "gauge", value);
  }
  template <typename Value>
  void counter(std::string_view name, std::string_view help, Value value) {
    single(name, help, "counter", value);
  }

  void histogram(std::string_view name, std::string_view help, Histogram Measurements::*member) {
    head(out, name, help, "histogram");
    const std::string series(name);
    for (const auto &[labels, numbers] : models) {
      const Histogram &own = numbers.*member;
      uint64_t cumulative = 0;
      for (size_t i = 0; i < own.buckets().size(); ++i) {
        cumulative += own.buckets()[i];
        const bool last = i == own.upperBounds().size();
        sample(out, series + "_bucket",
               labels + ",le=\"" + (last ? "+Inf" : number(own.upperBounds()[i])) + "\"",
               double(cumulative));
      }
      sample(out, series + "_sum", labels, own.sum());
      sample(out, series + "_count", labels, double(own.count()));
    }
  }

  /// Writes an "info" metric. Its labels hold constants.
  void cacheConfig() {
    head(out, "vllm:cache_config_info", "Layout of the KV cache.", "gauge");
    for (const auto &[labels, numbers] : models)
      sample(out, "vllm:cache_config_info",
             labels + ",block_size=\"" + std::to_string(numbers.pageTokens) +
                 "\",num_gpu_blocks=\"" + std::to_string(numbers.pages) + "\"",
             1);
  }

  /// Writes the series of LoRA adapters. There are none, since loading them is not supported, but
  /// endpoint pickers require the series and report an error at each scrape without it. Its value is
  /// the time of the last change, for which the time of the first scrape is used.
  void adapters() {
    static const auto since = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    head(out, "vllm:lora_requests_info", "Adapters; the value is the time of the last change.",
         "gauge");
    for (const auto &[labels, numbers] : models)
      sample(out, "vllm:lora_requests_info",
             labels + ",max_lora=\"0\",running_lora_adapters=\"\",waiting_lora_adapters=\"\"",
             double(since.count()));
  }

  /// Writes that every engine is awake, because there is no sleep mode.
  void sleepStates() {
    head(out, "vllm:engine_sleep_state", "1: the state that the engine is in.", "gauge");
    for (const auto &[labels, numbers] : models)
      for (const char *state : {"awake", "weights_offloaded", "discard_all"})
        sample(out, "vllm:engine_sleep_state", labels + ",sleep_state=\"" + state + "\"",
               state == std::string_view("awake"));
  }

  void endings() {
    head(out, "vllm:request_success_total", "Requests that have ended, by reason.", "counter");
    for (const auto &[labels, numbers] : models)
      for (size_t i = 0; i < numbers.endings.size(); ++i)
        sample(out, "vllm:request_success_total",
               labels + ",finished_reason=\"" + kEndings[i] + "\"", double(numbers.endings[i]));
  }
};

} // namespace

void Histogram::observe(double value) {
  // A value equal to a bound counts in that bound's bucket, because Prometheus' buckets mean "less
  // than or equal".
  counts[size_t(std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin())]++;
  ++total;
  added += value;
}

double Histogram::quantile(double q) const {
  double wanted = q * double(total), below = 0;
  for (size_t i = 0; i < counts.size() && total; ++i) {
    if (below + double(counts[i]) >= wanted && counts[i]) {
      double low = i ? bounds[i - 1] : 0, high = i < bounds.size() ? bounds[i] : bounds[i - 1];
      return low + (high - low) * (wanted - below) / double(counts[i]);
    }
    below += double(counts[i]);
  }
  return 0;
}

void RecentRate::add(uint64_t nanoseconds) {
  const uint64_t number = nanoseconds / 1'000'000'000;
  Second &second = seconds[number % seconds.size()];
  if (second.number != number)
    second = {number, 0};
  ++second.count;
}

double RecentRate::perSecond(uint64_t nanoseconds) const {
  const uint64_t now = nanoseconds / 1'000'000'000;
  uint64_t sum = 0;
  for (const Second &second : seconds)
    if (second.number < now && second.number + kSeconds >= now)
      sum += second.count;
  return double(sum) / double(kSeconds);
}

Measurements Metrics::read() const {
  std::lock_guard lock(mutex);
  Measurements copy = numbers;
  copy.tokensPerSecond = copy.recent.perSecond(runtime::nowNanoseconds());
  return copy;
}

Measurements::Measurements()
    : timeToFirstToken(kFirstToken), interTokenLatency(kBetweenTokens),
      timePerToken(kBetweenTokens), endToEnd(kRequest), queueTime(kRequest), prefillTime(kRequest),
      decodeTime(kRequest), inferenceTime(kRequest), stepTime(kStep), promptLength(kLength),
      computedPrompt(kLength), answerLength(kLength), askedTokens(kLength), stepTokens(kStepTokens),
      askedChoices(kChoices) {}

std::string exposition(std::span<const std::pair<std::string, Measurements>> models) {
  std::vector<Labelled> labelled;
  for (const auto &[name, numbers] : models)
    labelled.emplace_back("model_name=\"" + labelValue(name) + "\",engine=\"0\"", numbers);
  Writer w{labelled, {}};
  using M = Measurements;
  w.gauge("vllm:num_requests_running", "Requests that take part in steps.",
          [](const M &m) { return m.running; });
  w.gauge("vllm:num_requests_waiting", "Requests that wait for free resources.",
          [](const M &m) { return m.waiting; });
  w.gauge("vllm:kv_cache_usage_perc", "KV pages in use, 1 is all.",
          [](const M &m) { return m.pages ? double(m.pagesUsed) / double(m.pages) : 0.0; });
  w.counter("vllm:num_preemptions_total", "Requests preempted for lack of KV pages.",
            [](const M &m) { return m.preemptions; });
  w.counter("vllm:prompt_tokens_total", "Prompt tokens accepted.",
            [](const M &m) { return m.promptTokens; });
  w.counter("vllm:generation_tokens_total", "New tokens.",
            [](const M &m) { return m.generationTokens; });
  w.counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.",
            [](const M &m) { return m.prefixQueries; });
  w.counter("vllm:prefix_cache_hits_total", "Prompt tokens found there.",
            [](const M &m) { return m.prefixHits; });
  // There is no prefix cache outside the process.
  w.counter("vllm:external_prefix_cache_queries_total", "Prompt tokens looked up elsewhere: none.",
            [](const M &) { return 0; });
  w.counter("vllm:external_prefix_cache_hits_total", "Prompt tokens found there.",
            [](const M &) { return 0; });
  w.sleepStates();
  w.endings();
  w.histogram("vllm:time_to_first_token_seconds", "From a request's arrival to its first token.",
              &M::timeToFirstToken);
  w.histogram("vllm:inter_token_latency_seconds", "Between two tokens of a request.",
              &M::interTokenLatency);
  w.histogram("vllm:e2e_request_latency_seconds", "From arrival to the last token.", &M::endToEnd);
  w.histogram("vllm:request_queue_time_seconds", "Before a request's first step.", &M::queueTime);
  w.histogram("vllm:request_prefill_time_seconds", "From its first step to its first token.",
              &M::prefillTime);
  w.histogram("vllm:request_decode_time_seconds", "From its first token to its last.",
              &M::decodeTime);
  w.histogram("vllm:request_inference_time_seconds", "From its first step to its end.",
              &M::inferenceTime);
  w.histogram("vllm:request_time_per_output_token_seconds",
              "Mean time of a request's tokens after the first.", &M::timePerToken);
  w.histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", &M::promptLength);
  w.histogram("vllm:request_prefill_kv_computed_tokens",
              "Prompt tokens of a request that were not in the prefix cache.", &M::computedPrompt);
  w.histogram("vllm:request_generation_tokens", "New tokens of a request.", &M::answerLength);
  // The limit is known only for requests that set it.
  w.histogram("vllm:request_max_num_generation_tokens",
              "Maximum of new tokens over a request's choices, if it sets one.", &M::askedTokens);
  w.counter("vllm:prompt_tokens_cached_total", "Prompt tokens that were not computed again.",
            [](const M &m) { return m.prefixHits; });
  w.histogram("vllm:request_params_n", "Choices that requests ask for.", &M::askedChoices);
  w.histogram("vllm:request_params_max_tokens", "Maximum of new tokens, if a request sets one.",
              &M::askedTokens);
  w.cacheConfig();
  w.adapters();
  w.histogram("vllm:iteration_tokens_total", "New tokens of a step.", &M::stepTokens);
  w.counter("ingot:requests_refused_total", "Requests answered 429.",
            [](const M &m) { return m.refused; });
  w.counter("ingot:steps_total", "Steps of the engine.", [](const M &m) { return m.steps; });
  w.counter("ingot:step_seconds_total", "Time in steps.", [](const M &m) { return m.stepSeconds; });
  w.counter("ingot:host_seconds_total", "Time of the engine's thread between steps.",
            [](const M &m) { return m.hostSeconds; });
  w.histogram("ingot:step_time_seconds", "One step.", &M::stepTime);
  w.gauge("ingot:kv_pages_used", "KV pages in use.", [](const M &m) { return m.pagesUsed; });
  w.gauge("ingot:kv_pages", "KV pages in total.", [](const M &m) { return m.pages; });
  w.gauge("ingot:kv_pages_kept", "KV pages of the prefix cache that no request uses.",
          [](const M &m) { return m.pagesCached; });
  w.gauge("ingot:swap_bytes_used", "Host memory that holds KV pages.",
          [](const M &m) { return m.swapBytesUsed; });
  w.counter("ingot:swaps_total", "Preemptions that moved KV pages to the host.",
            [](const M &m) { return m.swaps; });
  w.counter("ingot:swapped_bytes_total", "Bytes moved there.",
            [](const M &m) { return m.swappedBytes; });
  w.counter("ingot:kv_forks_total", "Choices that started from the pages of another choice.",
            [](const M &m) { return m.forks; });
  w.counter("ingot:kv_pages_copied_total",
            "Pages copied because one of several users wrote to them.",
            [](const M &m) { return m.copiedPages; });
  w.gauge("ingot:tokens_per_second", "New tokens, over the last seconds.",
          [](const M &m) { return m.tokensPerSecond; });
  return w.out;
}

} // namespace ingot::service
