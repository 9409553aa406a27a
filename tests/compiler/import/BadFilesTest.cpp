//===- BadFilesTest.cpp - Every bad kind is refused with its own message ----===//
//
// tests/checkpoints has the list of bad files. Each must give exit status 3, a separate code for its kind, and three
// lines with numbers, within 100 ms and 64 MiB.
//===----------------------------------------------------------------------===//
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "tests/Sanitizers.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <set>
#include <sys/resource.h>

using namespace ingot;
using namespace ingot::test;

namespace {

/// Returns whether the text contains a character that a terminal would act on.
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

/// A reason must state a fact with a number in it, except where the fact is the system's message, a path, a name or a
/// type. Digits in a path do not count.
void expectNumber(const Error &error, const std::string &folder) {
  const std::set<std::string> withoutNumber = {"E0200", "E0201", "E0202", "E0260", "E0277",
                                               "E0284", "E0286", "E0292", "E0842"};
  std::string why = error.why;
  for (size_t at; (at = why.find(folder)) != std::string::npos;)
    why.erase(at, folder.size());
  EXPECT_TRUE(withoutNumber.contains(error.code) ||
              why.find_first_of("0123456789") != std::string::npos)
      << error.format();
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
    const std::clock_t start = std::clock(); // CPU time, so a busy machine cannot fail the test
    Result<std::shared_ptr<import::Checkpoint>> opened = import::openCheckpoint(paths[i]);
    [[maybe_unused]] const double took =
        1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, bad.code) << opened.error().format();
    EXPECT_EQ(opened.error().exit, ExitCode::File);
    expectThreeLines(opened.error());
    expectNumber(opened.error(), folder.path(""));
    EXPECT_TRUE(codes.insert(bad.code).second) << "code twice: " << bad.code;
    EXPECT_TRUE(names.insert(bad.name).second);
#if !INGOT_SANITIZED
    EXPECT_LT(took, 100.0) << "milliseconds";
    EXPECT_LT(peakKilobytes() - before, 64 << 10);
#endif
  }
  EXPECT_GE(kinds.size(), atLeast);
}

TEST(BadFiles, EveryGgufKindIsRefused) { refuseAll(badGgufFiles(), 60); }

TEST(BadFiles, EverySafetensorsKindIsRefused) { refuseAll(badSafetensorsFiles(), 40); }

} // namespace
