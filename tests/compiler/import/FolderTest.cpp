//===- FolderTest.cpp - Folders, shards, links, text files ----------------===//
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/checkpoints/SafetensorsImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
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
  EXPECT_EQ(checkpoint->text.chatTemplates.at(0).source, "from the tokenizer");
}

TEST_F(FolderTest, ByFileAndByConfig) {
  CheckpointFiles files = validFolder();
  files.open = "model.safetensors";
  auto byFile = open(files);
  ASSERT_TRUE(byFile);
  EXPECT_EQ(byFile->tensors.size(), 3u);
  EXPECT_EQ(byFile->text.chatTemplates.at(0).source, "from the tokenizer");
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

/// Puts the files into a hub's cache: <repository>/snapshots/<revision>/name -> ../../blobs/<hash>.
CheckpointFiles cacheOf(const CheckpointFiles &files) {
  CheckpointFiles cache{.name = "models--org--tiny"};
  int number = 0;
  for (const auto &[name, content] : files.files) {
    std::string blob = "blob" + std::to_string(number++);
    cache.files["blobs/" + blob] = content;
    cache.links["snapshots/abc123/" + name] = "../../blobs/" + blob;
  }
  return cache;
}

TEST_F(FolderTest, HuggingFaceCache) {
  CheckpointFiles cache = cacheOf(validFolder());
  cache.open = "snapshots/abc123";
  auto checkpoint = open(cache);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->tensors.size(), 3u);
  EXPECT_EQ(checkpoint->name, "tiny");
  cache.links["snapshots/abc123/tokenizer.json"] = "../../secret";
  cache.files["secret"] = "x";
  EXPECT_EQ(codeOf(cache), "E0286");
}

TEST_F(FolderTest, ARepositoryOfTheCache) {
  CheckpointFiles cache = cacheOf(validFolder());
  auto only = open(cache);
  ASSERT_TRUE(only) << "the only revision";
  cache.files["refs/main"] = "abc123\n";
  cache.files["snapshots/zzz/config.json"] = "{}";
  auto checkpoint = open(cache);
  ASSERT_TRUE(checkpoint) << "the one that refs/main names";
  EXPECT_EQ(checkpoint->name, "tiny");
  EXPECT_EQ(checkpoint->tensors.size(), 3u);
  EXPECT_EQ(checkpoint->contentHash, only->contentHash);
  cache.files.erase("refs/main");
  EXPECT_EQ(codeOf(cache), "E0844") << "one of two";
}

TEST_F(FolderTest, RevisionsAreNoPaths) {
  CheckpointFiles cache = cacheOf(validFolder());
  cache.files["elsewhere/config.json"] = "{}";
  for (const char *revision : {"../elsewhere", "..", ".", "", "/etc", "nothing", "abc123/..",
                               "abc\x01"
                               "123"}) {
    cache.files["refs/main"] = revision;
    // An empty refs/main gives E0204, like any empty file.
    EXPECT_EQ(codeOf(cache), *revision ? "E0844" : "E0204") << revision;
  }
  cache.files["refs/main"] = "link";
  cache.links["snapshots/link"] = "../elsewhere";
  EXPECT_EQ(codeOf(cache), "E0844") << "a revision that is a link";
  cache.files.erase("refs/main");
  cache.links["refs/main"] = "/etc/passwd";
  EXPECT_EQ(codeOf(cache), "E0286");
  CheckpointFiles linked{.name = "linked", .links = {{"snapshots", "elsewhere"}}};
  for (const auto &[name, content] : validFolder().files)
    linked.files["elsewhere/abc123/" + name] = content;
  EXPECT_EQ(codeOf(linked), "E0205") << "no repository: snapshots is a link";
}

