//===- Metrics.h - What a service counts, for Prometheus ------------------===//
//
// vLLM's names, which dashboards and load tools know, with the label model_name; ours beside them
// begin with "ingot:". Text exposition format 0.0.4. Series are fixed at compile time: nothing that
// a client sends becomes a label or a name.
//
// Written by the engine's thread, read by whoever scrapes.
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

/// Counts of observations by upper bound.
class Histogram {
public:
  /// `bounds` rise; +Inf is added. They must outlive this.
  explicit Histogram(std::span<const double> bounds) : bounds(bounds), counts(bounds.size() + 1) {}
  void observe(double value);
  uint64_t count() const { return total; }
  double sum() const { return added; }
  /// The value below which a share `q` of the observations lies, linear inside a bucket; 0 of none.
  double quantile(double q) const;
  std::span<const uint64_t> buckets() const { return counts; }
  std::span<const double> upperBounds() const { return bounds; }

private:
  std::span<const double> bounds;
  std::vector<uint64_t> counts; ///< not cumulative
  uint64_t total = 0;
  double added = 0;
};

/// Events of the last seconds.
class RecentRate {
public:
  void add(uint64_t nanoseconds);               ///< one event, at that time of the steady clock
  double perSecond(uint64_t nanoseconds) const; ///< over the whole seconds before that time
private:
  static constexpr uint64_t kSeconds = 5;
  struct Second {
    uint64_t number = 0, count = 0;
  };
  std::array<Second, kSeconds + 1> seconds{};
};

enum class Ending : uint8_t { Stop, Length, Abort, Error, Count };

/// Numbers of one model, since it was loaded.
struct Measurements {
  Measurements();

  // Gauges
  int64_t running = 0, waiting = 0; ///< choices
  int64_t pagesUsed = 0, pages = 0;
  int64_t pagesKept = 0;      ///< of the prefix cache, held by nobody
  uint64_t swapBytesUsed = 0; ///< of host memory
  int64_t pageTokens = 0;     ///< positions that a page holds
  double tokensPerSecond = 0; ///< new tokens, over the last seconds; read() fills it in
  RecentRate recent;          ///< new tokens
  // Counters
  uint64_t promptTokens = 0, generationTokens = 0, preemptions = 0, steps = 0;
  uint64_t prefixQueries = 0, prefixHits = 0; ///< tokens
  uint64_t swaps = 0, swappedBytes = 0;       ///< preemptions to the host
  uint64_t forks = 0, copiedPages = 0;        ///< of choices that share a prompt
  uint64_t refused = 0;                       ///< for want of room
  std::array<uint64_t, size_t(Ending::Count)> endings{};
  double stepSeconds = 0; ///< in the engine's steps
  double hostSeconds = 0; ///< of its thread, between them
  // Seconds
  Histogram timeToFirstToken, interTokenLatency, timePerToken, endToEnd, queueTime, prefillTime,
      decodeTime, inferenceTime, stepTime;
  // Tokens
  Histogram promptLength, computedPrompt, answerLength, askedTokens, stepTokens;
  Histogram askedChoices;
};

class Metrics {
public:
  /// Changes the numbers; what one call changes is seen together.
  template <typename Change> void update(Change &&change) {
    std::lock_guard lock(mutex);
    change(numbers);
  }
  Measurements read() const;

private:
  mutable std::mutex mutex;
  Measurements numbers;
};

/// All series of all models, each name once.
std::string exposition(std::span<const std::pair<std::string, Measurements>> models);

} // namespace ingot::service
