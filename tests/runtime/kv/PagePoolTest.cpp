//===- PagePoolTest.cpp - Holders, names, order of eviction ----------------===//
#include "runtime/kv/PagePool.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

constexpr int64_t kPageOfFour = 4;

std::vector<int32_t> content(int32_t first) { return {first, first + 1, first + 2, first + 3}; }

} // namespace

TEST(PagePool, countsHolders) {
  PagePool pages(3, kPageOfFour);
  int32_t a = pages.allocate(), b = pages.allocate();
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, 1);
  pages.retain(a);
  pages.release(a);
  EXPECT_EQ(pages.free(), 1); // one holder remains
  pages.release(a);
  EXPECT_EQ(pages.free(), 2);
  EXPECT_EQ(pages.allocate(), 0); // the lowest free one
  EXPECT_EQ(pages.holdersOf(0), 1);
  EXPECT_EQ(pages.holdersOf(2), 0);
}

TEST(PagePool, saysHowFarItHasBeenUsed) {
  PagePool pages(3, kPageOfFour);
  EXPECT_EQ(pages.touched(), 0);
  const int32_t a = pages.allocate(), b = pages.allocate();
  EXPECT_EQ(pages.touched(), 2);
  pages.release(a);
  pages.release(b);
  EXPECT_EQ(pages.touched(), 2); // two pages have been used so far
  pages.allocate();
  EXPECT_EQ(pages.touched(), 2);
}

TEST(PagePool, keepsNamedPagesUntilTheyAreNeeded) {
  PagePool pages(3, kPageOfFour);
  PageName root{1, 1}, first{2, 2}, second{3, 3};
  int32_t a = pages.allocate(), b = pages.allocate();
  pages.name(a, root, first, content(10));
  pages.name(b, first, second, content(20));
  pages.release(b);
  pages.release(a);
  EXPECT_EQ(pages.cached(), 2);
  EXPECT_EQ(pages.free(), 1);
  EXPECT_EQ(pages.available(), 3);
  EXPECT_EQ(pages.find(root, first, content(10)), a);
  pages.allocate(); // takes the free page
  EXPECT_EQ(pages.find(first, second, content(20)), b);
  EXPECT_EQ(pages.allocate(), b); // the page released first
  EXPECT_EQ(pages.find(first, second, content(20)), -1);
  EXPECT_EQ(pages.find(root, first, content(10)), a);
  pages.retain(a); // held again: no longer available
  EXPECT_EQ(pages.available(), 0);
  pages.release(a);
  EXPECT_EQ(pages.cached(), 1);
}

TEST(PagePool, comparesTokensAndParentsNotNamesAlone) {
  PagePool pages(4, kPageOfFour);
  PageName root{1, 1}, other{5, 1}, name{2, 2};
  int32_t a = pages.allocate();
  pages.name(a, root, name, content(10));
  EXPECT_EQ(pages.find(root, name, content(10)), a);
  EXPECT_EQ(pages.find(root, name, content(11)), -1) << "a collision of names";
  EXPECT_EQ(pages.find(other, name, content(10)), -1);
  EXPECT_EQ(pages.find(root, {2, 3}, content(10)), -1);
  // If names collide, both contents are found.
  int32_t b = pages.allocate();
  pages.name(b, root, name, content(30));
  EXPECT_EQ(pages.find(root, name, content(30)), b);
  EXPECT_EQ(pages.find(root, name, content(10)), a);
}

TEST(PagePool, aSecondPageOfTheSameContentStaysNameless) {
  PagePool pages(2, kPageOfFour);
  int32_t a = pages.allocate(), b = pages.allocate();
  pages.name(a, {1, 1}, {2, 2}, content(1));
  pages.name(b, {1, 1}, {2, 2}, content(1));
  pages.release(b);
  EXPECT_EQ(pages.free(), 1);
  pages.release(a);
  EXPECT_EQ(pages.cached(), 1);
}

/// Compares the pool with a model that records everything.
TEST(PagePool, randomTrafficKeepsTheBooks) {
  constexpr int64_t kPages = 20;
  PagePool pages(kPages, kPageOfFour);
  PrefixHasher hasher;
  PageName root = hasher.root(0);
  std::map<int32_t, int> holders;       // of held pages
  std::map<int32_t, int32_t> contentOf; // of named ones
  std::vector<int32_t> kept;            // oldest first
  std::mt19937 random(5);
  int evictions = 0, hits = 0;
  for (int i = 0; i < 20000; ++i) {
    switch (random() % 4) {
    case 0: {
      if (pages.available() == 0)
        break;
      bool evicts = pages.free() == 0;
      int32_t page = pages.allocate();
      ASSERT_FALSE(holders.count(page)) << "held twice";
      if (evicts) {
        ASSERT_EQ(page, kept.front());
        kept.erase(kept.begin());
        ++evictions;
      }
      contentOf.erase(page);
      holders[page] = 1;
      break;
    }
    case 1: { // look up a content
      auto first = int32_t(random() % 40);
      int32_t page = pages.find(root, hasher.next(root, content(first)), content(first));
      int32_t expected = -1;
      for (auto [number, known] : contentOf)
        if (known == first)
          expected = number;
      ASSERT_EQ(page, expected);
      if (page < 0)
        break;
      ++hits;
      std::erase(kept, page);
      pages.retain(page);
      ++holders[page];
      break;
    }
    default: {
      if (holders.empty())
        break;
      auto chosen = std::next(holders.begin(), long(random() % holders.size()));
      int32_t page = chosen->first;
      auto first = int32_t(random() % 40);
      bool isNew = !contentOf.count(page);
      for (auto [number, known] : contentOf)
        isNew &= known != first;
      pages.name(page, root, hasher.next(root, content(first)), content(first));
      if (isNew)
        contentOf[page] = first;
      pages.release(page);
      if (--chosen->second == 0) {
        holders.erase(chosen);
        if (contentOf.count(page))
          kept.push_back(page);
      }
    }
    }
    ASSERT_EQ(pages.held(), int64_t(holders.size()));
    ASSERT_EQ(pages.cached(), int64_t(kept.size()));
    ASSERT_EQ(pages.free() + pages.cached() + pages.held(), kPages);
    for (auto [page, count] : holders)
      ASSERT_EQ(pages.holdersOf(page), count);
  }
  EXPECT_GT(evictions, 500);
  EXPECT_GT(hits, 500);
}

TEST(PrefixHash, namesDependOnAllBeforeThem) {
  PrefixHasher hasher, stranger;
  PageName root = hasher.root(0);
  EXPECT_NE(root, hasher.root(1));
  EXPECT_NE(root, stranger.root(0)) << "the secret is each process's own";
  EXPECT_EQ(hasher.next(root, content(1)), hasher.next(root, content(1)));
  EXPECT_NE(hasher.next(root, content(1)), hasher.next(root, content(2)));
  EXPECT_NE(hasher.next(root, content(1)), hasher.next(hasher.root(1), content(1)));
}
