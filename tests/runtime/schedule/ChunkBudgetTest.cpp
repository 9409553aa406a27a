//===- ChunkBudgetTest.cpp - How long prompts and rows wait for each other -===//
#include "runtime/schedule/ChunkBudget.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

/// A step takes 10 ms plus 1 ms per token.
StepCost tenMilliseconds() { return StepCost({{{0, 0.010}, {1000, 1.010}}, 0, 0}); }

ChunkQuery ask(int64_t decoding, int64_t prompts, int64_t promptTokens = 2048) {
  return {{decoding, decoding, 0}, decoding, prompts, promptTokens, 0, 512 - decoding, 0};
}

} // namespace

TEST(ChunkBudget, aPromptMayDoubleAStep) {
  // 30 rows take 40 ms. Twice that leaves 40 tokens, or 32 in whole tiles.
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, ask(30, 1)), 32);
}

TEST(ChunkBudget, manyPromptsKeepFewWaiting) {
  // 2 rows take 12 ms. A step may take 31 times that, 372 ms, which leaves 360 tokens.
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, ask(2, 30)), 352);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, ask(2, 200)), 510);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, ask(30, 3)), 112);
}

TEST(ChunkBudget, nobodyWaitsOrNothingIsAsked) {
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, ask(0, 1)), 512);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Whole}, ask(30, 1)), 482);
}

TEST(ChunkBudget, thereIsAlwaysProgress) {
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, ask(1, 1)), 8); // 11 ms more allow 11 tokens
  ChunkQuery little = ask(30, 1);
  little.room = 5;
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {}, little), 5);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 0.001, 0}, ask(30, 1)), 4);
}

TEST(ChunkBudget, targetsReplaceTheBalance) {
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 0.150, 0}, ask(30, 1)),
            96); // 110 tokens are left
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Whole, 0.150, 0}, ask(30, 1)), 96);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 9, 0}, ask(30, 1)), 482);
}

TEST(ChunkBudget, aPromptThatWouldBeLateGetsMore) {
  // 2,048 tokens in steps of 32 tokens and 72 ms take 4.6 s.
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 0, 6}, ask(30, 1)), 32);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 0, 4}, ask(30, 1)), 482);
  ChunkQuery waited = ask(30, 1);
  waited.waited = 3;
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 0, 6}, waited), 482);
  EXPECT_EQ(chunkBudget(tenMilliseconds(), {ChunkRule::Balanced, 0.150, 1}, ask(30, 1)), 96)
      << "but no more than the other target leaves";
}

TEST(ChunkBudget, aStepOfPromptsAloneEndsSoonWhereThatCostsLittle) {
  ChunkOptions options;
  options.loneStep = 0.1;
  EXPECT_EQ(chunkBudget(tenMilliseconds(), options, ask(0, 1)), 256)
      << "80 tokens take 90 ms, but 12.5 % more time each; 256 no more than 4 %";
  // The fixed cost is 10 us, so small steps lose nothing.
  const StepCost thrifty({{{0, 1e-5}, {1000, 1.00001}}, 0, 0});
  EXPECT_EQ(chunkBudget(thrifty, options, ask(0, 1)), 96);
  ChunkQuery far = ask(0, 1);
  far.firstPosition = 1'000'000; // attention alone makes one tile exceed the allowed time
  EXPECT_EQ(chunkBudget(StepCost({{{0, 1e-5}, {1000, 1.00001}}, 0, 1e-6}), options, far), 64);
  EXPECT_EQ(chunkBudget(thrifty, options, ask(1, 1)), 1 * 4) << "somebody decodes: as ever";
}
