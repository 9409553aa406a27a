//===- KvPoolTest.cpp - Every page has one owner, every count is exact ----===//
#include "runtime/kv/KvPool.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

using namespace ingot::runtime;

TEST(PageAllocator, countsReferences) {
  PageAllocator pages(3);
  int32_t a = pages.allocate(), b = pages.allocate();
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, 1);
  pages.retain(a);
  pages.release(a);
  EXPECT_EQ(pages.free(), 1); // one holder is left
  pages.release(a);
  EXPECT_EQ(pages.free(), 2);
  EXPECT_EQ(pages.allocate(), 0); // the lowest free one
  EXPECT_EQ(pages.referencesOf(0), 1);
  EXPECT_EQ(pages.referencesOf(2), 0);
}

TEST(KvPool, promisesArePagesNobodyElseGets) {
  KvPool pool(4, 8, 96, 32);
  int32_t first = pool.admit(65); // 3 pages
  EXPECT_EQ(first, 0);
  EXPECT_EQ(pool.availablePages(), 1);
  EXPECT_EQ(pool.pagesInUse(), 0); // promised, not taken
  EXPECT_EQ(pool.admit(33), -1);   // 2 pages
  EXPECT_EQ(pool.admit(32), 1);
  EXPECT_EQ(pool.availablePages(), 0);
  pool.extend(first, 1);
  pool.extend(first, 32);
  EXPECT_EQ(pool.pagesInUse(), 1);
  pool.extend(first, 65);
  EXPECT_EQ(pool.pagesInUse(), 3);
  pool.release(first);
  EXPECT_EQ(pool.pagesInUse(), 0);
  EXPECT_EQ(pool.availablePages(), 3); // row 1 keeps its promise
}

TEST(KvPool, rowsRunOut) {
  KvPool pool(100, 2, 64, 32);
  EXPECT_EQ(pool.admit(1), 0);
  EXPECT_EQ(pool.admit(1), 1);
  EXPECT_EQ(pool.admit(1), -1);
  pool.release(0);
  EXPECT_EQ(pool.admit(1), 0);
}

TEST(KvPool, randomTrafficKeepsTheBooks) {
  constexpr int64_t kPages = 40, kRows = 7, kContext = 320, kPage = 32;
  KvPool pool(kPages, kRows, kContext, kPage);
  struct Model {
    int64_t most, now;
  };
  std::map<int32_t, Model> model;
  std::mt19937 random(11);
  int refusals = 0, admissions = 0;
  for (int i = 0; i < 20000; ++i) {
    int action = int(random() % 3);
    if (action == 0) {
      int64_t positions = 1 + int64_t(random() % kContext);
      int64_t promisedPages = 0;
      for (auto &[row, own] : model)
        promisedPages += pool.pagesFor(own.most);
      int32_t row = pool.admit(positions);
      bool fits =
          promisedPages + pool.pagesFor(positions) <= kPages && int64_t(model.size()) < kRows;
      ASSERT_EQ(row >= 0, fits);
      if (row >= 0) {
        ASSERT_FALSE(model.count(row));
        model[row] = {positions, 0};
        ++admissions;
      } else {
        ++refusals;
      }
    } else if (!model.empty()) {
      auto chosen = std::next(model.begin(), int64_t(random() % model.size()));
      if (action == 1) {
        int64_t room = chosen->second.most - chosen->second.now;
        chosen->second.now += room ? 1 + int64_t(random() % size_t(room)) : 0;
        pool.extend(chosen->first, chosen->second.now);
      } else {
        pool.release(chosen->first);
        model.erase(chosen);
      }
    }
    int64_t inUse = 0, worst = 0;
    std::set<int32_t> owned;
    for (auto &[row, own] : model) {
      int64_t held = pool.pagesFor(own.now);
      inUse += held;
      worst += pool.pagesFor(own.most);
      for (int64_t page = 0; page < held; ++page) {
        int32_t number = pool.blockTable()[row * pool.blockTableStride() + page];
        ASSERT_TRUE(owned.insert(number).second) << "page " << number << " has two owners";
        ASSERT_LT(number, kPages);
      }
    }
    ASSERT_EQ(pool.pagesInUse(), inUse);
    ASSERT_EQ(pool.availablePages(), kPages - worst);
  }
  EXPECT_GT(refusals, 100);
  EXPECT_GT(admissions, 1000);
}
