//===- CrashTest.cpp - kill -9 at any moment leaves a complete engine --------===//
#include "SyntheticEngine.h"

#include <csignal>
#include <gtest/gtest.h>
#include <random>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

Result<WriteResult> writeVariant(const std::string &path, unsigned variant) {
  Synthetic s = syntheticEngine(variant);
  return writeEngine(path, std::move(s.table), std::move(s.sources));
}

TEST(Crash, KillAtAnyMomentLeavesTheOldOrTheNewFile) {
  Folder folder;
  std::string path = folder / "e", one = validEngine(0), two = validEngine(1);
  ASSERT_TRUE(writeVariant(path, 0));
  std::mt19937 random(5);
  int leftovers = 0;
  for (int i = 0; i < 200; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      for (unsigned variant = 1;; ++variant)
        if (!writeVariant(path, variant % 2))
          ::_exit(1);
    }
    ::usleep(random() % 12'000);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    std::string found = readFile(path);
    ASSERT_TRUE(found == one || found == two) << i;
    leftovers = std::max<int>(leftovers, folder.names().size() - 1);
  }
  EXPECT_GT(leftovers, 0); // some writers were killed while writing
  EXPECT_LE(leftovers, 1); // the next run removes old leftovers
  ASSERT_TRUE(writeVariant(path, 0));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

/// Temporary files of running writers are not removed, whatever their age.
TEST(Crash, ALivingWriterKeepsItsTemporaryFile) {
  Folder folder;
  Synthetic s = syntheticEngine(0);
  bool otherDone = false;
  s.sources[2].jobs[0].fill = [&](std::span<std::byte>) {
    otherDone = bool(writeVariant(folder / "other", 1)); // cleans up the folder meanwhile
    return Result<void>();
  };
  EXPECT_TRUE(writeEngine(folder / "e", std::move(s.table), std::move(s.sources)));
  EXPECT_TRUE(otherDone);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"e", "other"}));
}

TEST(Crash, OnlyAbandonedTemporaryFilesAreRemoved) {
  Folder folder;
  writeFile(folder / ".e.0123456789abcdef.ingot-tmp", "left by a dead writer");
  writeFile(folder / "e.ingot-tmp", "not ours: no leading dot");
  writeFile(folder / ".hidden", "not ours");
  ASSERT_TRUE(writeVariant(folder / "e", 0));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{".hidden", "e", "e.ingot-tmp"}));
}

/// Tests a disk that is really full, if the system allows mounting a small one.
TEST(Crash, FullDisk) {
  Folder folder;
  std::string old = validEngine(0);
  std::string room =
      "size=" + std::to_string(old.size() * 3 / 2); // room for one and a half engines
  pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("ingot", folder.path.c_str(), "tmpfs", 0, room.c_str()) != 0)
      ::_exit(77);
    std::string path = folder / "e";
    writeFile(path, old);
    auto result = writeVariant(path, 1);
    bool ok = !result && result.error().code == "E0392" && readFile(path) == old &&
              folder.names().size() == 1;
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "no right to mount a file system here";
  EXPECT_EQ(status, 0);
}

} // namespace