TEST_F(FolderTest, GgufOfAFolder) {
  const std::string gguf = GgufImage::valid().bytes();
  CheckpointFiles files{.name = "ggufs", .files = {{"m.gguf", gguf}, {"README.md", "x"}}};
  auto one = open(files);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->architecture, "llama");
  files.files["mmproj-m-f16.gguf"] = gguf;
  EXPECT_TRUE(open(files)) << "a projector is no second model";
  CheckpointFiles cache = cacheOf(files);
  EXPECT_TRUE(open(cache)) << "through links into blobs";
  files.files["n.gguf"] = gguf;
  auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("two")));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "E0291");
  EXPECT_NE(opened.error().why.find("'m.gguf', 'n.gguf'"), std::string::npos);
  files.files = {{"README.md", "x"}};
  files.links["m.gguf"] = "/dev/zero";
  EXPECT_EQ(codeOf(files), "E0286");
}

/// The first bytes determine the type of a file: adapters, projectors, vocabularies and files that are not
/// GGUF are not offered as models.
TEST_F(FolderTest, WhatIsNoModelIsNotOffered) {
  GgufImage other = GgufImage::valid(), vocabulary = GgufImage::valid();
  other.entries.push_back(ggufEntry("general.type", 8, ggufText("adapter")));
  vocabulary.tensors.clear(), vocabulary.data.clear();
  const std::string gguf = GgufImage::valid().bytes();
  CheckpointFiles files{.name = "models",
                        .files = {{"m.gguf", gguf},
                                  {"lora.gguf", other.bytes()},
                                  {"vocab.gguf", vocabulary.bytes()},
                                  {"notes.gguf", "a file of text"},
                                  {"page.gguf", "<!DOCTYPE html>"}}};
  ASSERT_TRUE(open(files));
  files.files["sha256-0123"] = gguf;
  auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("two")));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().why.find("'m.gguf', 'sha256-0123'; expected 1"), std::string::npos)
      << opened.error().why;
  files.files.erase("m.gguf");
  EXPECT_TRUE(open(files)) << "a blob of Ollama's";
  files.files.erase("sha256-0123");
  EXPECT_EQ(codeOf(files), "E0260") << "an adapter and a vocabulary";
  files.files.erase("lora.gguf");
  EXPECT_EQ(codeOf(files), "E0224") << "a vocabulary";
}

/// Files are recognised by their first bytes, under any name.
TEST_F(FolderTest, FilesUnderOtherNames) {
  CheckpointFiles files = validFolder();
  files.name = "names";
  files.files["sha256-0123"] = GgufImage::valid().bytes();
  files.files["m.safetensors"] = GgufImage::valid().bytes();
  files.files["weights"] = files.files["model.safetensors"];
  files.files["settings"] = "\n " + validConfig();
  const auto named = [&](const char *name) {
    files.open = name;
    return open(files);
  };
  EXPECT_EQ(named("sha256-0123")->container, Container::Gguf);
  EXPECT_EQ(named("m.safetensors")->container, Container::Gguf);
  EXPECT_EQ(named("weights")->tensors.size(), 3u);
  EXPECT_TRUE(named("settings")->tensors.empty());
  for (const auto &[start, word] :
       {std::pair{"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"},
        {"<!DOCTYPE html><html>", "not its web page"},
        {"PK\x03\x04 and so on", "save_pretrained"},
        {"tjgg and so on", "convert_hf_to_gguf"}})
    for (const char *name : {"blob", "m.gguf", "other.safetensors"}) {
      files.files[name] = start;
      files.open = name;
      const auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("odd")));
      ASSERT_FALSE(opened) << start;
      EXPECT_NE(opened.error().fix.find(word), std::string::npos) << opened.error().format();
    }
}

/// mlx-lm and programs that merge a model into one file write every folder like this.
TEST_F(FolderTest, AnIndexBesideOneFile) {
  const auto index = [](const std::string &file) {
    return R"({"metadata": {}, "weight_map": {"a": ")" + file + R"(", "b": ")" + file +
           R"(", "c": ")" + file + "\"}}";
  };
  CheckpointFiles files = validFolder();
  files.files["model.safetensors.index.json"] = index("model.safetensors");
  auto checkpoint = open(files);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->tensors.size(), 3u);
  EXPECT_TRUE(checkpoint->notes.empty());
  files.open = "model.safetensors";
  EXPECT_TRUE(open(files)) << "by its name";
  files.open = "";
  files.files["model-00001-of-00001.safetensors"] = files.files["model.safetensors"];
  files.files.erase("model.safetensors");
  files.files["model.safetensors.index.json"] = index("model-00001-of-00001.safetensors");
  EXPECT_TRUE(open(files));
  files.open = "model-00001-of-00001.safetensors";
  EXPECT_TRUE(open(files)) << "by its name";
  files.open = "";
  files.files["model.safetensors.index.json"] =
      R"({"weight_map": {"d": "model-00001-of-00001.safetensors"}})";
  EXPECT_EQ(open(files)->tensors.size(), 3u) << "of one file it need not list the tensors";
}

