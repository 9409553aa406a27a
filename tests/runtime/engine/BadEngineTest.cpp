//===- BadEngineTest.cpp - Every kind of bad engine has its own error -----===//
//
// Expects exactly one code of Verify.h for each engine of BadEngines.h. A new check needs
// a row there: `EveryCodeIsTested` compares the rows with the list in Verify.h.
//===----------------------------------------------------------------------===//
#include "BadEngines.h"
#include "tests/Sanitizers.h"
#include "tests/SourceDir.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace ingot::test {
/// Prints the name of a failing row.
static void PrintTo(const BadEngine &bad, std::ostream *out) { *out << bad.name; }
} // namespace ingot::test

namespace {

void expectThreeLines(const Error &error) {
  EXPECT_EQ(error.exit, ExitCode::File);
  std::string text = error.format();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_FALSE(error.why.empty());
  EXPECT_FALSE(error.fix.empty());
}

class Kinds : public testing::TestWithParam<BadEngine> {};

TEST_P(Kinds, IsRefusedWithItsCode) {
  const BadEngine &bad = GetParam();
  Folder folder;
  writeFile(folder / "bad.ingot", bad.bytes());
  auto engine = EngineFile::open(folder / "bad.ingot", VerifyLevel::Everything);
  ASSERT_FALSE(engine) << bad.name;
  EXPECT_EQ(engine.error().code, bad.code) << engine.error().format();
  expectThreeLines(engine.error());
}
INSTANTIATE_TEST_SUITE_P(BadEngine, Kinds, testing::ValuesIn(badEngines()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(BadEngines, TheUnspoiledOneIsFine) {
  AlignedBytes file(assemble({}));
  EXPECT_TRUE(EngineFile::fromMemory(file.span(), VerifyLevel::Everything));
  AlignedBytes seeded(assemble(seedMatrices));
  EXPECT_TRUE(EngineFile::fromMemory(seeded.span(), VerifyLevel::Everything));
}

TEST(BadEngines, TheUnspoiledOneForAGpuIsFine) {
  AlignedBytes file(assemble([](Table &t) { withGpuProgram(t); }));
  auto engine = EngineFile::fromMemory(file.span(), VerifyLevel::Everything);
  EXPECT_TRUE(engine) << engine.error().format();
}

TEST(BadEngines, TheUnspoiledOneWithAClusterIsFine) {
  AlignedBytes file(assemble(withCluster));
  auto engine = EngineFile::fromMemory(file.span(), VerifyLevel::Everything);
  EXPECT_TRUE(engine) << engine.error().format();
}

TEST(BadEngines, TheUnspoiledOneWithSharesIsFine) {
  AlignedBytes file(assemble(withShares));
  auto engine = EngineFile::fromMemory(file.span(), VerifyLevel::Everything);
  EXPECT_TRUE(engine) << engine.error().format();
}

TEST(BadEngines, EveryCodeIsTested) {
  std::set<std::string> listed, tested = {"E0301", "E0302", "E0314"}; // below
  for (const BadEngine &bad : badEngines())
    tested.insert(bad.code);
  std::string verify = readFile(test::sourceDir() + "/runtime/engine/Verify.h");
  verify.resize(verify.find("//   Load "));
  for (size_t at = verify.find("E03"); at != verify.npos; at = verify.find("E03", at + 1))
    listed.insert(verify.substr(at, 5));
  for (size_t at = verify.find("E08"); at != verify.npos; at = verify.find("E08", at + 1))
    listed.insert(verify.substr(at, 5));
  EXPECT_EQ(listed, tested);
  EXPECT_GE(badEngines().size(), 60u);
}

TEST(BadEngines, MissingFile) {
  auto engine = EngineFile::open("/nowhere/model.ingot");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, "E0301");
  expectThreeLines(engine.error());
}

TEST(BadEngines, PipesDevicesAndFoldersAreRefusedAtOnce) {
  Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/zero", (folder / "link").c_str()), 0);
  for (const std::string &path :
       {folder / "pipe", folder / "link", folder.path, std::string("/dev/zero")}) {
    auto engine = EngineFile::open(path);
    ASSERT_FALSE(engine) << path;
    EXPECT_EQ(engine.error().code, "E0302") << path;
    expectThreeLines(engine.error());
  }
}

TEST(BadEngines, GgufIsNamed) {
  Folder folder;
  writeFile(folder / "m.gguf", "GGUF" + std::string(100, '\0'));
  auto engine = EngineFile::open(folder / "m.gguf");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().fix, "ingot compile " + (folder / "m.gguf") + " -o E");
}

/// Limits the address space, which sanitizers need.
TEST(BadEngines, NoAddressSpace) {
#if INGOT_SANITIZED
  GTEST_SKIP() << "the address space cannot be limited under a sanitizer";
#endif
  Folder folder;
  std::ofstream(folder / "big").put('x');
  ASSERT_EQ(::truncate((folder / "big").c_str(), off_t(1) << 38), 0); // sparse
  pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{rlim_t(1) << 34, rlim_t(1) << 34};
    ::setrlimit(RLIMIT_AS, &limit);
    auto engine = EngineFile::open(folder / "big");
    ::_exit(!engine && engine.error().code == "E0314" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
