//===- SplitGgufTest.cpp - One model in several GGUF files ----------------===//
#include "compiler/import/containers/SplitGguf.h"
#include "compiler/import/OpenCheckpoint.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

class SplitGguf : public testing::Test {
protected:
  std::shared_ptr<Checkpoint> open(const CheckpointFiles &files) {
    auto opened = openCheckpoint(writeCheckpoint(files, temporary.path(files.name)));
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().format());
    return opened ? *opened : nullptr;
  }
  Error errorOf(const CheckpointFiles &files) {
    auto opened = openCheckpoint(writeCheckpoint(files, temporary.path(files.name)));
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }

  TemporaryFolder temporary;
};

TEST(SplitName, TakenApartAndPutTogether) {
  auto name = splitName("Qwen3-00002-of-00010.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "Qwen3");
  EXPECT_EQ(name->number, 2);
  EXPECT_EQ(name->count, 10);
  EXPECT_EQ(name->file(), "Qwen3-00002-of-00010.gguf");
  for (const char *other :
       {"m.gguf", "-00001-of-00002.gguf", "m-1-of-2.gguf", "m-00003-of-00002.gguf",
        "m-00000-of-00002.gguf", "m-0000a-of-00002.gguf", "m-00001-of-00002.ggug",
        "m-+0001-of-00002.gguf", "m_00001-of-00002.gguf", "m-00001-if-00002.gguf"})
    EXPECT_FALSE(splitName(other)) << other;
}

// The model opens by any of its parts, and by the folder.
TEST_F(SplitGguf, OpensAsOneModel) {
  CheckpointFiles files = validSplitGguf();
  std::string hash;
  for (const char *named : {"m-00001-of-00003.gguf", "m-00003-of-00003.gguf", ""}) {
    files.open = named;
    auto checkpoint = open(files);
    ASSERT_TRUE(checkpoint) << named;
    EXPECT_EQ(checkpoint->architecture, "llama");
    EXPECT_EQ(checkpoint->name, "Tiny");
    ASSERT_EQ(checkpoint->tensors.size(), 3u);
    EXPECT_EQ(checkpoint->find("c")->shape, (std::vector<int64_t>{2, 16}));
    EXPECT_EQ(*checkpoint->integer("llama.block_count"), 7);
    EXPECT_TRUE(hash.empty() || hash == checkpoint->contentHash);
    hash = checkpoint->contentHash;
    for (const std::string &key : checkpoint->unusedKeys())
      EXPECT_FALSE(key.starts_with("split.")) << key;
  }
}

TEST_F(SplitGguf, AMissingPartIsNamed) {
  CheckpointFiles files = validSplitGguf();
  for (const char *part : {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf"}) {
    CheckpointFiles without = files;
    without.files.erase(part);
    without.open = "m-00003-of-00003.gguf";
    Error error = errorOf(without);
    EXPECT_EQ(error.code, "E0840");
    EXPECT_NE(error.why.find(part), std::string::npos) << error.format();
  }
}

TEST_F(SplitGguf, PartsMustBelongTogether) {
  const CheckpointFiles files = validSplitGguf();
  const std::string second = "m-00002-of-00003.gguf", third = "m-00003-of-00003.gguf";
  CheckpointFiles swapped = files;
  std::swap(swapped.files[second], swapped.files[third]);
  EXPECT_EQ(errorOf(swapped).code, "E0841");
  CheckpointFiles other = files;
  other.files[third] = validSplitGguf(/*tensors=*/4).files[third];
  EXPECT_EQ(errorOf(other).code, "E0841");
  EXPECT_EQ(errorOf(validSplitGguf(/*tensors=*/4)).code, "E0841") << "one is nowhere";
  // Two parts of a three-part model are named like the parts of a model of two.
  CheckpointFiles fewer{.name = "fewer", .open = "m-00001-of-00002.gguf"};
  fewer.files = {{"m-00001-of-00002.gguf", files.files.at("m-00001-of-00003.gguf")},
                 {"m-00002-of-00002.gguf", files.files.at(second)}};
  EXPECT_EQ(errorOf(fewer).code, "E0841");
}

TEST_F(SplitGguf, APartUnderAnotherName) {
  CheckpointFiles files = validSplitGguf();
  files.files = {{"part.gguf", files.files["m-00002-of-00003.gguf"]}};
  files.open = "part.gguf";
  Error error = errorOf(files);
  EXPECT_EQ(error.code, "E0259");
  EXPECT_NE(error.fix.find("NAME-00002-of-00003.gguf"), std::string::npos) << error.format();
}

/// Covers files as llama-gguf-split --merge leaves them and as other programs change them, with any integer type and
/// under any name.
TEST_F(SplitGguf, OneFileThatWasMerged) {
  const std::string number[] = {little<uint8_t>(0),  little<int8_t>(0),   little<uint16_t>(0),
                                little<int16_t>(0),  little<uint32_t>(0), little<int32_t>(0),
                                little<uint64_t>(0), little<int64_t>(0)};
  const uint32_t types[] = {0, 1, 2, 3, 4, 5, 10, 11};
  for (size_t i = 0; i < std::size(types); ++i)
    for (char count : {0, 1})
      for (const char *name : {"m.gguf", "m-00001-of-00001.gguf", "m-00001-of-00003.gguf"}) {
        GgufImage image = GgufImage::valid();
        std::string counted = number[i];
        counted[0] = count;
        image.entries.push_back(ggufEntry("split.no", types[i], number[i]));
        image.entries.push_back(ggufEntry("split.count", types[i], counted));
        image.entries.push_back(ggufEntry("split.tensors.count", types[i], number[i]));
        CheckpointFiles files{.name = "merged", .open = name, .files = {{name, image.bytes()}}};
        auto checkpoint = open(files);
        ASSERT_TRUE(checkpoint) << types[i] << " " << name;
        EXPECT_EQ(checkpoint->tensors.size(), 3u);
        for (const std::string &key : checkpoint->unusedKeys())
          EXPECT_FALSE(key.starts_with("split.")) << key;
        files.open = "";
        EXPECT_TRUE(open(files)) << "by its folder: " << name;
      }
  // Other split keys refer to the parts that were merged. Without a count, the model is not split.
  GgufImage left = GgufImage::valid(), odd = left;
  left.entries.push_back(ggufEntry("split.no", 5, little<int32_t>(-7)));
  left.entries.push_back(ggufEntry("split.tensors.count", 8, ggufText("many")));
  EXPECT_TRUE(open({.name = "left", .open = "m.gguf", .files = {{"m.gguf", left.bytes()}}}));
  odd.entries.push_back(ggufEntry("split.count", 8, ggufText("one")));
  const Error error =
      errorOf({.name = "odd", .open = "m.gguf", .files = {{"m.gguf", odd.bytes()}}});
  EXPECT_EQ(error.code, "E0841");
  EXPECT_EQ(error.fix.find("download"), std::string::npos) << error.fix;
}

TEST_F(SplitGguf, PartsDoNotLeaveTheirFolder) {
  CheckpointFiles files = validSplitGguf();
  files.files.erase("m-00002-of-00003.gguf");
  files.links["m-00002-of-00003.gguf"] = "/dev/zero";
  EXPECT_EQ(errorOf(files).code, "E0286");
}

} // namespace
