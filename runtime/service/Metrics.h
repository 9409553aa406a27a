//===- Metrics.h - Metrics of a service, for Prometheus -------------------===//
//
// Series have vLLM's names, which dashboards and load tools support, and the label model_name.
// Names of additional series begin with "ingot:". The text exposition format is version 0.0.4. Series
// are fixed at compile time, so no client input becomes a label or a name.
//
// The engine's thread writes the metrics; any scraper may read them.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::service {

/// Counts observations in buckets with upper bounds.
class Histogram {
public:
  /// `bounds` must ascend and outlive the histogram. A last bucket without a bound (+Inf) is added.
  explicit Histogram(std::span<const double> bounds) : bounds(bounds), counts(bounds.size() + 1) {}
  void observe(double value);
  uint64_t count() const { return total; }
  double sum() const { return added; }
  /// Returns the q-quantile, interpolated linearly within a bucket; 0 without observations.
  double quantile(double q) const;
  std::span<const uint64_t> buckets() const { return counts; }
  std::span<const double> upperBounds() const { return bounds; }

private:
  std::span<const double> bounds;
  std::vector<uint64_t> counts; ///< not cumulative
  uint64_t total = 0;
  double added = 0;
};

/// Rate of events over the last kSeconds seconds.
class RecentRate {
public:
  void add(uint64_t nanoseconds); ///< records an event at this time of the steady clock
  double perSecond(uint64_t nanoseconds) const; ///< over the whole seconds before that time
private:
  static constexpr uint64_t kSeconds = 5;
  struct Second {
    uint64_t number = 0, count = 0;
  };
  std::array<Second, kSeconds + 1> seconds{};
};

enum class Ending : uint8_t { Stop, Length, Abort, Error, Count };

/// Metrics of one model since it was loaded.
struct Measurements {
  Measurements();

  // Gauges
  int64_t running = 0, waiting = 0; ///< counts of choices
  int64_t pagesUsed = 0, pages = 0;
  int64_t pagesCached = 0;    ///< cached pages that no sequence holds
  uint64_t swapBytesUsed = 0; ///< bytes of host memory
  int64_t pageTokens = 0;     ///< positions per page
  double tokensPerSecond = 0; ///< new tokens, from `recent`; set by read()
  RecentRate recent;          ///< rate of new tokens
  // Counters
  uint64_t promptTokens = 0, generationTokens = 0, preemptions = 0, steps = 0;
  uint64_t prefixQueries = 0, prefixHits = 0; ///< prompt tokens looked up and found
  uint64_t swaps = 0, swappedBytes = 0;       ///< preemptions that copied pages to the host
  uint64_t forks = 0, copiedPages = 0;        ///< of choices that share a prompt
  uint64_t refused = 0;                       ///< requests refused because the queue was full
  std::array<uint64_t, size_t(Ending::Count)> endings{};
  double stepSeconds = 0; ///< time in the engine's steps
  double hostSeconds = 0; ///< time of the engine's thread between steps
  // Seconds
  Histogram timeToFirstToken, interTokenLatency, timePerToken, endToEnd, queueTime, prefillTime,
      decodeTime, inferenceTime, stepTime;
  // Tokens
  Histogram promptLength, computedPrompt, answerLength, askedTokens, stepTokens;
  Histogram askedChoices;
};

class Metrics {
public:
  /// Changes the measurements. Readers see all changes of one call together.
  template <typename Change> void update(Change &&change) {
    std::lock_guard lock(mutex);
    change(numbers);
  }
  Measurements read() const;

private:
  mutable std::mutex mutex;
  Measurements numbers;
};

/// Returns the exposition of all series of all models; each name has one HELP and TYPE.
std::string exposition(std::span<const std::pair<std::string, Measurements>> models);

} // namespace ingot::service
