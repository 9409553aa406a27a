//===- PublishedConfigsTest.cpp - Every model of docs/models.md loads ------===//
//
// published/NAME.json is the config.json of a published model, with all of its keys and values. Each is
// imported as `ingot compile NAME.json --weights seed` does. A key that the family does not know would be
// refused.
//===----------------------------------------------------------------------===//
#include "tests/SourceDir.h"

#include "compiler/import/OpenCheckpoint.h"
#include "models/Family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

using namespace ingot;

namespace {

std::vector<std::string> publishedNames() {
  std::vector<std::string> names;
  for (const auto &file :
       std::filesystem::directory_iterator(test::sourceDir() + "/tests/models/published"))
    names.push_back(file.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::shared_ptr<import::Checkpoint> published(const std::string &name) {
  auto opened =
      import::openCheckpoint(test::sourceDir() + "/tests/models/published/" + name + ".json");
  EXPECT_TRUE(opened) << opened.error().format();
  return opened ? *opened : nullptr;
}

/// Returns the error; empty if the model is imported.
std::string refusal(const import::Checkpoint &checkpoint) {
  mlir::MLIRContext context;
  Error why;
  auto module = models::importModel(context, checkpoint, why);
  return mlir::succeeded(module) ? "" : why.format();
}

class PublishedConfigs : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(PublishedConfigs, Loads) {
  auto checkpoint = published(GetParam());
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(refusal(*checkpoint), "");
}

INSTANTIATE_TEST_SUITE_P(All, PublishedConfigs, testing::ValuesIn(publishedNames()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !isalnum(static_cast<unsigned char>(c)); },
                               '_');
                           return name;
                         });

TEST(PublishedConfigs, EveryFamilyHasOne) {
  std::set<std::string> families;
  for (const std::string &name : publishedNames())
    if (auto checkpoint = published(name))
      if (const models::Family *family = models::findFamily(checkpoint->architecture))
        families.insert(family->name.str());
  for (const models::Family &family : models::families())
    EXPECT_TRUE(families.contains(family.name.str())) << family.name.str();
}
