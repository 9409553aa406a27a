//===- CodeCacheTest.cpp - Lookups return stored bytes or nothing ---------===//
#include "compiler/files/CodeCache.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ingot;
using namespace ingot::compiler;
namespace fs = std::filesystem;

namespace {

struct CodeCacheTest : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("ingot-code-cache-" + std::to_string(getpid()));
  ~CodeCacheTest() override { fs::remove_all(folder); }

  CodeCache open() {
    auto cache = CodeCache::open(folder.string());
    EXPECT_TRUE(cache) << cache.error().format();
    return std::move(*cache);
  }
  static CodeCache::Key keyOf(const std::vector<std::string> &texts) {
    return CodeCache::keyOf(texts);
  }
};

TEST_F(CodeCacheTest, KeysTellListsApart) {
  EXPECT_EQ(keyOf({"ab", "c"}).hex(), keyOf({"ab", "c"}).hex());
  EXPECT_EQ(keyOf({"ab", "c"}).hex().size(), 32u);
  for (const std::vector<std::string> &other : std::vector<std::vector<std::string>>{
           {"a", "bc"}, {"abc"}, {"c", "ab"}, {"ab", "c", ""}, {}})
    EXPECT_NE(keyOf({"ab", "c"}).hex(), keyOf(other).hex());
}

TEST_F(CodeCacheTest, WhatWasStoredComesBack) {
  const std::string bytes("\0code\n\xff", 7);
  {
    CodeCache cache = open();
    EXPECT_EQ(cache.lookup(keyOf({"k"})), std::nullopt);
    EXPECT_TRUE(cache.store(keyOf({"k"}), bytes));
    EXPECT_TRUE(cache.store(keyOf({"nothing"}), ""));
  }
  CodeCache cache = open();
  EXPECT_EQ(cache.lookup(keyOf({"k"})), bytes);
  EXPECT_EQ(cache.lookup(keyOf({"nothing"})), "");
  EXPECT_EQ(cache.lookup(keyOf({"other"})), std::nullopt);
  EXPECT_EQ(cache.found(), 2);
  EXPECT_EQ(cache.damaged(), 0);
}

TEST_F(CodeCacheTest, EveryChangedOrMissingByteIsDamage) {
  CodeCache cache = open();
  const CodeCache::Key key = keyOf({"k"});
  ASSERT_TRUE(cache.store(key, "generated code"));
  const fs::path path = folder / "code" / key.hex();
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  auto isDamaged = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    int before = cache.damaged();
    return !cache.lookup(key) && cache.damaged() == before + 1;
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    EXPECT_TRUE(isDamaged(changed)) << "byte " << i;
    EXPECT_TRUE(isDamaged(whole.substr(0, i))) << "cut to " << i;
  }
  EXPECT_TRUE(isDamaged(whole + '\0'));
  EXPECT_TRUE(cache.store(key, "generated code"));
  EXPECT_EQ(cache.lookup(key), "generated code");
}

TEST_F(CodeCacheTest, AFileUnderAnothersNameIsDamage) {
  CodeCache cache = open();
  ASSERT_TRUE(cache.store(keyOf({"a"}), "code of a"));
  fs::copy(folder / "code" / keyOf({"a"}).hex(), folder / "code" / keyOf({"b"}).hex());
  EXPECT_EQ(cache.lookup(keyOf({"b"})), std::nullopt);
  EXPECT_EQ(cache.damaged(), 1);
}

TEST_F(CodeCacheTest, WritersAndReadersShareAFolder) {
  const CodeCache::Key key = keyOf({"shared"});
  const std::string bytes(300'000, 'x');
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      CodeCache cache = open();
      for (int round = 0; round < 10; ++round) {
        EXPECT_TRUE(cache.store(key, bytes));
        EXPECT_EQ(cache.lookup(key), bytes);
      }
      EXPECT_EQ(cache.damaged(), 0);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CodeCacheTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder.string()) << "a file";
  auto cache = CodeCache::open(folder.string());
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().code, "E0431");
}

} // namespace
