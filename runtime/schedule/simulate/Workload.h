//===- Workload.h - Requests for a simulation ------------------------------===//
//
// Recorded, or made from a seed: the same seed gives the same requests on every machine (own
// distributions over one fixed generator).
//
// A conversation is requests that follow each other. Each begins with all that was said before it:
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
  int64_t prefix = -1;      ///< requests of one prefix begin with the same `prefixTokens`; -1: none
  int64_t prefixTokens = 0; ///< at most promptTokens
  bool isLong = false;      ///< of the class of long prompts, whose times are told apart
  /// It comes `think` seconds after the answer to that earlier request, and not before `arrival`.
  /// Its prompt begins with that one's prompt and answer, as far as promptTokens go. -1: none.
  int64_t follows = -1;
  double think = 0;
  int64_t session = -1; ///< of the conversation; -1: it is one by itself
};

/// The ids of a request's prompt; any two differ behind what they share.
void promptOf(const std::vector<SimulatedRequest> &requests, size_t index,
              std::vector<int32_t> &ids);
/// The `number`-th id of the answer, from 1.
inline int32_t answerId(size_t index, int64_t number) {
  return int32_t(2'000'000 + index * 17 + size_t(number));
}

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
  /// Which of them: the k-th with a probability in proportion to k to the power of -zipf, instead
  /// of in turns.
  std::optional<double> zipf;
  /// Mean turns of a conversation (geometric, as far as the context goes), each with a question and
  /// an answer of those lengths, after `think` seconds in the mean (exponential). 1: none has more.
  /// Conversations begin so often that there are `rate` requests a second once they are under way.
  double turns = 1;
  double think = 10;
  /// Every so many requests comes one with a long prompt, of `longTokens`; 0: none does.
  int64_t longEvery = 0;
  int64_t longTokens = 0;
  uint64_t seed = 1;
};

/// Rising in arrival, which is the earliest of those that follow another. Of a closed loop: all at 0,
/// those of one user in the order of asking; no conversations.
std::vector<SimulatedRequest> synthesize(const SyntheticLoad &load);

} // namespace ingot::runtime
