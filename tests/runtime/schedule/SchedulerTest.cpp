//===- SchedulerTest.cpp - Batches: complete, in order, within limits -----===//
//
// A driver plays the model: it checks every batch against what each sequence has
// been fed so far, and answers with ids that are a function of sequence and
// position, so that a token that is lost, doubled or misplaced shows.
//===----------------------------------------------------------------------===//
#include "runtime/schedule/Scheduler.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::runtime;

namespace {

int32_t answer(SequenceId sequence, int64_t position) {
  return int32_t((sequence * 131 + position * 7) % 1000);
}

struct Expected {
  std::vector<int32_t> tokens; ///< prompt, then answers
  int64_t prompt, maxNew;
  int64_t fed = 0;
  int64_t rowsSeen = 0;
  bool everyPosition;
};

class Driver {
public:
  Driver(int64_t pages, int64_t seqs, int64_t context, ScheduleLimits limits)
      : pool(pages, seqs, context, kPageTokens), scheduler(pool, limits), limits(limits) {}

  SequenceId add(int64_t prompt, int64_t maxNew, bool everyPosition = false) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < prompt; ++i)
      ids.push_back(int32_t((i * 31 + prompt) % 997));
    SequenceId id = scheduler.add(ids, maxNew, everyPosition);
    expected[id] = {ids, prompt, maxNew, 0, 0, everyPosition};
    return id;
  }

  /// One step; false if there was nothing to do.
  bool step() {
    const BatchView *batch = scheduler.plan();
    if (!batch)
      return false;
    check(*batch);
    scheduler.complete();
    for (Scheduler::Row row : scheduler.rows()) {
      Expected &own = expected.at(row.sequence);
      ++own.rowsSeen;
      int64_t newTokens = int64_t(own.tokens.size()) - own.prompt;
      bool atEnd = row.position + 1 == int64_t(own.tokens.size());
      if (!atEnd)
        continue;
      // The answer to this row is token newTokens + 1.
      if (newTokens + 1 >= own.maxNew) {
        scheduler.finish(row.sequence);
        finished.push_back(row.sequence);
      } else {
        int32_t id = answer(row.sequence, row.position);
        scheduler.append(row.sequence, id);
        own.tokens.push_back(id);
      }
    }
    ++steps;
    return true;
  }

  void run() {
    while (step())
      ASSERT_LT(steps, 100000);
  }

  KvPool pool;
  Scheduler scheduler;
  ScheduleLimits limits;
  std::map<SequenceId, Expected> expected;
  std::vector<SequenceId> finished;
  int steps = 0;
  int64_t mostTokens = 0;

private:
  void check(const BatchView &batch) {
    ASSERT_GT(batch.tokens, 0);
    ASSERT_LE(batch.tokens, limits.maxBatchTokens);
    ASSERT_LE(batch.rows, limits.logitsRows);
    mostTokens = std::max(mostTokens, batch.tokens);
    // Tokens lie by sequence, in the order of shares().
    int64_t token = 0, row = 0, tile = 0;
    bool prefilling = false;
    for (Scheduler::Share share : scheduler.shares()) {
      Expected &own = expected.at(share.sequence);
      bool isPrefill = own.fed < own.prompt;
      ASSERT_TRUE(isPrefill || !prefilling) << "decode rows come first";
      prefilling |= isPrefill;
      ASSERT_LE(share.tokens, isPrefill ? limits.prefillChunk : 1);
      int32_t tableRow = batch.sequenceOf[token];
      for (int64_t i = 0; i < share.tokens; ++i, ++token) {
        int64_t position = own.fed + i;
        ASSERT_EQ(batch.positions[token], position);
        ASSERT_EQ(batch.sequenceOf[token], tableRow);
        ASSERT_EQ(batch.ids[token], own.tokens[size_t(position)]);
        int32_t page =
            batch.blockTable[tableRow * batch.blockTableStride + position / kPageTokens];
        ASSERT_GE(page, 0);
        ASSERT_LT(page, pool.totalPages());
        if (own.everyPosition || position + 1 == int64_t(own.tokens.size())) {
          ASSERT_LT(row, batch.rows);
          ASSERT_EQ(batch.rowTokens[row], token);
          ASSERT_EQ(scheduler.rows()[size_t(row)].sequence, share.sequence);
          ASSERT_EQ(scheduler.rows()[size_t(row)].position, position);
          ++row;
        }
      }
      for (int64_t i = 0; i < share.tokens; ++tile) {
        ASSERT_LT(tile, batch.tiles);
        const AttentionTile &t = batch.attentionTiles[tile];
        ASSERT_GE(t.tokens, 1);
        ASSERT_LE(t.tokens, kAttentionTile);
        ASSERT_EQ(t.firstToken, token - share.tokens + i);
        ASSERT_EQ(t.sequence, tableRow);
        ASSERT_EQ(t.firstPosition, own.fed + i);
        i += t.tokens;
        ASSERT_LE(i, share.tokens);
      }
      own.fed += share.tokens;
    }
    ASSERT_EQ(token, batch.tokens);
    ASSERT_EQ(row, batch.rows);
    ASSERT_EQ(tile, batch.tiles);
  }
};

} // namespace

