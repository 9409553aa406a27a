//===- EngineFileTest.cpp - What is read equals what was written ----------===//
#include "SyntheticEngine.h"
#include "tests/SourceDir.h"

#include "runtime/engine/Isa.h"
#include "runtime/engine/Program.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <utility>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

std::string written(const Folder &folder, unsigned variant = 0) {
  std::string path = folder / "model.ingot";
  Synthetic s = syntheticEngine(variant);
  auto result = compiler::writeEngine(path, std::move(s.table), std::move(s.sources));
  EXPECT_TRUE(result) << result.error().format();
  EXPECT_EQ(result->fileBytes, std::filesystem::file_size(path));
  return path;
}

std::span<const std::byte> weightData(const EngineFile &engine, size_t index) {
  return engine.weightData(*engine.table().programs()->Get(0)->weights()->Get(unsigned(index)));
}

TEST(EngineFile, RoundTrip) {
  Folder folder;
  for (VerifyLevel level : {VerifyLevel::Table, VerifyLevel::Everything}) {
    auto engine = EngineFile::open(written(folder), level);
    ASSERT_TRUE(engine) << engine.error().format();
    const fb::Engine &table = (*engine)->table();
    EXPECT_EQ(table.model()->name()->str(), "synthetic");
    const fb::Program &program = *programFor(table, DeviceKind::Cpu);
    EXPECT_EQ(program.weights()->size(), 4u);
    EXPECT_EQ(program.bytes_per_token(), 512u);
    EXPECT_EQ(program.bytes_per_row(), 256u);
    EXPECT_EQ(program.bytes_fixed(), 64u);
    EXPECT_EQ(program.bytes_per_page(), 2u * 2 * 2 * 32 * 32 * 2);
    EXPECT_EQ(generateEntry(program).launches(), 4u);
    EXPECT_EQ((*engine)->chatTemplate(), "{{ messages }}");
    EXPECT_EQ((*engine)->tokenizer().size(), 19u);
    EXPECT_EQ((*engine)->fileBytes() % 4096, 0u);
  }
}

TEST(EngineFile, WeightsAreWhatTheJobsWrote) {
  Folder folder;
  auto engine = EngineFile::open(written(folder, 7));
  ASSERT_TRUE(engine);
  Synthetic expected = syntheticEngine(7);
  const auto &weights = cpuProgram(expected.table).weights;
  for (size_t i = 0; i < weights.size(); ++i) {
    std::span<const std::byte> found = weightData(**engine, i);
    std::vector<std::byte> bytes(weights[i]->size);
    ASSERT_TRUE(expected.sources[2].jobs[i].fill(bytes));
    ASSERT_EQ(found.size(), bytes.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), found.begin())) << i;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found.data()) % 64, 0u);
  }
}

TEST(EngineFile, SeededWeightsTakeNoBytes) {
  Folder folder;
  Synthetic s = seededEngine();
  uint64_t wanted =
      std::exchange(cpuProgram(s.table).seed_bytes, 1); // wrong: the writer corrects it
  auto result = compiler::writeEngine(folder / "e", std::move(s.table), std::move(s.sources));
  ASSERT_TRUE(result) << result.error().format();
  auto engine = EngineFile::open(folder / "e", VerifyLevel::Everything);
  ASSERT_TRUE(engine) << engine.error().format();
  EXPECT_EQ((*engine)->table().seed(), 7u);
  EXPECT_EQ((*engine)->table().programs()->Get(0)->seed_bytes(), wanted);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(weightData(**engine, i).empty());
  EXPECT_EQ(weightData(**engine, 3).size(), 256u);
  EXPECT_EQ((*engine)->table().segments()->Get(2)->size(), 256u);
}

TEST(EngineFile, SegmentsAreOnPages) {
  Folder folder;
  auto engine = EngineFile::open(written(folder));
  ASSERT_TRUE(engine);
  for (size_t i = 0; i < (*engine)->table().segments()->size(); ++i)
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*engine)->segment(i).data()) % 4096, 0u);
}

/// The huge-page advice ("hg" in smaps) covers the mapping, so pages that are not cached yet are read as huge pages.
TEST(EngineFile, AsksForHugePages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "this system has no huge pages";
  Folder folder;
  const std::string path = written(folder);
  auto engine = EngineFile::open(path);
  ASSERT_TRUE(engine);
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  while (std::getline(smaps, line) && line.find(path) == std::string::npos)
    ;
  while (std::getline(smaps, line) && !line.starts_with("VmFlags:"))
    ;
  EXPECT_NE(line.find(" hg"), std::string::npos) << line;
}