/// The first GPTQ programs wrote such a file; a folder with several of them is refused.
TEST_F(FolderTest, OneFileOfAnotherName) {
  CheckpointFiles files = validFolder();
  files.files["gptq_model-4bit-128g.safetensors"] = files.files["model.safetensors"];
  files.files.erase("model.safetensors");
  ASSERT_TRUE(open(files));
  EXPECT_EQ(open(files)->name, "valid-folder");
  files.files["adapter_model.safetensors"] = "no weights";
  EXPECT_TRUE(open(files)) << "an adapter's";
  files.files["other.safetensors"] = files.files["gptq_model-4bit-128g.safetensors"];
  EXPECT_EQ(codeOf(files), "E0205");
}

/// An index next to other weights: two models are refused; one model is read, with a note.
TEST_F(FolderTest, AnIndexBesideOtherWeights) {
  const auto notesOf = [&](CheckpointFiles files) {
    auto checkpoint = open(files);
    EXPECT_EQ(checkpoint->tensors.size(), 3u);
    EXPECT_EQ(checkpoint->notes.size(), 1u);
    return checkpoint->notes.front();
  };
  CheckpointFiles left = validFolder(); // the shards are missing
  left.files["model.safetensors.index.json"] =
      validShardedFolder().files["model.safetensors.index.json"];
  EXPECT_NE(notesOf(left).find("lists 2 files, of which 'model-00001-of-00002.safetensors' does"),
            std::string::npos);
  left.files["model.safetensors.index.json"] = "{}";
  EXPECT_NE(notesOf(left).find("cannot be read"), std::string::npos);
  CheckpointFiles both = validShardedFolder(); // the folder has the same model twice
  SafetensorsImage whole;
  whole.add("a", "F32", {2, 3}, 24);
  whole.add("b", "BF16", {4, 2}, 16);
  whole.add("c", "F16", {2}, 4);
  both.files["model.safetensors"] = whole.bytes();
  EXPECT_NE(notesOf(both).find("hold the same tensors"), std::string::npos);
  both.files["model.safetensors"].back() ^= 1;
  auto opened = openCheckpoint(writeCheckpoint(both, temporary.path("two")));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "E0291");
  for (const char *way : {"model.safetensors", "model.safetensors.index.json"}) {
    EXPECT_NE(opened.error().fix.find(std::string(way) + "'"), std::string::npos)
        << opened.error().fix;
    both.open = way;
    EXPECT_EQ(open(both)->tensors.size(), 3u) << way;
  }
}

TEST_F(FolderTest, SafetensorsBeforeGguf) {
  CheckpointFiles files = validFolder();
  files.files["m.gguf"] = GgufImage::valid().bytes();
  auto checkpoint = open(files);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->container, Container::Safetensors);
}

TEST_F(FolderTest, MistralsOwnFormat) {
  CheckpointFiles files = validFolder();
  files.files["params.json"] = "{}";
  files.files["consolidated.safetensors"] = files.files["model.safetensors"];
  EXPECT_TRUE(open(files)) << "the other files are there";
  files.open = "consolidated.safetensors";
  EXPECT_EQ(codeOf(files), "E0291");
  files.files.erase("config.json");
  files.files.erase("model.safetensors");
  EXPECT_EQ(codeOf(files), "E0842");
  files.open = "";
  EXPECT_EQ(codeOf(files), "E0842");
  files.files["config.json"] = validConfig();
  EXPECT_EQ(codeOf(files), "E0842") << "a configuration of nothing that is there";
}

