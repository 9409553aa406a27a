//===- CheckpointTest.cpp - Typed look-ups and the record of used keys ----===//
#include "compiler/import/checkpoint/CheckpointBuilder.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;

namespace {

std::shared_ptr<Checkpoint> example() {
  CheckpointBuilder builder(Container::Gguf);
  const std::pair<const char *, MetaValue> entries[] = {
      {"flag", true},
      {"general.license", std::string("mit")},
      {"general.tags", MetaArray(std::vector<std::string>{"a"})},
      {"integer", int64_t(42)},
      {"nothing", std::monostate()},
      {"number", 0.5},
      {"text", std::string("abc")}};
  for (const auto &[key, value] : entries)
    EXPECT_TRUE(builder.addMetadata(key, value));
  return builder.finish("");
}

TEST(Checkpoint, TypedLookUps) {
  auto checkpoint = example();
  EXPECT_EQ(*checkpoint->integer("integer"), 42);
  EXPECT_EQ(*checkpoint->number("integer"), 42.0);
  EXPECT_EQ(*checkpoint->number("number"), 0.5);
  EXPECT_EQ(*checkpoint->string("text"), "abc");
  EXPECT_EQ(*checkpoint->boolean("flag"), true);
  EXPECT_EQ(*checkpoint->integerOr("missing", 5), 5);
  EXPECT_EQ(*checkpoint->integerOr("integer", 5), 42);
  EXPECT_EQ(*checkpoint->numberOr("missing", 1.5), 1.5);
  EXPECT_EQ(*checkpoint->booleanOr("flag", false), true);
  EXPECT_EQ(checkpoint->array("text"), nullptr);
  EXPECT_NE(checkpoint->array("general.tags"), nullptr);
}

TEST(Checkpoint, NullIsAsGoodAsMissing) {
  auto checkpoint = example();
  EXPECT_FALSE(checkpoint->has("nothing"));
  EXPECT_EQ(*checkpoint->integerOr("nothing", 3), 3);
  EXPECT_EQ(checkpoint->integer("nothing").error().code, "E0206");
}

TEST(Checkpoint, ErrorsNameKeyAndTypes) {
  auto checkpoint = example();
  Result<int64_t> wrong = checkpoint->integer("text");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "E0207");
  EXPECT_NE(wrong.error().what.find("'text'"), std::string::npos);
  EXPECT_EQ(wrong.error().why, "found the string 'abc', expected an integer");
  EXPECT_EQ(checkpoint->integer("number").error().code, "E0207");
  EXPECT_EQ(checkpoint->integerOr("text", 3).error().code, "E0207");
  EXPECT_EQ(checkpoint->string("missing").error().code, "E0206");
  EXPECT_EQ(checkpoint->boolean("integer").error().why, "found the integer 42, expected a boolean");
}

TEST(Checkpoint, UnusedKeysAreThoseNobodyAskedFor) {
  auto checkpoint = example();
  EXPECT_EQ(checkpoint->unusedKeys().size(), 6u) << "null says nothing";
  (void)checkpoint->integer("integer");
  (void)checkpoint->numberOr("number", 0);
  (void)checkpoint->has("text"); // has() does not count as use
  checkpoint->ignore("general.*");
  checkpoint->ignore("fla");
  EXPECT_EQ(checkpoint->unusedKeys(), (std::vector<std::string>{"flag", "text"}));
  checkpoint->ignore("flag");
  checkpoint->ignore("t*");
  EXPECT_TRUE(checkpoint->unusedKeys().empty());
}

} // namespace
