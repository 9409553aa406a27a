//===- ConfigJsonTest.cpp - Flattening of config.json ---------------------===//
#include "compiler/import/config/ConfigJson.h"
#include "tests/checkpoints/CheckpointFiles.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;

namespace {

std::shared_ptr<Checkpoint> read(const std::string &json) {
  CheckpointBuilder builder(Container::Safetensors);
  Result<void> result = readConfig(json, "config.json", builder);
  EXPECT_TRUE(result) << (result ? "" : result.error().format());
  return builder.finish("");
}

std::string codeOf(const std::string &json) {
  CheckpointBuilder builder(Container::Safetensors);
  Result<void> result = readConfig(json, "config.json", builder);
  return result ? "" : result.error().code;
}

TEST(ConfigJson, Flattens) {
  auto config = read(test::validConfig());
  EXPECT_EQ(config->architecture, "LlamaForCausalLM");
  EXPECT_EQ(*config->integer("hidden_size"), 8);
  EXPECT_EQ(*config->number("rope_theta"), 10000.0);
  EXPECT_EQ(*config->string("rope_scaling.rope_type"), "llama3");
  EXPECT_EQ(*config->number("rope_scaling.factor"), 8.0);
  EXPECT_TRUE(*config->boolean("tie_word_embeddings"));
  EXPECT_FALSE(config->has("sliding_window"));
  EXPECT_EQ(std::get<std::vector<int64_t>>(*config->array("eos_token_id")),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::get<std::vector<std::string>>(*config->array("layer_types")),
            std::vector<std::string>{"full_attention"});
  EXPECT_EQ(*config->integer("mixed.1"), 1);
  EXPECT_EQ(*config->string("mixed.2.a"), "b");
  EXPECT_FALSE(config->has("mixed"));
  config->ignore("mixed*");
  EXPECT_EQ(config->unusedKeys(), std::vector<std::string>{"model_type"});
}

TEST(ConfigJson, ArraysOfNumbers) {
  auto config = read(R"({"architectures": ["A"], "n": [1, 2.5], "b": [true, false], "e": []})");
  EXPECT_EQ(std::get<std::vector<double>>(*config->array("n")), (std::vector<double>{1.0, 2.5}));
  EXPECT_EQ(std::get<std::vector<bool>>(*config->array("b")), (std::vector<bool>{true, false}));
  EXPECT_TRUE(std::get<std::vector<int64_t>>(*config->array("e")).empty());
}

TEST(ConfigJson, NumbersOfPython) {
  auto config = read(
      R"({"architectures": ["A"], "limit": [0.0, Infinity], "n": NaN, "m": -Infinity, "t\\": "\"NaN, Infinity"})");
  EXPECT_EQ(*config->string("limit.1"), "Infinity");
  EXPECT_EQ(*config->string("n"), "NaN");
  EXPECT_EQ(*config->string("m"), "-Infinity");
  EXPECT_EQ(*config->string("t\\"), "\"NaN, Infinity");
  EXPECT_FALSE(config->number("n"));
}

TEST(ConfigJson, Refusals) {
  EXPECT_EQ(codeOf("[]"), "E0277");
  EXPECT_EQ(codeOf("{"), "E0275");
  EXPECT_EQ(codeOf("{} {}"), "E0275");
  EXPECT_EQ(codeOf(R"({"architectures": "A"})"), "E0226");
  EXPECT_EQ(codeOf(R"({"architectures": [""]})"), "E0226");
  EXPECT_EQ(codeOf(R"({"architectures": ["A"], "a": 1, "a": 2})"), "E0214");
  EXPECT_EQ(codeOf(R"({"architectures": ["A"], "a.b": 1, "a": {"b": 2}})"), "E0214");
  EXPECT_EQ(codeOf(R"({"architectures": ["A"], "a": [9223372036854775808]})"), "E0227");
  EXPECT_EQ(codeOf(R"({"architectures": ["A"], "a": )" + std::string(70, '[') +
                   std::string(70, ']') + "}"),
            "E0276");
}

TEST(ConfigJson, LongPathsCannotMultiply) {
  // If a long key holds many short ones, flattening would need the product of their sizes in memory.
  std::string json = R"({"architectures": ["A"], ")" + std::string(1 << 20, 'k') + "\": {";
  for (int i = 0; i < 50000; ++i)
    json += "\"" + std::to_string(i) + "\":1,";
  EXPECT_EQ(codeOf(json + "\"x\":1}}"), "E0238");
}

} // namespace
