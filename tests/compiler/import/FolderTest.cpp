//===- FolderTest.cpp - Folders, shards, links, text files ----------------===//
#include "compiler/import/Checkpoint.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/SafetensorsImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

class FolderTest : public testing::Test {
protected:
  std::shared_ptr<Checkpoint> open(const CheckpointFiles &files) {
    Result<std::shared_ptr<Checkpoint>> opened =
        openCheckpoint(writeCheckpoint(files, temporary.path(files.name)));
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().format());
    return opened ? *opened : nullptr;
  }
  std::string codeOf(const CheckpointFiles &files) {
    auto opened = openCheckpoint(writeCheckpoint(files, temporary.path(files.name)));
    return opened ? "" : opened.error().code;
  }

  TemporaryFolder temporary;
};

TEST_F(FolderTest, SingleFile) {
  auto checkpoint = open(validFolder());
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->container, Container::Safetensors);
  EXPECT_EQ(checkpoint->architecture, "LlamaForCausalLM");
  EXPECT_EQ(checkpoint->name, "valid-folder");
  EXPECT_EQ(checkpoint->tensors.size(), 3u);
  EXPECT_EQ(checkpoint->text.tokenizerJson, R"({"model": {}})");
  EXPECT_EQ(checkpoint->text.specialTokensMapJson, R"({"eos_token": "</s>"})");
  EXPECT_EQ(checkpoint->text.generationConfigJson, R"({"eos_token_id": 2})");
  EXPECT_NE(checkpoint->text.tokenizerConfigJson.find("1000000000000000019884624838656"),
            std::string::npos);
  EXPECT_EQ(checkpoint->text.chatTemplate, "from the tokenizer");
}

TEST_F(FolderTest, ByFileAndByConfig) {
  CheckpointFiles files = validFolder();
  files.open = "model.safetensors";
  auto byFile = open(files);
  ASSERT_TRUE(byFile);
  EXPECT_EQ(byFile->tensors.size(), 3u);
  EXPECT_EQ(byFile->text.chatTemplate, "from the tokenizer");
  files.open = "config.json";
  auto byConfig = open(files);
  ASSERT_TRUE(byConfig);
  EXPECT_TRUE(byConfig->tensors.empty());
  EXPECT_EQ(*byConfig->integer("hidden_size"), 8);
  EXPECT_EQ(byConfig->name, "valid-folder");
  EXPECT_NE(byFile->contentHash, byConfig->contentHash);
}

TEST_F(FolderTest, Shards) {
  auto checkpoint = open(validShardedFolder());
  ASSERT_TRUE(checkpoint);
  ASSERT_EQ(checkpoint->tensors.size(), 3u);
  EXPECT_EQ(checkpoint->find("b")->shape, (std::vector<int64_t>{4, 2}));
}

TEST_F(FolderTest, OneShardIsNotTheModel) {
  CheckpointFiles files = validShardedFolder();
  files.open = "model-00001-of-00002.safetensors";
  EXPECT_EQ(codeOf(files), "E0291");
}

TEST_F(FolderTest, SameTensorInTwoShards) {
  CheckpointFiles files = validShardedFolder();
  files.files["model-00002-of-00002.safetensors"] = files.files["model-00001-of-00002.safetensors"];
  EXPECT_EQ(codeOf(files), "E0213");
}

TEST_F(FolderTest, PathsInTheIndexAreRefused) {
  for (const char *name : {"../x.safetensors", "/dev/zero", "/x.safetensors", "a/b.safetensors",
                           "..", "", ".safetensors", "x.bin", "x\\u0000.safetensors"}) {
    CheckpointFiles files = validShardedFolder();
    files.files["model.safetensors.index.json"] =
        std::string(R"({"weight_map": {"a": ")") + name + "\"}}";
    EXPECT_EQ(codeOf(files), "E0285") << name;
  }
}

TEST_F(FolderTest, LinksStayInside) {
  CheckpointFiles files = validFolder();
  files.links["tokenizer.json"] = "special_tokens_map.json";
  files.files.erase("tokenizer.json");
  auto inside = open(files);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->text.tokenizerJson, inside->text.specialTokensMapJson);
  files.links["tokenizer.json"] = "/etc/passwd";
  EXPECT_EQ(codeOf(files), "E0286");
  files.links["tokenizer.json"] = "../elsewhere";
  EXPECT_EQ(codeOf(files), "E0200") << "a dangling link is an error, not a missing file";
}

