//===- RowRulesTest.cpp - Which ids the rules exclude -----------------------===//
#include "runtime/embed/RowRules.h"

#include <cmath>

#include <gtest/gtest.h>

using namespace ingot::embed;

namespace {

/// Returns the ids that the rules exclude in a row of 10 logits.
std::vector<int32_t> banned(const RowRules &rules, std::vector<int32_t> ids) {
  std::vector<float> row(10, 1.0f);
  rules.apply(ids, row);
  std::vector<int32_t> out;
  for (size_t i = 0; i < row.size(); ++i)
    if (std::isinf(row[i]))
      out.push_back(int32_t(i));
    else
      EXPECT_EQ(row[i], 1.0f);
  return out;
}

using Ids = std::vector<int32_t>;

TEST(RowRules, badWordsEndWhereTheyWouldBeComplete) {
  RowRules rules;
  rules.badWords = {{7}, {1, 2, 3}, {2, 4}, {99}, {-1}};
  EXPECT_EQ(banned(rules, {}), Ids{7});
  EXPECT_EQ(banned(rules, {1}), Ids{7});
  EXPECT_EQ(banned(rules, {1, 2}), (Ids{3, 4, 7}));
  EXPECT_EQ(banned(rules, {0, 2}), (Ids{4, 7}));
  EXPECT_EQ(banned(rules, {1, 2, 2}), (Ids{4, 7}));
  rules.prompt = {5, 1};
  EXPECT_EQ(banned(rules, {2}), (Ids{3, 4, 7})); // the prompt starts the banned word
}

TEST(RowRules, endsComeAfterTheLeastLength) {
  RowRules rules;
  rules.minTokens = 2;
  rules.endIds = {0, 9};
  EXPECT_TRUE(rules.any());
  EXPECT_EQ(banned(rules, {}), (Ids{0, 9}));
  EXPECT_EQ(banned(rules, {5}), (Ids{0, 9}));
  EXPECT_EQ(banned(rules, {5, 5}), Ids{});
}

TEST(RowRules, ngramsComeOnce) {
  RowRules rules;
  EXPECT_FALSE(rules.any());
  rules.noRepeatNgram = 3;
  EXPECT_EQ(banned(rules, {1, 2, 3}), Ids{});
  EXPECT_EQ(banned(rules, {1, 2, 3, 1, 2}), Ids{3});
  EXPECT_EQ(banned(rules, {1, 2, 3, 1, 2, 4, 1, 2}), (Ids{3, 4}));
  rules.prompt = {1, 2, 3};
  EXPECT_EQ(banned(rules, {1, 2}), Ids{3});
  rules.noRepeatNgram = 1;
  EXPECT_EQ(banned(rules, {5}), (Ids{1, 2, 3, 5}));
  rules.prompt.clear();
  EXPECT_EQ(banned(rules, {}), Ids{});
  rules.noRepeatNgram = 4;
  EXPECT_EQ(banned(rules, {1, 1}), Ids{}); // too short to repeat an n-gram
}

} // namespace
