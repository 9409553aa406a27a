//===- EngineWriterTest.cpp - The same bytes, or an error and the old file ===//
#include "SyntheticEngine.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

Result<WriteResult> write(const std::string &path, unsigned variant = 0,
                          WriteOptions options = {}) {
  Synthetic s = syntheticEngine(variant);
  return writeEngine(path, std::move(s.table), std::move(s.sources), options);
}

/// Runs `what` in a child process and returns its result.
bool holdsInChild(const std::function<bool()> &what) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(what() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(EngineWriter, SameBytesWhateverThreadsFolderAndName) {
  Folder a, b;
  ASSERT_TRUE(write(a / "one.ingot", 0, {.threads = 1}));
  ASSERT_TRUE(write(b / "another name", 0, {.threads = 2}));
  ASSERT_TRUE(write(b / "third", 0, {.threads = 7}));
  std::string bytes = readFile(a / "one.ingot");
  EXPECT_EQ(bytes, readFile(b / "another name"));
  EXPECT_EQ(bytes, readFile(b / "third"));
  EXPECT_NE(bytes, validEngine(1));
  EXPECT_EQ(bytes.find(a.path), bytes.npos);
}

TEST(EngineWriter, ReplacesAndLeavesNothingBehind) {
  Folder folder;
  ASSERT_TRUE(write(folder / "e", 0));
  ASSERT_TRUE(write(folder / "e", 1));
  EXPECT_EQ(readFile(folder / "e"), validEngine(1));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

TEST(EngineWriter, WorksInTheCurrentFolder) {
  Folder folder;
  EXPECT_TRUE(holdsInChild([&] { return ::chdir(folder.path.c_str()) == 0 && bool(write("e")); }));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

TEST(EngineWriter, LongNames) {
  Folder folder;
  std::string name(250, 'n');
  EXPECT_TRUE(write(folder / name));
  EXPECT_EQ(folder.names(), std::vector<std::string>{name});
}

TEST(EngineWriter, UncoveredBytesAreZero) {
  Folder folder;
  Synthetic s = syntheticEngine();
  s.sources[2].jobs.erase(s.sources[2].jobs.begin() + 1);
  ASSERT_TRUE(writeEngine(folder / "e", std::move(s.table), std::move(s.sources)));
  auto engine = EngineFile::open(folder / "e", VerifyLevel::Everything);
  ASSERT_TRUE(engine);
  for (std::byte b :
       (*engine)->weightData(*(*engine)->table().programs()->Get(0)->weights()->Get(1)))
    ASSERT_EQ(b, std::byte{0});
}

TEST(EngineWriter, JobsGetZeroedAlignedMemoryAndProgressIsMonotonic) {
  Folder folder;
  Synthetic s = syntheticEngine();
  std::atomic<int> bad = 0;
  for (FillJob &job : s.sources[2].jobs)
    job.fill = [&bad, fill = job.fill](std::span<std::byte> to) {
      bad += reinterpret_cast<uintptr_t>(to.data()) % 64 != 0;
      for (std::byte b : to)
        bad += b != std::byte{0};
      return fill(to);
    };
  uint64_t last = 0, total = 0;
  WriteOptions options{.threads = 3, .progress = [&](uint64_t done, uint64_t all) {
                         EXPECT_GE(done, last);
                         last = done;
                         total = all;
                       }};
  ASSERT_TRUE(writeEngine(folder / "e", std::move(s.table), std::move(s.sources), options));
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 0u);
  EXPECT_EQ(readFile(folder / "e"), validEngine());
}

TEST(EngineWriter, ErrorOfAJobLeavesTheOldFile) {
  Folder folder;
  ASSERT_TRUE(write(folder / "e", 0));
  for (int threads : {1, 4}) {
    Synthetic s = syntheticEngine(1);
    s.sources[2].jobs[2].fill = [](std::span<std::byte>) -> Result<void> {
      return Error{ExitCode::File, "E0299", "a tensor has a NaN scale", "", ""};
    };
    auto result =
        writeEngine(folder / "e", std::move(s.table), std::move(s.sources), {.threads = threads});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "E0299");
    EXPECT_EQ(readFile(folder / "e"), validEngine(0));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
  }
}

TEST(EngineWriter, RefusesToMakeWhatTheLoaderRefuses) {
  Folder folder;
  ASSERT_TRUE(write(folder / "e", 0));
  std::vector<std::function<void(Synthetic &)>> mistakes = {
      [](Synthetic &s) { cpuProgram(s.table).weights[0]->size -= 64; },
      [](Synthetic &s) { entryOf(cpuProgram(s.table)).outputs[0]->buffer = 9; },
      [](Synthetic &s) { entryOf(cpuProgram(s.table)).steps[0]->section = 9; },
      [](Synthetic &s) { s.table.model.reset(); },
      [](Synthetic &s) { cpuProgram(s.table).buffers[0]->offset = uint64_t(-64); },
      [](Synthetic &s) { s.sources[4].size = 0; },
      [](Synthetic &s) { s.sources[2].jobs[1].offset += 64; },
      [](Synthetic &s) { s.sources[2].jobs[0].size = uint64_t(-1); },
      [](Synthetic &s) { s.sources[0] = segmentOf(fb::SegmentKind::Code, codeObject("data")); },
  };
  for (auto &mistake : mistakes) {
    Synthetic s = syntheticEngine(1);
    mistake(s);
    auto result = writeEngine(folder / "e", std::move(s.table), std::move(s.sources));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "E0399") << result.error().format();
    EXPECT_EQ(result.error().exit, ExitCode::Internal);
  }
  EXPECT_EQ(readFile(folder / "e"), validEngine(0));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

TEST(EngineWriter, PlacesThatCannotBeWritten) {
  Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(write(folder / "missing/e").error().code, "E0390");
  EXPECT_EQ(write(folder.path).error().code, "E0391");
  EXPECT_EQ(write(folder / "pipe").error().code, "E0391");
  EXPECT_EQ(write("/dev/null").error().code, "E0391");
  EXPECT_EQ(write(folder.path + "/").error().code, "E0391");
}

TEST(EngineWriter, ReadOnlyFolder) {
  Folder folder;
  ASSERT_TRUE(write(folder / "e", 0));
  ASSERT_EQ(::chmod(folder.path.c_str(), 0555), 0);
  Synthetic s = syntheticEngine(1); // read now: the other user may lack access to the build folder
  EXPECT_TRUE(holdsInChild([&] {
    // Root may write anywhere, so switch to another user.
    if (::geteuid() == 0 && ::seteuid(65534) != 0)
      return false;
    auto result = writeEngine(folder / "e", std::move(s.table), std::move(s.sources));
    return !result && result.error().code == "E0390" && result.error().exit == ExitCode::File;
  }));
  ::chmod(folder.path.c_str(), 0755);
  EXPECT_EQ(readFile(folder / "e"), validEngine(0));
}

TEST(EngineWriter, NoSpaceIsFoundBeforeAnyWork) {
  Folder folder;
  ASSERT_TRUE(write(folder / "e", 0));
  EXPECT_TRUE(holdsInChild([&] {
    rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Synthetic s = syntheticEngine(1);
    bool worked = false;
    s.sources[2].jobs[0].fill = [&](std::span<std::byte>) {
      worked = true;
      return Result<void>();
    };
    auto result = writeEngine(folder / "e", std::move(s.table), std::move(s.sources));
    return !result && result.error().code == "E0392" && !worked;
  }));
  EXPECT_EQ(readFile(folder / "e"), validEngine(0));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

TEST(EngineWriter, AWriteThatFailsMidwayLeavesTheOldFile) {
  Folder folder;
  ASSERT_TRUE(write(folder / "e", 0));
  EXPECT_TRUE(holdsInChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    Synthetic s = syntheticEngine(1);
    s.sources[2].jobs[1].fill = [](std::span<std::byte>) {
      rlimit limit{4096, 4096};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      return Result<void>();
    };
    auto result = writeEngine(folder / "e", std::move(s.table), std::move(s.sources));
    return !result && result.error().code == "E0392";
  }));
  EXPECT_EQ(readFile(folder / "e"), validEngine(0));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

TEST(EngineWriter, WritersToOnePathAtOnce) {
  Folder folder;
  std::vector<std::string> possible = {validEngine(0), validEngine(1), validEngine(2)};
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> writers;
    for (unsigned variant = 0; variant < 3; ++variant)
      writers.emplace_back([&, variant] {
        for (int i = 0; i < 15; ++i)
          failed += !write(folder / "e", variant, {.threads = 2});
      });
  }
  EXPECT_EQ(failed, 0);
  EXPECT_NE(std::find(possible.begin(), possible.end(), readFile(folder / "e")), possible.end());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"e"});
}

/// This is not a test. It writes the files that tests/engines/README.md describes.
TEST(EngineWriter, DISABLED_KeepsEngines) {
  writeFile("v2.0-cpu.ingot", assemble(withMaxima));
  writeFile("v2.0-seed.ingot", assemble(seedMatrices));
  writeFile("v2.0-gpu.ingot", assemble([](Table &t) {
              withCluster(t);
              withShares(t);
              withIds(withGpuProgram(t));
              for (auto &code : withGpuProgram(t).code)
                *code->variants[1]->variants[0]->x = {fb::GridBase::Constant, 1, 1};
            }));
}

} // namespace
