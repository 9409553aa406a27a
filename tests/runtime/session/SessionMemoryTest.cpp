//===- SessionMemoryTest.cpp - Allocation failures on opening a session -----===//
//
// Each allocation that opening makes fails in turn. Each failure must return an error and leak nothing: no memory, no
// descriptors, no mappings.
//===----------------------------------------------------------------------===//
#include "runtime/engine/EngineFile.h"
#include "tests/runtime/sample/AllocationCount.h"
#include "tests/runtime/session/FakeSession.h"

#include <filesystem>
#include <fstream>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class SessionMemoryTest : public FakeSessionTest {
protected:
  struct Held {
    int64_t allocations, descriptors, mappings;
  };

  Held held() {
    Held now{};
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
      ++now.descriptors;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      now.mappings += line.find(path) != line.npos;
    now.allocations = liveAllocations();
    return now;
  }

  /// Fails each allocation of `open` in turn, which returns a Result. Returns the number of failures.
  template <typename Open> int64_t failAtEveryAllocation(Open open) {
    EXPECT_TRUE(open()) << "what is made once is made here";
    Held before = held();
    before = held(); // the stream above may retain memory
    for (int64_t n = 1;; ++n) {
      failAllocation(n);
      bool failed = false;
      {
        auto opened = open();
        failAllocation(0);
        failed = !opened;
        if (failed) {
          EXPECT_EQ(opened.error().code, "E0507") << opened.error().format();
          EXPECT_EQ(opened.error().exit, ExitCode::File);
        }
      }
      Held after = held();
      EXPECT_EQ(after.allocations, before.allocations) << "allocation " << n;
      EXPECT_EQ(after.descriptors, before.descriptors) << "allocation " << n;
      EXPECT_EQ(after.mappings, before.mappings) << "allocation " << n;
      if (!failed)
        return n - 1;
    }
  }
};

TEST_F(SessionMemoryTest, everyAllocationOfTheLoaderMayFail) {
  if (!failAllocation(0))
    GTEST_SKIP() << "a sanitizer brings its own operator new";
  for (VerifyLevel level : {VerifyLevel::Table, VerifyLevel::Everything})
    EXPECT_GT(failAtEveryAllocation([&] { return EngineFile::open(path, level); }), 10);
}

TEST_F(SessionMemoryTest, everyAllocationOfOpeningASessionMayFail) {
  if (!failAllocation(0))
    GTEST_SKIP() << "a sanitizer brings its own operator new";
  SessionOptions options;
  options.threads = 2;
  options.maxSeqs = 3;
  EXPECT_GT(failAtEveryAllocation([&] { return Session::open(path, options); }), 50);
}

} // namespace
