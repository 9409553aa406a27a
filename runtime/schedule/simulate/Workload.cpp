//===- Workload.cpp - See Workload.h ---------------------------------------===//
#include "runtime/schedule/simulate/Workload.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <utility>

namespace ingot::runtime {

namespace {

/// Generates random numbers. The distributions of the standard library differ between implementations, so only its
/// generator is used.
class Random {
public:
  explicit Random(uint64_t seed) : bits(seed) {}

  /// Returns a number in (0, 1).
  double uniform() { return (double(bits() >> 11) + 0.5) * 0x1p-53; }
  double exponential() { return -std::log(uniform()); }
  double normal() {
    return std::sqrt(2 * exponential()) * std::cos(2 * 3.14159265358979323846 * uniform());
  }
  /// Returns a gamma-distributed number with mean `shape` (Marsaglia and Tsang 2000).
  double gamma(double shape) {
    if (shape < 1)
      return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      double x = normal(), v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v))
        return d * v;
    }
  }
  /// Returns a geometrically distributed number with that mean, at least 1.
  int64_t geometric(double mean) {
    return mean > 1 ? 1 + int64_t(std::log(uniform()) / std::log(1 - 1 / mean)) : 1;
  }
  /// Returns a log-normally distributed length with that mean, at least 1.
  int64_t length(double mean, double spread) {
    double value = mean * std::exp(spread * normal() - spread * spread / 2);
    return std::max<int64_t>(1, std::llround(std::min(value, 1e9)));
  }

private:
  std::mt19937_64 bits;
};

/// Samples one of `count` items. The k-th item has a probability proportional to k^-exponent.
class Zipf {
public:
  Zipf(int64_t count, double exponent) {
    double sum = 0;
    for (int64_t k = 1; k <= count; ++k)
      upTo.push_back(sum += std::pow(double(k), -exponent));
  }
  int64_t draw(Random &random) const {
    const double at = random.uniform() * upTo.back();
    return std::ranges::lower_bound(upTo, at) - upTo.begin();
  }

private:
  std::vector<double> upTo;
};

class Synthesis {
public:
  explicit Synthesis(const SyntheticLoad &load) : load(load), random(load.seed) {
    if (load.zipf && load.prefixes > 0)
      popular.emplace(load.prefixes, *load.zipf);
  }

  std::vector<SimulatedRequest> run() {
    const double turns = std::max(1.0, load.turns);
    double now = 0;
    for (int64_t begun = 0; arrivedBy(now) < load.requests; ++begun) {
      if (load.arrivals == Arrivals::Poisson)
        now += random.exponential() * turns / load.rate;
      else if (load.arrivals == Arrivals::Bursty)
        now += random.gamma(1 / load.burstiness) * load.burstiness * turns / load.rate;
      first(now, begun);
      if (turns > 1)
        further(begun, random.geometric(turns));
      for (; counted < requests.size(); ++counted)
        times.push(requests[counted].arrival);
    }
    return firstOf(load.requests);
  }

private:
  void first(double now, int64_t number) {
    SimulatedRequest one;
    one.arrival = now;
    one.user = number % load.users;
    one.promptTokens = random.length(load.promptTokens, load.spread);
    one.outputTokens = random.length(load.outputTokens, load.spread);
    if (load.longEvery > 0 && number % load.longEvery == load.longEvery - 1) {
      one.isLong = true;
      one.promptTokens = load.longTokens;
    }
    if (load.prefixes > 0) {
      one.prefix = popular ? popular->draw(random) : number % load.prefixes;
      one.prefixTokens = load.prefixTokens;
      one.promptTokens += load.prefixTokens;
    }
    one.promptTokens = std::min(one.promptTokens, load.mostTokens - 1);
    one.prefixTokens = std::min(one.prefixTokens, one.promptTokens);
    one.outputTokens = std::min(one.outputTokens, load.mostTokens - one.promptTokens);
    requests.push_back(one);
  }

  /// Returns the number of requests that have arrived by `now`, if each arrives at its earliest time.
  int64_t arrivedBy(double now) {
    for (; !times.empty() && times.top() <= now; times.pop())
      ++arrived;
    return arrived;
  }

  /// Returns the first `count` arrivals. The load then ends for all users at the same time, instead of with the last
  /// turn of the longest conversation.
  std::vector<SimulatedRequest> firstOf(int64_t count) const {
    std::vector<std::pair<double, size_t>> order; // ties keep their order
    for (const SimulatedRequest &one : requests)
      order.emplace_back(one.arrival, order.size());
    std::ranges::sort(order);
    order.resize(size_t(count));
    std::vector<int64_t> placeOf(requests.size(), -1);
    std::vector<SimulatedRequest> chosen;
    for (const auto &[arrival, i] : order) {
      placeOf[i] = int64_t(chosen.size());
      chosen.push_back(requests[i]);
      if (int64_t &follows = chosen.back().follows; follows >= 0)
        follows = placeOf[size_t(follows)];
    }
    return chosen;
  }

  /// Adds the other turns of the conversation that begins with the last request.
  void further(int64_t session, int64_t turns) {
    requests.back().session = session;
    for (int64_t turn = 1; turn < turns; ++turn) {
      SimulatedRequest one = requests.back();
      one.follows = int64_t(requests.size()) - 1;
      one.think = random.exponential() * load.think;
      one.arrival += one.think; // assuming that answers take no time
      one.promptTokens += one.outputTokens + random.length(load.promptTokens, load.spread);
      one.outputTokens = random.length(load.outputTokens, load.spread);
      if (one.promptTokens + one.outputTokens > load.mostTokens)
        return;
      requests.push_back(one);
    }
  }

  const SyntheticLoad &load;
  Random random;
  std::optional<Zipf> popular;
  std::vector<SimulatedRequest> requests;
  /// Arrival times of the requests that have not arrived yet.
  std::priority_queue<double, std::vector<double>, std::greater<>> times;
  size_t counted = 0;
  int64_t arrived = 0;
};

} // namespace

std::vector<SimulatedRequest> synthesize(const SyntheticLoad &load) {
  return Synthesis(load).run();
}

void promptOf(const std::vector<SimulatedRequest> &requests, size_t index,
              std::vector<int32_t> &ids) {
  const SimulatedRequest &one = requests[index];
  if (one.follows >= 0) {
    const auto before = size_t(one.follows);
    promptOf(requests, before, ids);
    for (int64_t i = 1; i <= requests[before].outputTokens; ++i)
      ids.push_back(answerId(before, i));
    ids.resize(std::min(ids.size(), size_t(one.promptTokens)));
  } else {
    ids.clear();
    for (int64_t i = 0; i < std::min(one.prefixTokens, one.promptTokens); ++i)
      ids.push_back(int32_t(one.prefix * 7919 + i));
  }
  for (auto i = int64_t(ids.size()); i < one.promptTokens; ++i)
    ids.push_back(int32_t(1'000'000 + index * 131 + size_t(i)));
}

} // namespace ingot::runtime
