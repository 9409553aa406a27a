//===- ChunkBudget.h - Prompt tokens per step ------------------------------===//
//
// Prompts share steps with decoding sequences, and slow them down. The balanced rule is:
//
//   seconds of a step <= (1 + P) * seconds with only its decode rows
//
// for P prompts in progress. Each prompt gets as much time of a step as all decode rows together. A single
// prompt, however long, at most doubles the time between two tokens of the other sequences. With many waiting
// prompts, their share is so large that a load with longer prompts than answers is not throttled. (In the
// simulator, a fixed factor of 2 cost 11 % of the throughput of 32 users with prompts of 128 and answers of
// 64.) Times affect only how prompts are split, not the results.
//
//   D = 30, P = 1:   | 30 rows | chunk |
//   D = 2,  P = 30:  |2| chunk, mostly the whole budget   |
//
// `targetItl`, if given, replaces this rule: it bounds the time of a step with decode rows. If a prompt would
// miss `targetTtft`, prompts get all the time that `targetItl` leaves or, without it, the whole budget.
//
// If no sequence decodes, a step of a long prompt still delays requests that arrive meanwhile. Such a step ends
// within `loneStep`, unless steps that small would cost more time per token, since each step reads the weights.
//
// With PromptOrder::Shortest, half of the tokens go to the first prompt in queue order. (With fair shares, that
// is the prompt of the user who was served least.) When others pass it, it takes at most twice as long, so no
// prompt starves. The rest goes to the prompts with the fewest remaining tokens:
//
//   first has 3,000 left, others 20 and 500; 128 tokens:   | 20 | 44 of 500 | 64 of 3,000 |
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/StepCost.h"

namespace ingot::runtime {

enum class ChunkRule : uint8_t { Whole, Balanced };
enum class PromptOrder : uint8_t {
  Arrival, ///< all tokens go to the first prompt, and tokens that it does not need go to the next
  Shortest, ///< half go to the first prompt, the rest to the prompts with the fewest remaining tokens
};

struct ChunkOptions {
  ChunkRule rule = ChunkRule::Balanced;
  double targetItl = 0;  ///< seconds between two tokens of a sequence; 0: none
  double targetTtft = 0; ///< seconds from arrival to the first token; 0: none
  double loneStep = 0;   ///< target seconds of a step in which no sequence decodes; 0: no limit
  PromptOrder order = PromptOrder::Shortest;
};

/// A step before prompts are added to it.
struct ChunkQuery {
  StepWork decodes;
  int64_t decoding;      ///< number of decoding sequences
  int64_t prompts;       ///< sequences with prompts in progress
  int64_t promptTokens;  ///< remaining tokens of these prompts
  int64_t firstPosition; ///< position at which the first of these prompts continues
  int64_t room;          ///< tokens that fit in the step in addition to its decodes
  double waited;         ///< seconds since arrival of the prompt that has waited longest
};

/// Returns the number of prompt tokens in the step, 1 to `room`.
int64_t chunkBudget(const StepCost &cost, const ChunkOptions &options, const ChunkQuery &asked);

/// ChunkOptions::loneStep for servers, where several requests may be in flight.
constexpr double kLoneStep = 0.1;

/// The minimum chunk, if that many tokens are left. It does not depend on any limit, so that there is always
/// progress.
constexpr int64_t kLeastChunk = 4;

} // namespace ingot::runtime
