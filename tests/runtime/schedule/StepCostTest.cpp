//===- StepCostTest.cpp - Predictions, and corrections by measurements -----===//
#include "runtime/schedule/StepCost.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

StepCostTable table() { return {{{1, 1.0}, {11, 2.0}, {21, 4.0}}, 0.5, 0.01}; }

} // namespace

TEST(StepCost, readsTheTable) {
  StepCostTable own = table();
  EXPECT_DOUBLE_EQ(own.seconds({1, 0, 0}), 1.0);
  EXPECT_DOUBLE_EQ(own.seconds({6, 0, 0}), 1.5);
  EXPECT_DOUBLE_EQ(own.seconds({16, 0, 0}), 3.0);
  EXPECT_DOUBLE_EQ(own.seconds({31, 0, 0}), 6.0); // extrapolates from the last two
  EXPECT_DOUBLE_EQ(own.seconds({1, 2, 100}), 3.0);
  EXPECT_EQ(StepWork::chunk(10, 3).positions, 11 + 12 + 13);
}

TEST(StepCost, measuresCorrectIt) {
  StepCost cost(table());
  for (int i = 0; i < 5; ++i)
    cost.observe({1, 0, 0}, 2.0);
  EXPECT_NEAR(cost.predict({1, 0, 0}), 2.0, 1e-12);
  EXPECT_NEAR(cost.predict({21, 0, 0}), 8.0, 1e-12) << "the only ratio there is";
  for (int i = 0; i < 5; ++i)
    cost.observe({21, 0, 0}, 4.0);
  EXPECT_NEAR(cost.predict({28, 0, 0}), 5.4, 1e-12);
  double between = cost.predict({6, 0, 0}); // a ratio between 1 and 2
  EXPECT_GT(between, 1.5 * 1.1);
  EXPECT_LT(between, 1.5 * 1.9);
}

TEST(StepCost, aStepThatWaitedDoesNoHarm) {
  StepCost cost(table());
  for (int i = 0; i < 9; ++i)
    cost.observe({1, 0, 0}, i % 3 == 1 ? 50.0 : 1.0);
  EXPECT_NEAR(cost.predict({1, 0, 0}), 1.0, 1e-12);
  cost.observe({1, 0, 0}, 0); // a measurement of 0 does not count
  cost.observe({0, 0, 0}, 1);
  EXPECT_NEAR(cost.predict({1, 0, 0}), 1.0, 1e-12);
  for (int i = 0; i < 9; ++i) // the machine's speed changes, and the prediction adapts
    cost.observe({1, 0, 0}, 3.0);
  EXPECT_NEAR(cost.predict({1, 0, 0}), 3.0, 1e-12);
}

TEST(StepCost, promptsAreTheSumOfTheirChunks) {
  StepCost cost(table());
  EXPECT_NEAR(cost.predictPrompt(22, 11), 2 * 2.0 + 0.01 * double(StepWork::chunk(0, 22).positions),
              1e-9);
  EXPECT_EQ(cost.predictPrompt(0, 11), 0);
}
