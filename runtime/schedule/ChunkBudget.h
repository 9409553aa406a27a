//===- ChunkBudget.h - How much of the prompts goes into a step ------------===//
//
// Prompts share steps with sequences that decode, and make those wait. Balanced:
//
//   seconds of a step <= (1 + P) * seconds of its decode rows alone
//
// for P prompts under way: each gets as much of a step as all decode rows together. One prompt,
// long as it may be, at most doubles the time between two ids of the others. Where many wait, so
// much that a load with more prompt than answer is not held up (a fixed factor of 2 cost 11 % of
// the throughput of 32 users with prompts of 128 and answers of 64, in the simulator). Only the cut
// depends on time: results do not.
//
//   D = 30, P = 1:   | 30 rows | chunk |
//   D = 2,  P = 30:  |2| chunk, mostly the whole budget   |
//
// Targets, where given, replace that: `itl` is the most a step with decode rows may take; a prompt
// that would be late for `ttft` gets all that `itl` leaves, or the whole budget.
//
// Where nobody decodes, a step of a long prompt still delays who comes meanwhile. It ends within
// `loneStep`, unless such small steps cost more time a token (weights are read in each).
//
// Who gets the tokens (PromptOrder::Shortest): half of them are for the first in the queue's order
// (of fair shares: for the user who was served least), so that it never takes more than twice as
// long for those that pass it, and nobody waits for ever. The rest goes to whoever lacks least:
//
//   first lacks 3,000, others 20 and 500; 128 tokens:   | 20 | 44 of 500 | 64 of 3,000 |
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/StepCost.h"

namespace ingot::runtime {

enum class ChunkRule : uint8_t { Whole, Balanced };
enum class PromptOrder : uint8_t {
  Arrival,  ///< all to the first, what it leaves to the next
  Shortest, ///< half to the first, the rest to who lacks least
};

struct ChunkOptions {
  ChunkRule rule = ChunkRule::Balanced;
  double targetItl = 0;  ///< seconds between two ids of a sequence; 0: none
  double targetTtft = 0; ///< seconds from arrival to the first id; 0: none
  double loneStep = 0;   ///< seconds of a step in which nobody decodes; 0: as many as it takes
  PromptOrder order = PromptOrder::Shortest;
};

/// A step before its prompts are in it.
struct ChunkQuestion {
  StepWork decodes;
  int64_t decoding;      ///< sequences
  int64_t prompts;       ///< sequences whose prompts are under way
  int64_t promptTokens;  ///< of those, still to be computed
  int64_t firstPosition; ///< of the first of them
  int64_t room;          ///< tokens that the step may have beside its decodes
  double waited;         ///< seconds since the prompt that waits longest arrived
};

/// Tokens of prompts for the step, 1 to `room`.
int64_t chunkBudget(const StepCost &cost, const ChunkOptions &options, const ChunkQuestion &asked);

/// What ChunkOptions::loneStep is where several may ask at once.
constexpr double kLoneStep = 0.1;

/// Never fewer than this, if they are there, whatever the limit: there is progress.
constexpr int64_t kLeastChunk = 4;

} // namespace ingot::runtime
