//===- HubTest.cpp - Models by name: the parts that need no hub ------------===//
#include "tools/hub/Fetch.h"
#include "tools/hub/HubCache.h"
#include "tools/hub/Reference.h"
#include "tools/hub/WantedFiles.h"

#include <cerrno>
#include <ctime>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::hub;

namespace {

std::vector<ListedFile> listed(const std::vector<std::string> &paths) {
  std::vector<ListedFile> files;
  for (const std::string &path : paths)
    files.push_back({path, 3u << 20});
  return files;
}

Reference reference(const std::string &text) {
  auto parsed = parseReference(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Reference{};
}

} // namespace

TEST(Reference, PartsOfAName) {
  const Reference plain = reference("hf:meta-llama/Llama-3.1-8B");
  EXPECT_EQ(plain.repository, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(plain.revision, "main");
  EXPECT_FALSE(plain.revisionGiven);
  const Reference full = reference("hf:org/name@refs/pr/1:q4/x-Q4_K_M.gguf");
  EXPECT_EQ(full.revision, "refs/pr/1");
  EXPECT_EQ(full.file, "q4/x-Q4_K_M.gguf");
  EXPECT_EQ(full.text(), "hf:org/name@refs/pr/1:q4/x-Q4_K_M.gguf");
  EXPECT_EQ(reference("hf:gpt2").repository, "gpt2");
}

TEST(Reference, NothingLeadsOutOfAFolder) {
  for (const char *text : {"hf:", "hf:/", "hf:a/b/c", "hf:../b", "hf:a/..", "hf:a/b--c", "hf:a/.b",
                           "hf:a/b@", "hf:a/b@../x", "hf:a/b@/x", "hf:a/b:", "hf:a/b:../x.gguf",
                           "hf:a/b:/x.gguf", "hf:a/b:x/../../y.gguf", "hf:a/b:x.bin", "hf:a/b@x\n",
                           "hf:a\\b/c", "hf:a/b:x\\..\\y.gguf", "a/b"}) {
    auto parsed = parseReference(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, "E0150");
    EXPECT_EQ(parsed.error().exit, ExitCode::Usage);
  }
  EXPECT_FALSE(parseReference("hf:a/" + std::string(97, 'x')));
}

TEST(HubCache, NamesAsPythonWritesThem) {
  EXPECT_EQ(folderName("org/name"), "models--org--name");
  EXPECT_EQ(folderName("gpt2"), "models--gpt2");
  EXPECT_EQ(repositoryOf("models--org--name"), "org/name");
  EXPECT_EQ(repositoryOf("models--gpt2"), "gpt2");
  EXPECT_FALSE(repositoryOf("datasets--org--name"));
  EXPECT_FALSE(repositoryOf("models--"));
  EXPECT_TRUE(isBlobName(std::string(64, 'a')));
  for (const char *odd : {"", "..", ".x", "a/b", "a b", "a\n"})
    EXPECT_FALSE(isBlobName(odd)) << odd;
}

TEST(HubCache, AFullDiskIsSaidToBeFull) {
  for (const int reason : {ENOSPC, EDQUOT, EFBIG}) {
    const Error error = cannotKeep("/models/x", reason);
    EXPECT_EQ(error.code, "E0158");
    EXPECT_EQ(error.exit, ExitCode::File);
    EXPECT_EQ(error.what, "the disk for models is full");
    EXPECT_NE(error.fix.find("HF_HUB_CACHE"), std::string::npos);
    EXPECT_NE(error.fix.find("the download then resumes"), std::string::npos);
  }
  EXPECT_EQ(cannotKeep("/models/x", EACCES).what, "cannot store the fetched data");
}

TEST(WantedFiles, ASingleSafetensors) {
  auto wanted = wantedFiles(
      reference("hf:a/b"),
      listed({"README.md", "config.json", "generation_config.json", "model.safetensors",
              "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "chat_template.jinja",
              "pytorch_model.bin", "onnx/model.onnx", "original/tokenizer.model",
              "consolidated.safetensors", "x-Q4_0.gguf", "vocab.json", "merges.txt"}));
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->texts,
            (std::vector<std::string>{"chat_template.jinja", "config.json",
                                      "generation_config.json", "merges.txt", "tokenizer.json",
                                      "tokenizer.model", "tokenizer_config.json", "vocab.json"}));
  EXPECT_EQ(wanted->weights, std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(wanted->opened, "");
}

TEST(WantedFiles, WhatTokenizersAndTemplatesAreMadeOf) {
  auto wanted = wantedFiles(
      reference("hf:a/b"),
      listed({"config.json", "model.safetensors", "tekken.json", "tiktoken.model",
              "additional_chat_templates/tool_use.jinja", "additional_chat_templates/README.md",
              "additional_chat_templates/old/rag.jinja", "original/tekken.json"}));
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->texts,
            (std::vector<std::string>{"additional_chat_templates/tool_use.jinja", "config.json",
                                      "tekken.json", "tiktoken.model"}));
}

TEST(WantedFiles, ShardsOfTheIndex) {
  auto wanted =
      wantedFiles(reference("hf:a/b"),
                  listed({"config.json", "model-00001-of-00002.safetensors", "model.safetensors",
                          "model-00002-of-00002.safetensors", "model.safetensors.index.json"}));
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->index, "model.safetensors.index.json");
  EXPECT_TRUE(wanted->weights.empty());
  auto shards =
      shardsOf(R"({"metadata": {}, "weight_map": {"a": "s2.safetensors", "b": "s1.safetensors",
                                                            "c": "s2.safetensors"}})",
               "index");
  ASSERT_TRUE(shards);
  EXPECT_EQ(*shards, (std::vector<std::string>{"s1.safetensors", "s2.safetensors"}));
  for (const char *odd : {"", "[]", "{}", R"({"weight_map": {}})", R"({"weight_map": {"a": 1}})",
                          R"({"weight_map": {"a": "../x"}})", R"({"weight_map": {"a": "/x"}})"})
    EXPECT_FALSE(shardsOf(odd, "index")) << odd;
}

