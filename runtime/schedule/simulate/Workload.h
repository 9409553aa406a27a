//===- Workload.h - Requests for a simulation ------------------------------===//
//
// Requests are recorded, or generated from a seed. The same seed gives the same requests on every machine, because
// the generator is fixed and the distributions are implemented here.
//
// A conversation is a chain of requests. Each prompt begins with the whole conversation so far:
//
//   turn 1   [ system prompt | question ]  --> answer
//   turn 2   [ system prompt | question |      answer | question ]  --> answer
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ingot::runtime {

struct SimulatedRequest {
  double arrival = 0; ///< seconds
  int64_t promptTokens = 1, outputTokens = 1;
  int32_t priority = 0;
  int64_t user = 0;
  int64_t prefix = -1;      ///< requests with the same prefix share their first `prefixTokens`; -1:
                            ///< none
  int64_t prefixTokens = 0; ///< at most promptTokens
  bool isLong = false; ///< the request is in the class of long prompts, which has its own times
  /// Index of the earlier request that this one follows; -1: none. This request arrives `think` seconds after the
  /// earlier one is answered, but not before `arrival`. Its prompt begins with the earlier one's prompt and answer,
  /// as far as promptTokens allows.
  int64_t follows = -1;
  double think = 0;
  int64_t session = -1; ///< id of the conversation; -1: none
};

/// Writes the ids of a request's prompt. Any two prompts differ after their shared prefix.
void promptOf(const std::vector<SimulatedRequest> &requests, size_t index,
              std::vector<int32_t> &ids);
/// Returns the token at index `number` of the answer, counted from 1.
inline int32_t answerId(size_t index, int64_t number) {
  return int32_t(2'000'000 + index * 17 + size_t(number));
}

enum class Arrivals : uint8_t {
  Poisson, ///< independent arrivals, `rate` per second
  Bursty,  ///< gamma intervals: the same rate, `burstiness` times the variance
  Closed,  ///< each of `users` sends its next request when the last one is answered
};

struct SyntheticLoad {
  Arrivals arrivals = Arrivals::Poisson;
  double rate = 1;
  double burstiness = 8;
  int64_t requests = 200;
  int64_t users = 1;
  /// Mean lengths, log-normal with `spread` as sigma; 0: all equal.
  double promptTokens = 512, outputTokens = 256, spread = 0.8;
  int64_t mostTokens = 4096; ///< maximum of prompt and answer together; longer ones are truncated
  int64_t prefixes = 0;      ///< number of system prompts of `prefixTokens`, used in turn; 0: none
  int64_t prefixTokens = 0;
  /// Chooses the k-th system prompt with a probability proportional to k^-zipf, instead of in turn.
  std::optional<double> zipf;
  /// Mean number of turns of a conversation; 1: single turns only. The number is geometric and limited by the
  /// context. Each turn has a question and an answer of the lengths above, and comes after `think` seconds on average
  /// (exponential). Conversations begin at a rate that gives `rate` requests per second in the steady state.
  double turns = 1;
  double think = 10;
  /// Every `longEvery`-th request has a long prompt of `longTokens` tokens; 0: none has.
  int64_t longEvery = 0;
  int64_t longTokens = 0;
  uint64_t seed = 1;
};

/// Returns requests in ascending order of arrival. For a request that follows another, `arrival` is its earliest
/// time. In a closed loop all arrivals are 0, the requests of one user are in order, and there are no conversations.
std::vector<SimulatedRequest> synthesize(const SyntheticLoad &load);

} // namespace ingot::runtime