TEST(Scheduler, everyChunkSizeFeedsEveryTokenOnce) {
  for (int64_t chunk : {1, 7, 64, 512}) {
    Driver driver(64, 4, 512, {512, 4, chunk});
    SequenceId id = driver.add(300, 20);
    driver.run();
    const Expected &own = driver.expected.at(id);
    EXPECT_EQ(own.fed, 300 + 19);
    EXPECT_EQ(own.rowsSeen, 20);
    EXPECT_EQ(driver.steps, (300 + chunk - 1) / chunk + 19) << chunk;
    EXPECT_EQ(driver.pool.pagesInUse(), 0);
    EXPECT_EQ(driver.pool.availablePages(), 64);
  }
}

TEST(Scheduler, decodesGoFirstAndChunksFillTheRest) {
  Driver driver(64, 4, 512, {16, 4, 16});
  driver.add(1, 30);
  driver.add(2, 30);
  driver.step();
  driver.add(100, 1);
  driver.step();
  auto shares = driver.scheduler.shares();
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].tokens, 1);
  EXPECT_EQ(shares[1].tokens, 1);
  EXPECT_EQ(shares[2].tokens, 14);
  driver.run();
}

TEST(Scheduler, admitsByPagesInOrderOfArrival) {
  Driver driver(4, 8, 128, {64, 8, 64});
  SequenceId first = driver.add(64, 33);  // 3 pages
  SequenceId second = driver.add(40, 30); // 3 pages: waits
  SequenceId third = driver.add(1, 1);    // would fit, but nobody overtakes
  driver.step();
  EXPECT_EQ(driver.scheduler.running(), 1);
  EXPECT_EQ(driver.scheduler.queued(), 2);
  driver.run();
  EXPECT_EQ(driver.finished, (std::vector<SequenceId>{first, third, second}));
}

TEST(Scheduler, everyPositionGivesARowPerTokenWithinTheRowLimit) {
  for (int64_t rows : {1, 5, 64}) {
    Driver driver(64, 1, 512, {32, rows, 512});
    SequenceId id = driver.add(100, 0, /*everyPosition=*/true);
    driver.run();
    EXPECT_EQ(driver.expected.at(id).rowsSeen, 100);
    EXPECT_EQ(driver.expected.at(id).fed, 100);
  }
}

TEST(Scheduler, aPromptWaitsForARowWithoutLosingTokens) {
  // One sequence takes all rows of a step; the other must not compute its last token then.
  Driver driver(64, 2, 512, {64, 2, 8});
  SequenceId rows = driver.add(40, 0, /*everyPosition=*/true);
  SequenceId plain = driver.add(3, 4);
  driver.run();
  EXPECT_EQ(driver.expected.at(rows).rowsSeen, 40);
  EXPECT_EQ(driver.expected.at(plain).rowsSeen, 4);
}

TEST(Scheduler, finishFreesQueuedAndRunning) {
  Driver driver(4, 2, 128, {64, 2, 64});
  SequenceId running = driver.add(100, 20);
  SequenceId queued = driver.add(100, 20);
  driver.step();
  EXPECT_GT(driver.pool.pagesInUse(), 0);
  driver.scheduler.finish(queued);
  EXPECT_EQ(driver.scheduler.queued(), 0);
  driver.scheduler.finish(running);
  EXPECT_EQ(driver.pool.pagesInUse(), 0);
  EXPECT_EQ(driver.scheduler.plan(), nullptr);
}

TEST(Scheduler, mixedTrafficEndsWithEveryTokenFedOnce) {
  std::mt19937 random(12);
  for (int64_t chunk : {1, 7, 64, 512}) {
    Driver driver(50, 9, 400, {61, 9, chunk});
    int added = 0;
    while (added < 120 || driver.scheduler.running() || driver.scheduler.queued()) {
      if (added < 120 && random() % 3 == 0) {
        int64_t prompt = 1 + int64_t(random() % 300);
        driver.add(prompt, 1 + int64_t(random() % 100));
        ++added;
      }
      driver.step();
      ASSERT_FALSE(HasFatalFailure());
      ASSERT_LT(driver.steps, 200000);
    }
    EXPECT_EQ(driver.finished.size(), 120u);
    for (auto &[id, own] : driver.expected) {
      EXPECT_EQ(own.fed, own.prompt + own.maxNew - 1);
      EXPECT_EQ(own.rowsSeen, own.maxNew);
    }
    EXPECT_EQ(driver.pool.pagesInUse(), 0);
    EXPECT_EQ(driver.pool.availablePages(), 50);
    EXPECT_LE(driver.mostTokens, 61);
    EXPECT_GT(driver.mostTokens, 8);
  }
}
