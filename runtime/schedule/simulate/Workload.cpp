//===- Workload.cpp - See Workload.h ---------------------------------------===//
#include "runtime/schedule/simulate/Workload.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace ingot::runtime {

namespace {

/// Distributions of the standard library differ between libraries; its generator does not.
class Random {
public:
  explicit Random(uint64_t seed) : bits(seed) {}

  /// In (0, 1).
  double uniform() { return (double(bits() >> 11) + 0.5) * 0x1p-53; }
  double exponential() { return -std::log(uniform()); }
  double normal() {
    return std::sqrt(2 * exponential()) * std::cos(2 * 3.14159265358979323846 * uniform());
  }
  /// Mean `shape`. Marsaglia and Tsang 2000.
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
  /// Log-normal with that mean, 1 at least.
  int64_t length(double mean, double spread) {
    double value = mean * std::exp(spread * normal() - spread * spread / 2);
    return std::max<int64_t>(1, std::llround(std::min(value, 1e9)));
  }

private:
  std::mt19937_64 bits;
};

} // namespace

std::vector<SimulatedRequest> synthesize(const SyntheticLoad &load) {
  Random random(load.seed);
  std::vector<SimulatedRequest> requests;
  double now = 0;
  for (int64_t i = 0; i < load.requests; ++i) {
    SimulatedRequest one;
    if (load.arrivals == Arrivals::Poisson)
      now += random.exponential() / load.rate;
    else if (load.arrivals == Arrivals::Bursty)
      now += random.gamma(1 / load.burstiness) * load.burstiness / load.rate;
    one.arrival = now;
    one.user = i % load.users;
    one.promptTokens = random.length(load.promptTokens, load.spread);
    one.outputTokens = random.length(load.outputTokens, load.spread);
    if (load.longEvery > 0 && i % load.longEvery == load.longEvery - 1) {
      one.isLong = true;
      one.promptTokens = load.longTokens;
    }
    if (load.prefixes > 0) {
      one.prefix = i % load.prefixes;
      one.prefixTokens = load.prefixTokens;
      one.promptTokens += load.prefixTokens;
    }
    one.promptTokens = std::min(one.promptTokens, load.mostTokens - 1);
    one.prefixTokens = std::min(one.prefixTokens, one.promptTokens);
    one.outputTokens = std::min(one.outputTokens, load.mostTokens - one.promptTokens);
    requests.push_back(one);
  }
  return requests;
}

} // namespace ingot::runtime
