//===- ChunkBudget.cpp - See ChunkBudget.h ---------------------------------===//
#include "runtime/schedule/ChunkBudget.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace ingot::runtime {

static constexpr int64_t kChunkTile = 16; ///< attention processes this many tokens of a prompt at
                                          ///< once

/// Returns the largest number of tokens with which the step takes at most `seconds`: whole tiles, or 8 or 4 tokens.
static int64_t tokensWithin(const StepCost &cost, const ChunkQuery &asked, double seconds) {
  auto fits = [&](int64_t tokens) {
    return cost.predict(asked.decodes + StepWork::chunk(asked.firstPosition, tokens)) <= seconds;
  };
  if (fits(asked.room))
    return asked.room;
  if (!fits(kChunkTile)) // late in a long prompt, the attention of a single tile may take too long
    return std::min(asked.room, fits(kChunkTile / 2) ? kChunkTile / 2 : kLeastChunk);
  int64_t good = 1, bad = asked.room / kChunkTile + 1; // in tiles
  while (bad - good > 1) {
    int64_t middle = (good + bad) / 2;
    (fits(middle * kChunkTile) ? good : bad) = middle;
  }
  return std::min(asked.room, good * kChunkTile);
}

/// Returns the smallest step size, among 64, 128, 256 … tokens, that takes at most 4 % more time per token than the
/// largest step.
static int64_t thriftyTokens(const StepCost &cost, const ChunkQuery &asked) {
  auto each = [&](int64_t tokens) {
    return cost.predict(StepWork::chunk(asked.firstPosition, tokens)) / double(tokens);
  };
  const double most = 1.04 * each(asked.room);
  int64_t tokens = 4 * kChunkTile;
  while (tokens < asked.room && each(tokens) > most)
    tokens *= 2;
  return std::min(tokens, asked.room);
}

int64_t chunkBudget(const StepCost &cost, const ChunkOptions &options, const ChunkQuery &asked) {
  assert(asked.room >= 0 && "the decoding sequences alone are more than a step holds");
  if (asked.room <= kLeastChunk)
    return asked.room;
  if (asked.decoding == 0) // no decoding sequence is delayed
    return options.loneStep > 0
               ? std::max(tokensWithin(cost, asked, options.loneStep), thriftyTokens(cost, asked))
               : asked.room;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const double hard = options.targetItl > 0 ? options.targetItl : kNoLimit;
  double limit = hard;
  if (options.rule == ChunkRule::Balanced && options.targetItl == 0)
    limit = (1 + double(asked.prompts)) * cost.predict(asked.decodes);
  int64_t tokens = limit == kNoLimit ? asked.room : tokensWithin(cost, asked, limit);
  if (options.targetTtft > 0 && tokens < asked.room) {
    // The number of steps that the prompts need with chunks of this size, and the time of each.
    double steps = double(asked.promptTokens) / double(tokens);
    double step = cost.predict(asked.decodes + StepWork::chunk(asked.firstPosition, tokens));
    if (asked.waited + steps * step > options.targetTtft)
      tokens = hard == kNoLimit ? asked.room : tokensWithin(cost, asked, hard);
  }
  assert(tokens >= 1 && tokens <= asked.room && "prompts make progress, within the step");
  return tokens;
}

} // namespace ingot::runtime