TEST(EngineFile, FollowsALinkToARegularFile) {
  Folder folder;
  std::filesystem::create_symlink(written(folder), folder / "link.ingot");
  EXPECT_TRUE(EngineFile::open(folder / "link.ingot"));
}

TEST(EngineFile, StaysUsableWhenReplaced) {
  Folder folder;
  std::string path = written(folder, 0);
  auto old = EngineFile::open(path);
  ASSERT_TRUE(old);
  std::byte before = weightData(**old, 0)[5];
  written(folder, 1);
  auto fresh = EngineFile::open(path, VerifyLevel::Everything);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(weightData(**old, 0)[5], before);
  EXPECT_FALSE(std::equal(weightData(**old, 0).begin(), weightData(**old, 0).end(),
                          weightData(**fresh, 0).begin()));
}

/// Files that ingot 0.1 wrote are reported as such, not as damaged.
TEST(EngineFile, FilesOfFormatOneAreRefused) {
  auto old = EngineFile::open(test::sourceDir() + "/tests/engines/v1.6.ingot");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, "E0305");
  EXPECT_NE(old.error().what.find("was made by ingot 0.1"), std::string::npos);
  EXPECT_EQ(old.error().why, "its format is 1.6, this ingot reads 2.0");
  EXPECT_NE(old.error().fix.find("compile it again: ingot compile MODEL"), std::string::npos);
}

/// Every released version of format 2 stays readable (tests/engines/README.md).
TEST(EngineFile, OldEnginesOpen) {
  int seen = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(test::sourceDir() + "/tests/engines")) {
    if (!entry.path().filename().string().starts_with("v2"))
      continue;
    auto engine = EngineFile::open(entry.path(), VerifyLevel::Everything);
    EXPECT_TRUE(engine) << engine.error().format();
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

CpuFeatures cpu(bool avx2, bool avx512) {
  return {{avx2, /*avxvnni=*/false, avx512, avx512}, "Test CPU"};
}

TEST(PickCode, BestLevelOrTheOneAskedFor) {
  AlignedBytes bytes(validEngine());
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  ASSERT_TRUE(engine);
  const fb::Program &table = *(*engine)->table().programs()->Get(0);
  EXPECT_EQ(*pickCode(table, cpu(true, true)), 1u);
  EXPECT_EQ(*pickCode(table, cpu(true, false)), 0u);
  EXPECT_EQ(*pickCode(table, cpu(true, true), IsaLevel::Avx2), 0u);
  EXPECT_EQ(*pickCode(table, cpu(true, true), IsaLevel::Avx512), 1u);
  EXPECT_EQ(pickCode(table, cpu(true, false), IsaLevel::Avx512).error().code, "E0383");
  EXPECT_EQ(pickCode(table, cpu(false, false)).error().code, "E0381");
}

TEST(PickCode, SaysWhatWasBuiltWhatIsHereAndHowToRebuild) {
  AlignedBytes bytes(assemble([](Table &t) {
    auto &code = cpuProgram(t).code;
    code.erase(code.begin());
  }));
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  ASSERT_TRUE(engine) << engine.error().format();
  auto none = pickCode(*(*engine)->table().programs()->Get(0), cpu(true, false));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().format(), "error[E0381]: the engine does not fit this CPU\n"
                                   "  built for cpu:avx512; this Test CPU runs avx2\n"
                                   "  rebuild it: ingot compile MODEL -o E --target cpu:avx2\n");
  auto pinned = pickCode(*(*engine)->table().programs()->Get(0), cpu(true, true), IsaLevel::Avx2);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().code, "E0382");
  EXPECT_EQ(pinned.error().exit, ExitCode::File);
  EXPECT_NE(pinned.error().fix.find("--target cpu:avx2"), std::string::npos);
}

TEST(Isa, Names) {
  for (IsaLevel level : isaLevels()) {
    EXPECT_EQ(isaLevelNamed(isaName(level)), level);
    EXPECT_EQ(isaLevelNamed(isaTarget(level)), level);
  }
  EXPECT_FALSE(isaLevelNamed("sse2"));
  CpuFeatures host = hostCpu();
  EXPECT_FALSE(host.name.empty());
  EXPECT_TRUE(host.has(IsaLevel::Avx2) || !host.best());
  EXPECT_TRUE(host.has(IsaLevel::Avx512Vnni) || !host.has(IsaLevel::Avx512));
}

} // namespace