TEST_F(FolderTest, HuggingFaceCache) {
  // <repository>/snapshots/<revision>/name -> ../../blobs/<hash>
  CheckpointFiles cache{.name = "models--org--tiny", .open = "snapshots/abc123"};
  int number = 0;
  for (const auto &[name, content] : validFolder().files) {
    std::string blob = "blob" + std::to_string(number++);
    cache.files["blobs/" + blob] = content;
    cache.links["snapshots/abc123/" + name] = "../../blobs/" + blob;
  }
  auto checkpoint = open(cache);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->tensors.size(), 3u);
  EXPECT_EQ(checkpoint->name, "tiny");
  cache.links["snapshots/abc123/tokenizer.json"] = "../../secret";
  cache.files["secret"] = "x";
  EXPECT_EQ(codeOf(cache), "E0286");
}

TEST_F(FolderTest, ChatTemplateJinjaWins) {
  CheckpointFiles files = validFolder();
  files.files["chat_template.json"] = R"({"chat_template": "from json"})";
  EXPECT_EQ(open(files)->text.chatTemplate, "from json");
  files.files["chat_template.jinja"] = "from jinja\n";
  EXPECT_EQ(open(files)->text.chatTemplate, "from jinja\n");
}

TEST_F(FolderTest, ChatTemplateOfTheTokenizer) {
  auto templateOf = [&](const std::string &json) -> std::string {
    CheckpointFiles files = validFolder();
    files.files["tokenizer_config.json"] = json;
    auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("t")));
    return opened ? (*opened)->text.chatTemplate : opened.error().code;
  };
  EXPECT_EQ(templateOf(R"({"chat_template": "a\n\u00e9"})"), "a\n\xc3\xa9");
  EXPECT_EQ(templateOf(R"({"chat_template": null})"), "");
  EXPECT_EQ(templateOf(R"({"x": [1, {"chat_template": "no"}]})"), "");
  EXPECT_EQ(templateOf(R"({"chat_template": [{"name": "tool", "template": "t"},
                          {"template": "d", "name": "default", "more": {}}]})"),
            "d");
  EXPECT_EQ(templateOf(R"({"chat_template": [{"name": "only", "template": "o"}]})"), "o");
  EXPECT_EQ(templateOf(R"({"chat_template": 5})"), "E0290");
  EXPECT_EQ(templateOf(R"({"chat_template": []})"), "E0290");
  EXPECT_EQ(templateOf(R"({"chat_template": [{"name": "default"}]})"), "E0290");
  EXPECT_EQ(templateOf(R"({"chat_template": ["x"]})"), "E0290");
  EXPECT_EQ(templateOf(R"({"chat_template": "a", "chat_template": "b"})"), "E0214");
  EXPECT_EQ(templateOf(R"({"chat_template": "a")"), "E0275");
  EXPECT_EQ(templateOf("[]"), "E0275");
  EXPECT_EQ(templateOf(R"({"a": 1} x)"), "E0275");
  EXPECT_EQ(templateOf("{\"a\": \"\xff\"}"), "E0209");
}

TEST_F(FolderTest, AdviceKnowsWhatIsThere) {
  CheckpointFiles files{.name = "advice"};
  files.files["m.gguf"] = "x";
  auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("advice")));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "E0205");
  EXPECT_NE(opened.error().fix.find("m.gguf"), std::string::npos);
  files.files = {{"config.json", validConfig()}};
  opened = openCheckpoint(writeCheckpoint(files, temporary.path("advice")));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().fix.find("--weights seed"), std::string::npos);
}

TEST_F(FolderTest, DevicesAndPipesAsTheModel) {
  EXPECT_EQ(openCheckpoint("/dev/null").error().code, "E0202");
  CheckpointFiles files{.name = "pipe", .open = "p.safetensors", .pipes = {"p.safetensors"}};
  files.files["config.json"] = validConfig();
  EXPECT_EQ(codeOf(files), "E0201");
}

} // namespace
