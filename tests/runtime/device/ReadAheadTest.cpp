//===- ReadAheadTest.cpp - The choice of a prefetch method for weights ----===//
#include "runtime/device/cpu/ReadAhead.h"

#include <gtest/gtest.h>

using namespace ingot::cpu;

namespace {

constexpr int64_t kEachLine = ReadAhead::kWays[1];

/// Runs a step of one token on two threads, where launch i takes `time(i, bytes ahead, trial)` nanoseconds on each.
template <typename Time> void step(ReadAhead &reading, size_t launches, Time time) {
  const int trial = reading.begin(1);
  for (size_t launch = 0; launch < launches && trial != ReadAhead::kNoTrial; ++launch)
    for (size_t part = 0; part < 2; ++part)
      reading.took(trial, launch, part, time(launch, reading.bytes(trial, 1, launch), trial));
}

} // namespace

TEST(ReadAhead, EachKernelTakesItsFasterWay) {
  ReadAhead reading({0, 1, 0, 1, 2}, 2);
  EXPECT_TRUE(reading.tries());
  // Prefetching every line speeds up kernel 0 and slows down kernel 1. Kernel 2 is launched once
  // per step.
  auto time = [](size_t launch, int64_t ahead, int) {
    return uint64_t(launch % 2 ? (ahead ? 120 : 100) : (ahead ? 80 : 100));
  };
  for (int i = 0; i <= ReadAhead::kTrials; ++i)
    step(reading, 5, time);
  EXPECT_FALSE(reading.tries());
  EXPECT_EQ(reading.bytesOf(0), kEachLine);
  EXPECT_EQ(reading.bytesOf(1), 0);
  EXPECT_EQ(reading.bytesOf(2), kEachLine);
  EXPECT_EQ(reading.bytes(ReadAhead::kNoTrial, 1, 2), kEachLine);
  EXPECT_EQ(reading.bytes(ReadAhead::kNoTrial, 1, 3), 0);

  ReadAhead others({1, 0, 0}, reading);
  EXPECT_FALSE(others.tries());
  EXPECT_EQ(others.bytes(others.begin(1), 1, 0), 0);
  EXPECT_EQ(others.bytes(others.begin(1), 1, 1), kEachLine);
}

TEST(ReadAhead, ATrialHasBothWaysAndTheNextTheOther) {
  ReadAhead reading({0, 0, 0, 0}, 1);
  const int first = reading.begin(1), second = reading.begin(1);
  for (size_t launch = 0; launch < 4; ++launch)
    EXPECT_NE(reading.bytes(first, 1, launch), reading.bytes(second, 1, launch));
  EXPECT_NE(reading.bytes(first, 1, 0), reading.bytes(first, 1, 1));
}

TEST(ReadAhead, StepsOfSeveralTokensAreNoTrials) {
  ReadAhead reading({0}, 2);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(reading.begin(2 + i), ReadAhead::kNoTrial);
  EXPECT_TRUE(reading.tries());
  for (int i = 0; i <= ReadAhead::kTrials; ++i)
    step(reading, 1, [](size_t, int64_t ahead, int) { return ahead ? 1u : 2u; });
  EXPECT_EQ(reading.bytes(reading.begin(1), 1, 0), kEachLine);
  EXPECT_EQ(reading.bytes(reading.begin(3), 3, 0), kEachLine) << "few tokens wait as one does";
  EXPECT_EQ(reading.bytes(reading.begin(4), 4, 0), 0)
      << "its tiles ask for lines as they are compiled to";
}

/// First-touch page faults and waits for other threads must not decide a trial.
TEST(ReadAhead, SlowTrialsDoNotCount) {
  for (int spoiled : {0, 1, 7}) {
    ReadAhead reading({0, 0}, 2);
    auto time = [&](size_t launch, int64_t ahead, int trial) {
      const uint64_t disturbed =
          trial == spoiled || trial == spoiled + 1 ? 10000 * (launch + 1) : 0;
      return disturbed + (ahead ? 90 : 100);
    };
    for (int i = 0; i <= ReadAhead::kTrials; ++i)
      step(reading, 2, time);
    EXPECT_EQ(reading.bytesOf(0), kEachLine) << spoiled;
  }
}

/// Covers launches that a specialisation of the program leaves out, and launches in which a thread gets no part.
TEST(ReadAhead, LaunchesThatNeverRanDoNotCount) {
  ReadAhead reading({0, 0, 1}, 2);
  for (int i = 0; i <= ReadAhead::kTrials; ++i)
    if (const int trial = reading.begin(1); trial != ReadAhead::kNoTrial)
      reading.took(trial, 0, 0, reading.bytes(trial, 1, 0) ? 5 : 6);
  EXPECT_EQ(reading.bytesOf(0), kEachLine);
  EXPECT_EQ(reading.bytesOf(1), 0);
}

TEST(ReadAhead, AProgramWithoutLaunches) {
  ReadAhead reading({}, 2);
  EXPECT_EQ(reading.begin(1), ReadAhead::kNoTrial);
}
