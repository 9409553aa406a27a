//===- KvPoolTest.cpp - Every page has its holders, all counts are exact ---===//
#include "runtime/kv/KvPool.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

/// The names of the full pages of `tokens`.
struct Names {
  Names(const PrefixHasher &hasher, std::vector<int32_t> ids, int64_t page, uint64_t salt = 0)
      : tokens(std::move(ids)) {
    names.push_back(hasher.root(salt));
    for (size_t i = 0; (i + 1) * size_t(page) <= tokens.size(); ++i)
      names.push_back(
          hasher.next(names.back(), std::span(tokens).subspan(i * size_t(page), size_t(page))));
  }
  NamedPrefix prefix() const { return {names, tokens}; }
  std::vector<int32_t> tokens;
  std::vector<PageName> names;
};

std::vector<int32_t> count(int64_t tokens, int32_t first = 0) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < tokens; ++i)
    ids.push_back(first + int32_t(i));
  return ids;
}

} // namespace

TEST(KvPool, promisesArePagesNobodyElseGets) {
  KvPool pool(4, 8, 128, 32);
  int32_t first = pool.admit(65); // 3 pages
  EXPECT_EQ(first, 0);
  EXPECT_EQ(pool.availablePages(), 1);
  EXPECT_EQ(pool.pagesInUse(), 0); // reserved, not allocated
  EXPECT_EQ(pool.admit(33), -1);   // 2 pages
  EXPECT_EQ(pool.admit(0, 0, 33).missing, 1);
  EXPECT_EQ(pool.admit(0, 0, 32, /*spare=*/1).missing, 1);
  EXPECT_EQ(pool.admit(32), 1);
  EXPECT_EQ(pool.availablePages(), 0);
  EXPECT_TRUE(pool.extend(first, 32));
  EXPECT_EQ(pool.pagesInUse(), 1);
  EXPECT_FALSE(pool.extend(first, 97)) << "beyond its promise, and the last page is promised";
  EXPECT_EQ(pool.pagesInUse(), 1) << "a refusal changes nothing";
  EXPECT_TRUE(pool.extend(first, 65));
  EXPECT_EQ(pool.pagesInUse(), 3);
  pool.release(1);
  EXPECT_TRUE(pool.extend(first, 97)); // the first caller gets the available pages
  pool.release(first);
  EXPECT_EQ(pool.pagesInUse(), 0);
  EXPECT_EQ(pool.availablePages(), 4);
}

TEST(KvPool, slotsRunOut) {
  KvPool pool(100, 2, 64, 32);
  EXPECT_EQ(pool.admit(1), 0);
  EXPECT_EQ(pool.admit(1), 1);
  EXPECT_EQ(pool.admit(1), -1);
  EXPECT_EQ(pool.admit(0, 0, 1).missing, 0) << "no page is missing";
  EXPECT_EQ(pool.fork(0, 0), -1);
  pool.release(0);
  EXPECT_EQ(pool.admit(1), 0);
}

TEST(KvPool, findsWhatWasNamedAndSharesIt) {
  KvPool pool(6, 4, 256, 32);
  PrefixHasher hasher;
  Names names(hasher, count(100), 32);
  int32_t slot = pool.admit(100);
  ASSERT_TRUE(pool.extend(slot, 100));
  EXPECT_EQ(pool.match(names.prefix()), 0);
  for (int64_t i = 0; i < 3; ++i)
    pool.name(slot, i, names.prefix());
  EXPECT_EQ(pool.match(names.prefix()), 3);
  EXPECT_EQ(pool.match(Names(hasher, count(64), 32).prefix()), 2);
  EXPECT_EQ(pool.match(Names(hasher, count(100), 32, /*salt=*/7).prefix()), 0);
  EXPECT_EQ(pool.match(Names(hasher, count(100, 1), 32).prefix()), 0);

  ASSERT_EQ(pool.match(names.prefix()), 3);
  int32_t second = pool.admit(3, 96, 101).slot;
  ASSERT_GE(second, 0);
  EXPECT_EQ(pool.pagesInUse(), 4);
  EXPECT_EQ(pool.availablePages(), 1); // of 6: 4 in use, 1 reserved
  ASSERT_TRUE(pool.extend(second, 101));
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(pool.page(second, 0, i), pool.page(slot, 0, i));
  EXPECT_NE(pool.page(second, 0, 3), pool.page(slot, 0, 3));
  EXPECT_EQ(pool.releasable(second, 0), 1);
  pool.release(slot);
  EXPECT_EQ(pool.pagesInUse(), 4);
  pool.release(second);
  EXPECT_EQ(pool.pagesInUse(), 0);
  EXPECT_EQ(pool.pagesCached(), 3);
  EXPECT_EQ(pool.availablePages(), 6);

  // Cached pages that a sequence shares no longer count as available.
  ASSERT_EQ(pool.match(names.prefix()), 3);
  EXPECT_EQ(pool.admit(3, 96, 193).missing, 1) << "3 kept and 4 promised are 7, there are 6";
  EXPECT_EQ(pool.admit(3, 96, 192).slot, 0);
}