TEST_F(FolderTest, AnAdapterBesideItsModelIsPassedOver) {
  CheckpointFiles files = validFolder();
  files.files["adapter_config.json"] = "{}";
  EXPECT_TRUE(open(files));
  files.files.erase("model.safetensors");
  EXPECT_EQ(codeOf(files), "E0843");
}

/// Returns "name=source, …".
static std::string listed(const Checkpoint &checkpoint) {
  std::string all;
  for (const NamedTemplate &one : checkpoint.text.chatTemplates)
    all += (all.empty() ? "" : ", ") + one.name + "=" + one.source;
  return all;
}

TEST_F(FolderTest, ChatTemplateJinjaWins) {
  CheckpointFiles files = validFolder();
  files.files["chat_template.json"] = R"({"chat_template": "from json"})";
  EXPECT_EQ(listed(*open(files)), "default=from json");
  files.files["chat_template.jinja"] = "from jinja\n";
  EXPECT_EQ(listed(*open(files)), "default=from jinja\n");
}

TEST_F(FolderTest, ChatTemplatesOfAFolder) {
  CheckpointFiles files = validFolder();
  files.files["tokenizer_config.json"] = R"({"chat_template": [{"name": "default", "template": "d"},
                                             {"name": "tool_use", "template": "old"}]})";
  std::string folder = writeCheckpoint(files, temporary.path("named"));
  std::filesystem::create_directory(folder + "/additional_chat_templates");
  std::ofstream(folder + "/additional_chat_templates/tool_use.jinja") << "t";
  std::ofstream(folder + "/additional_chat_templates/rag.jinja") << "r";
  std::ofstream(folder + "/additional_chat_templates/README.md") << "no template";
  auto opened = openCheckpoint(folder);
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_EQ(listed(**opened), "rag=r, tool_use=t, default=d");
  const std::string hash = (*opened)->contentHash;
  std::ofstream(folder + "/additional_chat_templates/tool_use.jinja") << "u";
  opened = openCheckpoint(folder);
  ASSERT_TRUE(opened);
  EXPECT_NE((*opened)->contentHash, hash) << "caches would find another engine";
  std::ofstream(folder + "/chat_template.jinja") << "all";
  opened = openCheckpoint(folder);
  ASSERT_TRUE(opened);
  EXPECT_EQ(listed(**opened), "default=all, rag=r, tool_use=u");

  std::filesystem::remove(folder + "/additional_chat_templates/rag.jinja");
  std::filesystem::create_symlink("/etc/passwd", folder + "/additional_chat_templates/rag.jinja");
  opened = openCheckpoint(folder);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "E0286");
}

TEST_F(FolderTest, ChatTemplateOfTheTokenizer) {
  auto templateOf = [&](const std::string &json) -> std::string {
    CheckpointFiles files = validFolder();
    files.files["tokenizer_config.json"] = json;
    auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("t")));
    return opened ? listed(**opened) : opened.error().code;
  };
  EXPECT_EQ(templateOf(R"({"chat_template": "a\n\u00e9"})"), "default=a\n\xc3\xa9");
  EXPECT_EQ(templateOf(R"({"chat_template": null})"), "");
  EXPECT_EQ(templateOf(R"({"x": [1, {"chat_template": "no"}]})"), "");
  EXPECT_EQ(templateOf(R"({"chat_template": [{"name": "tool", "template": "t"},
                          {"template": "d", "name": "default", "more": {}}]})"),
            "tool=t, default=d");
  EXPECT_EQ(templateOf(R"({"chat_template": [{"name": "only", "template": "o"}]})"), "only=o");
  EXPECT_EQ(templateOf(R"({"chat_template": [{"name": "a", "template": "o"},
                          {"name": "a", "template": "p"}]})"),
            "a=p");
  EXPECT_EQ(templateOf(R"({"chat_template": {"default": "d", "tool_use": "t"}})"),
            "default=d, tool_use=t");
  EXPECT_EQ(templateOf(R"({"chat_template": {"default": 1}})"), "E0290");
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
  files.files["model.bin"] = "x";
  auto opened = openCheckpoint(writeCheckpoint(files, temporary.path("advice")));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "E0205");
  EXPECT_NE(opened.error().fix.find("save_pretrained"), std::string::npos);
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