TEST(WantedFiles, AnOddName) {
  auto wanted = wantedFiles(reference("hf:a/b"), listed({"config.json", "smol.safetensors"}));
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->opened, "smol.safetensors");
  // A shard without its index is not a model.
  auto shard =
      wantedFiles(reference("hf:a/b"), listed({"config.json", "model-00001-of-00002.safetensors"}));
  ASSERT_FALSE(shard);
  EXPECT_EQ(shard.error().code, "E0157");
}

TEST(WantedFiles, Ggufs) {
  auto only = wantedFiles(reference("hf:a/b"), listed({"x.gguf", "mmproj-x.gguf", "imatrix.gguf"}));
  ASSERT_TRUE(only);
  EXPECT_EQ(only->weights, std::vector<std::string>{"x.gguf"});
  EXPECT_EQ(only->opened, "x.gguf");

  const auto several =
      listed({"x-Q4_0.gguf", "x-Q8_0-00001-of-00002.gguf", "x-Q8_0-00002-of-00002.gguf"});
  auto choice = wantedFiles(reference("hf:a/b"), several);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code, "E0156");
  EXPECT_EQ(choice.error().why, "x-Q4_0.gguf  (3.0 MiB)\n  x-Q8_0-00001-of-00002.gguf  (6.0 MiB)");
  // Naming any part selects all of them, and the first is opened.
  auto split = wantedFiles(reference("hf:a/b:x-Q8_0-00002-of-00002.gguf"), several);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->weights,
            (std::vector<std::string>{"x-Q8_0-00001-of-00002.gguf", "x-Q8_0-00002-of-00002.gguf"}));
  EXPECT_EQ(split->opened, "x-Q8_0-00001-of-00002.gguf");
  auto cut = wantedFiles(reference("hf:a/b"), listed({"x-00001-of-00002.gguf"}));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, "E0154");
}

/// The list of files comes from the hub, so names of parts that do not exist must not cost time or memory.
TEST(WantedFiles, NamesOfAHundredThousandParts) {
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i)
    names.push_back("x" + std::to_string(i) + "-00001-of-99999.gguf");
  const std::clock_t start = std::clock();
  auto wanted = wantedFiles(reference("hf:a/b"), listed(names));
  ASSERT_FALSE(wanted);
  EXPECT_EQ(wanted.error().code, "E0156");
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0) << "seconds";
}

TEST(Fetch, HeaderOfSafetensors) {
  EXPECT_EQ(headerBytes(std::string("\x10\x01\0\0\0\0\0\0", 8)), 272u);
  EXPECT_FALSE(headerBytes(std::string("\0\0\0\0\0\0\0\0", 8)));
  EXPECT_FALSE(headerBytes(std::string(8, '\xff')));
  EXPECT_FALSE(headerBytes("short"));
}