TEST(KvPool, evictsTheEndOfAPrefixFirst) {
  KvPool pool(4, 2, 128, 32);
  PrefixHasher hasher;
  Names names(hasher, count(128), 32);
  int32_t slot = pool.admit(128);
  ASSERT_TRUE(pool.extend(slot, 128));
  for (int64_t i = 0; i < 4; ++i)
    pool.name(slot, i, names.prefix());
  pool.release(slot);
  int32_t other = pool.admit(64);
  ASSERT_TRUE(pool.extend(other, 64));
  EXPECT_EQ(pool.match(names.prefix()), 2);
}

TEST(KvPool, forksShareUntilTheyWrite) {
  struct Mover final : PageMover {
    uint64_t pageBytes(size_t) const override { return 1; }
    void copy(size_t, int32_t from, int32_t to) override { copies.emplace_back(from, to); }
    void save(size_t, int32_t, std::byte *) override {}
    void load(size_t, const std::byte *, int32_t) override {}
    std::vector<std::pair<int32_t, int32_t>> copies;
  } mover;
  KvPool pool(3, 4, 128, 32);
  int32_t parent = pool.admit(40);
  ASSERT_TRUE(pool.extend(parent, 40));
  int32_t child = pool.fork(parent, 40);
  EXPECT_EQ(pool.pagesInUse(), 2);
  EXPECT_TRUE(pool.isShared(child, 40));
  EXPECT_TRUE(pool.isShared(parent, 40));
  ASSERT_TRUE(pool.makeOwn(child, 40, &mover));
  ASSERT_EQ(mover.copies.size(), 1u);
  EXPECT_EQ(mover.copies[0], (std::pair<int32_t, int32_t>(1, 2)));
  EXPECT_FALSE(pool.isShared(child, 40));
  EXPECT_FALSE(pool.isShared(parent, 40)) << "the last one writes where it is";
  EXPECT_TRUE(pool.isShared(parent, 31));
  int32_t third = pool.fork(child, 40);
  EXPECT_FALSE(pool.makeOwn(third, 40, &mover)) << "no page is left";
  pool.release(child);
  EXPECT_FALSE(pool.isShared(third, 40));
  pool.release(parent);
  pool.release(third);
  EXPECT_EQ(pool.availablePages(), 3);
}

TEST(KvPool, windowsGiveBackWhatNobodySees) {
  // One group keeps all positions, and one has a window of 64. Positions are read in blocks of 128.
  KvPool pool({{40, 0}, {12, 64}}, 2, 1024, 32, /*mostTokens=*/32);
  EXPECT_EQ(mostPagesHeld(64, 1024, 32, 32), 9); // 64 + 127 + 32 + 32 positions at any offset
  EXPECT_TRUE(pool.fits(1024));
  int32_t slot = pool.admit(1000);
  ASSERT_EQ(slot, 0);
  EXPECT_EQ(pool.promisedPages(0), 32);
  EXPECT_EQ(pool.promisedPages(1), 9);
  int64_t most = 0;
  for (int64_t position = 0; position < 1000; position += 8) {
    ASSERT_TRUE(pool.extend(slot, position + 8));
    auto held = pool.held(slot, 1);
    most = std::max(most, held.end - held.first);
    EXPECT_LE(held.first * 32, std::max<int64_t>(0, position - 63));
    ASSERT_EQ(pool.promisedPages(1) + held.end - held.first, std::min<int64_t>(9, 32 - held.first));
    pool.trim(slot, position + 8);
  }
  EXPECT_EQ(pool.held(slot, 0).first, 0);
  EXPECT_EQ(pool.held(slot, 1).first, 28); // (1000 - 63) / 128 * 4
  EXPECT_LE(most, 9);
  pool.release(slot);
  EXPECT_EQ(pool.availablePages(0), 40);
  EXPECT_EQ(pool.availablePages(1), 12);
}

