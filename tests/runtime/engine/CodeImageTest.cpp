//===- CodeImageTest.cpp - Native code from an engine ---------------------===//
#include "SyntheticEngine.h"

#include "runtime/engine/CodeImage.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

Result<std::shared_ptr<CodeImage>> mapCode(std::shared_ptr<EngineFile> engine, unsigned index) {
  const fb::CodeObject &code = *engine->table().programs()->Get(0)->code()->Get(index);
  return CodeImage::map(std::move(engine), code);
}

/// Generated code is not preceded by the type signature that -fsanitize=function checks.
__attribute__((no_sanitize("function"))) void call(KernelFn kernel, void *const *args, int64_t end,
                                                   char *scratch) {
  BatchView batch{};
  kernel(args, &batch, 0, end, 1, scratch, 0);
}

void expectKernelWorks(const std::shared_ptr<CodeImage> &image) {
  float in[3] = {1, 2, 3}, out[3] = {};
  void *args[] = {in, out};
  call(image->kernel(0), args, 3, nullptr);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[2], 7);
  char scratch[1] = {};
  call(image->kernel(1), args, 9, scratch);
  EXPECT_EQ(scratch[0], 9);
}

/// Returns the protections of the pages at an address, as in /proc/self/maps: "r-xp".
std::vector<std::string> protections(const void *from, uint64_t bytes) {
  std::vector<std::string> list;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin, end;
    char mode[5];
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, mode) == 3 &&
        end > reinterpret_cast<uintptr_t>(from) &&
        begin < reinterpret_cast<uintptr_t>(from) + bytes)
      list.push_back(mode);
  }
  return list;
}

class CodeImages : public testing::TestWithParam<const char *> {};

TEST_P(CodeImages, RunFromTheFileAndFromMemory) {
  std::string bytes = assemble({}, {}, [](auto &segments) {
    segments[0] = codeObject(GetParam());
    segments[1] = codeObject(GetParam());
  });
  Folder folder;
  writeFile(folder / "e", bytes);
  AlignedBytes copy(bytes);
  auto mapped = EngineFile::open(folder / "e");
  auto inMemory = EngineFile::fromMemory(copy.span(), VerifyLevel::Everything);
  ASSERT_TRUE(mapped) << mapped.error().format();
  ASSERT_TRUE(inMemory);
  for (const std::shared_ptr<EngineFile> &engine : {*mapped, *inMemory}) {
    auto image = mapCode(engine, 1);
    ASSERT_TRUE(image) << image.error().format();
    expectKernelWorks(*image);
    auto symbol = (*image)->symbol("attend");
    ASSERT_TRUE(symbol);
    EXPECT_EQ(*symbol, (*image)->kernel(1));
  }
}
INSTANTIATE_TEST_SUITE_P(Linkages, CodeImages, testing::Values("plain", "sysv", "gnu", "apart"));

TEST(CodeImage, NothingIsWritableAndOneMappingRuns) {
  AlignedBytes copy(validEngine());
  Folder folder;
  writeFile(folder / "e", validEngine());
  auto mapped = EngineFile::open(folder / "e");
  auto inMemory = EngineFile::fromMemory(copy.span(), VerifyLevel::Table);
  ASSERT_TRUE(mapped && inMemory);
  for (const std::shared_ptr<EngineFile> &engine : {*mapped, *inMemory}) {
    auto image = mapCode(engine, 0);
    ASSERT_TRUE(image);
    bool runs = false;
    auto *page = reinterpret_cast<const std::byte *>(
        reinterpret_cast<uintptr_t>((*image)->kernel(0)) & ~uintptr_t(4095));
    for (const std::string &mode : protections(page, 1)) {
      EXPECT_EQ(mode[1], '-') << mode;
      runs |= mode[2] == 'x';
    }
    EXPECT_TRUE(runs);
  }
}

TEST(CodeImage, OutlivesTheCallersEngine) {
  Folder folder;
  writeFile(folder / "e", validEngine());
  auto engine = EngineFile::open(folder / "e");
  ASSERT_TRUE(engine);
  auto image = mapCode(*engine, 0);
  ASSERT_TRUE(image);
  engine->reset();
  expectKernelWorks(*image);
}

TEST(CodeImage, UnknownSymbol) {
  AlignedBytes copy(validEngine());
  auto engine = EngineFile::fromMemory(copy.span(), VerifyLevel::Table);
  ASSERT_TRUE(engine);
  auto image = mapCode(*engine, 0);
  ASSERT_TRUE(image);
  auto symbol = (*image)->symbol("nothing");
  ASSERT_FALSE(symbol);
  EXPECT_EQ(symbol.error().code, "E0385");
}

} // namespace
