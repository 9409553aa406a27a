//===- Workload.h - Requests for a simulation ------------------------------===//
//
// Recorded, or made from a seed: the same seed gives the same requests on every machine (own
// distributions over one fixed generator).
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace ingot::runtime {

struct SimulatedRequest {
  double arrival = 0; ///< seconds
  int64_t promptTokens = 1, outputTokens = 1;
  int32_t priority = 0;
  int64_t user = 0;
  int64_t prefix = -1;      ///< requests of one prefix begin with the same `prefixTokens`; -1: none
  int64_t prefixTokens = 0; ///< at most promptTokens
  bool isLong = false;      ///< of the class of long prompts, whose times are told apart
};

enum class Arrivals : uint8_t {
  Poisson, ///< `rate` a second, by themselves
  Bursty,  ///< gamma intervals: the same rate, `burstiness` times the variance
  Closed,  ///< each of `users` asks again when it was answered
};

struct SyntheticLoad {
  Arrivals arrivals = Arrivals::Poisson;
  double rate = 1;
  double burstiness = 8;
  int64_t requests = 200;
  int64_t users = 1;
  /// Mean lengths, log-normal with `spread` as sigma; 0: all alike.
  double promptTokens = 512, outputTokens = 256, spread = 0.8;
  int64_t mostTokens = 4096; ///< of prompt and answer together: longer ones are cut
  int64_t prefixes = 0;      ///< so many system prompts of `prefixTokens`, in turns; 0: none
  int64_t prefixTokens = 0;
  /// Every so many requests comes one with a long prompt, of `longTokens`; 0: none does.
  int64_t longEvery = 0;
  int64_t longTokens = 0;
  uint64_t seed = 1;
};

/// Rising in arrival. Of a closed loop: all at 0, those of one user in the order of asking.
std::vector<SimulatedRequest> synthesize(const SyntheticLoad &load);

} // namespace ingot::runtime