TEST(KvPool, aHitNeedsTheLastWindowOfEveryGroup) {
  KvPool pool({{40, 0}, {20, 64}}, 3, 1024, 32, 32);
  PrefixHasher hasher;
  Names names(hasher, count(640), 32);
  int32_t slot = pool.admit(641);
  for (int64_t position = 0; position < 640; position += 32) {
    ASSERT_TRUE(pool.extend(slot, position + 32));
    pool.name(slot, position / 32, names.prefix());
    pool.trim(slot, position + 32);
  }
  EXPECT_EQ(pool.match(names.prefix()), 20);
  pool.release(slot);
  EXPECT_EQ(pool.match(names.prefix()), 20);
  // Another sequence takes pages of the window's group. Pages that have left a window are the oldest.
  int32_t other = pool.admit(500);
  for (int64_t position = 0; position < 288; position += 32)
    ASSERT_TRUE(pool.extend(other, position + 32));
  int64_t found = pool.match(names.prefix());
  EXPECT_EQ(found, 20);
  int32_t again = pool.admit(found, 640, 641).slot;
  ASSERT_GE(again, 0);
  EXPECT_EQ(pool.held(again, 0).first, 0);
  EXPECT_EQ(pool.held(again, 1).first, 16); // (640 - 63) / 128 * 4
  pool.release(again);
  // Half of its last window is evicted. It resumes where a whole window is still cached, or starts over.
  ASSERT_TRUE(pool.extend(other, 500));
  pool.release(other);
  int32_t third = pool.admit(500);
  ASSERT_TRUE(pool.extend(third, 288));
  int32_t fourth = pool.admit(320);
  ASSERT_GE(fourth, 0);
  ASSERT_TRUE(pool.extend(fourth, 288));
  EXPECT_LT(pool.match(names.prefix()), 20);
}

TEST(KvPool, randomTrafficKeepsTheBooks) {
  constexpr int64_t kPages = 40, kRows = 7, kContext = 320, kPage = 32;
  KvPool pool(kPages, kRows, kContext, kPage);
  struct Model {
    int64_t promised, now;
  };
  std::map<int32_t, Model> model;
  std::mt19937 random(11);
  int refusals = 0, admissions = 0, forks = 0;
  for (int i = 0; i < 20000; ++i) {
    int action = int(random() % 4);
    int64_t available = pool.availablePages();
    if (action == 0) {
      int64_t positions = 1 + int64_t(random() % kContext);
      int32_t slot = pool.admit(positions);
      bool fits = pool.pagesFor(positions) <= available && int64_t(model.size()) < kRows;
      ASSERT_EQ(slot >= 0, fits);
      if (slot >= 0) {
        ASSERT_FALSE(model.count(slot));
        model[slot] = {positions, 0};
        ++admissions;
      } else {
        ++refusals;
      }
    } else if (!model.empty()) {
      auto chosen = std::next(model.begin(), int64_t(random() % model.size()));
      auto &[slot, own] = *chosen;
      if (action == 1) {
        int64_t wanted = std::min(kContext, own.now + int64_t(random() % 64));
        int64_t beyond =
            pool.pagesFor(wanted) - std::max(pool.pagesFor(own.now), pool.pagesFor(own.promised));
        bool there = pool.extend(slot, wanted);
        ASSERT_EQ(there, beyond <= 0 || beyond <= available);
        if (there)
          own.now = std::max(own.now, wanted);
      } else if (action == 2) {
        int32_t child = pool.fork(slot, own.now);
        ASSERT_EQ(child >= 0, int64_t(model.size()) < kRows);
        if (child >= 0) {
          model[child] = {own.now, own.now};
          ++forks;
        }
      } else {
        pool.release(slot);
        model.erase(chosen);
      }
    }
    int64_t promised = 0;
    std::map<int32_t, int32_t> holders;
    for (auto &[slot, own] : model) {
      int64_t held = pool.pagesFor(own.now);
      promised += std::max<int64_t>(0, pool.pagesFor(own.promised) - held);
      for (int64_t page = 0; page < held; ++page)
        ++holders[pool.blockTable()[slot * pool.blockTableStride() + page]];
    }
    for (auto [page, count] : holders)
      ASSERT_EQ(pool.pagesOf(0).holdersOf(page), count);
    ASSERT_EQ(pool.pagesInUse(), int64_t(holders.size()));
    ASSERT_EQ(pool.availablePages(), kPages - int64_t(holders.size()) - promised);
  }
  EXPECT_GT(refusals, 100);
  EXPECT_GT(admissions, 1000);
  EXPECT_GT(forks, 1000);
}
