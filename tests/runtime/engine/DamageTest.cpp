//===- DamageTest.cpp - Truncated files and flipped bits ------------------===//
//
// Hashes and padding checks cover every byte, so no truncated file and no flipped bit may
// pass VerifyLevel::Everything. VerifyLevel::Table does not read the weights: it may accept
// a bit flipped there and nowhere else, and every file that it accepts is safe to inspect.
//===----------------------------------------------------------------------===//
#include "SyntheticEngine.h"

#include "runtime/engine/CodeImage.h"
#include "runtime/engine/Inspect.h"

#include <gtest/gtest.h>
#include <random>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

bool refused(std::string_view bytes, VerifyLevel level) {
  AlignedBytes copy(bytes);
  auto engine = EngineFile::fromMemory(copy.span(), level);
  if (!engine) {
    EXPECT_EQ(engine.error().exit, ExitCode::File);
  }
  return !engine;
}

TEST(Damage, NoCutFileOpens) {
  std::string valid = validEngine();
  std::vector<size_t> lengths = {0, 1, 8, 63, 64, 65, valid.size() - 1, valid.size() - 64};
  for (size_t page = 0; page < valid.size(); page += 4096)
    lengths.insert(lengths.end(), {page, page + 1, page + 4095});
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i)
    lengths.push_back(random() % valid.size());
  for (size_t length : lengths)
    EXPECT_TRUE(refused(std::string_view(valid).substr(0, length), VerifyLevel::Table)) << length;
}

/// The file is truncated, but its header is sealed for the shorter length.
TEST(Damage, NoCutFileWithASealedHeaderOpens) {
  std::string valid = validEngine();
  for (size_t length = 4096; length < valid.size(); length += 512) {
    std::string cut = valid.substr(0, length);
    reinterpret_cast<EngineHeader *>(cut.data())->fileSize = length;
    sealHeader(cut);
    EXPECT_TRUE(refused(cut, VerifyLevel::Table)) << length;
  }
}

TEST(Damage, EveryFlippedBitIsFound) {
  std::string file = validEngine();
  AlignedBytes intact(file);
  auto engine = EngineFile::fromMemory(intact.span(), VerifyLevel::Everything);
  ASSERT_TRUE(engine);
  const fb::Segment *weights = (*engine)->table().segments()->Get(2);
  uint64_t tableBits = 8 * (64 + (*engine)->header().tableSize);
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    // Three of four flips are in the table, the others anywhere in the file.
    size_t bit = random() % (i % 4 ? tableBits : 8 * file.size());
    file[bit / 8] ^= char(1 << bit % 8);
    EXPECT_TRUE(refused(file, VerifyLevel::Everything)) << bit;
    bool inWeights = bit / 8 >= weights->offset() && bit / 8 < weights->offset() + weights->size();
    EXPECT_EQ(refused(file, VerifyLevel::Table), !inWeights) << bit;
    file[bit / 8] ^= char(1 << bit % 8);
  }
}

/// Flips a bit in the table and recomputes the hashes, so only the semantic checks can find it.
TEST(Damage, WhatPassesAfterResealingIsSafeToUse) {
  std::string file = validEngine();
  uint64_t tableBits = 8 * reinterpret_cast<EngineHeader *>(file.data())->tableSize;
  std::mt19937_64 random(3);
  int passed = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string changed = file;
    for (unsigned flips = 1 + random() % 3; flips != 0; --flips) {
      size_t bit = 64 * 8 + random() % tableBits;
      changed[bit / 8] ^= char(1 << bit % 8);
    }
    sealHeader(changed);
    AlignedBytes copy(changed);
    auto engine = EngineFile::fromMemory(copy.span(), VerifyLevel::Everything);
    if (!engine)
      continue;
    ++passed;
    EXPECT_FALSE(inspectText(**engine, {}).empty());
    EXPECT_FALSE(inspectJson(**engine, {}).empty());
    EXPECT_FALSE(inspectHtml(**engine, {}).empty());
    const fb::Program &program = *(*engine)->table().programs()->Get(0);
    for (const fb::Weight *weight : *program.weights())
      EXPECT_EQ((*engine)->weightData(*weight).empty(), weight->source() == fb::WeightSource::Seed);
    EXPECT_TRUE(CodeImage::map(*engine, *program.code()->Get(0)));
  }
  EXPECT_GT(passed, 0); // a changed letter of a name is harmless
}

/// Code objects with flipped bits and correct hashes are refused or mapped without a crash.
TEST(Damage, DamagedCodeNeverCrashesTheLoader) {
  std::string plain = codeObject("plain");
  std::mt19937_64 random(4);
  for (int i = 0; i < 1'500; ++i) {
    std::string file = assemble({}, {}, [&](auto &segments) {
      size_t bit = random() % (8 * (i % 2 ? std::min<size_t>(plain.size(), 1024) : plain.size()));
      segments[0][bit / 8] ^= char(1 << bit % 8);
    });
    AlignedBytes copy(file);
    if (auto engine = EngineFile::fromMemory(copy.span(), VerifyLevel::Everything)) {
      auto image = CodeImage::map(*engine, *(*engine)->table().programs()->Get(0)->code()->Get(0));
      EXPECT_TRUE(image || image.error().code == "E0384");
    }
  }
}

} // namespace
