//===- WrapperTest.cpp - Unwrapping of configurations and names -----------===//
//
// Only a family can check that nothing is lost; tests/models/WrapperTest.cpp does that.
//===----------------------------------------------------------------------===//
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/config/DraftBlocks.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/checkpoints/SafetensorsImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

std::shared_ptr<Checkpoint> unwrap(const std::string &config) {
  CheckpointBuilder builder(Container::Safetensors);
  Result<void> read = readConfig(config, "config.json", builder);
  if (read)
    read = unwrapConfig(builder, "config.json");
  if (read)
    read = unwrapTensors(builder);
  EXPECT_TRUE(read) << (read ? "" : read.error().format());
  return read ? builder.finish("") : nullptr;
}

std::vector<std::string> keysOf(const Checkpoint &checkpoint) {
  std::vector<std::string> keys;
  for (const auto &[key, value] : checkpoint.metadata)
    keys.push_back(key);
  return keys;
}

using Keys = std::vector<std::string>;

// Covers Gemma 3 4B as published by Google, which omits keys that equal the class's defaults.
TEST(Wrapper, DefaultsOfTheTextModelAreFilledIn) {
  auto gemma = unwrap(R"({"architectures": ["Gemma3ForConditionalGeneration"],
    "boi_token_index": 255999, "eoi_token_index": 256000, "eos_token_id": [1, 106],
    "image_token_index": 262144, "initializer_range": 0.02, "mm_tokens_per_image": 256,
    "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
    "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0,
    "rope_type": "linear"}, "sliding_window": 1024}, "torch_dtype": "bfloat16",
    "transformers_version": "4.50.0.dev0", "vision_config": {"hidden_size": 1152}})");
  ASSERT_TRUE(gemma);
  EXPECT_EQ(gemma->architecture, "Gemma3ForCausalLM");
  EXPECT_EQ(*gemma->integer("hidden_size"), 2560);
  EXPECT_EQ(*gemma->integer("num_attention_heads"), 8);
  EXPECT_EQ(*gemma->integer("num_key_value_heads"), 4);
  EXPECT_EQ(*gemma->integer("head_dim"), 256);
  EXPECT_EQ(*gemma->number("rope_scaling.factor"), 8.0);
  EXPECT_EQ(*gemma->string("torch_dtype"), "bfloat16");
  EXPECT_NE(gemma->array("eos_token_id"), nullptr);
  for (const char *key : {"boi_token_index", "vision_config.hidden_size", "initializer_range"})
    EXPECT_FALSE(gemma->has(key)) << key;
}

TEST(Wrapper, AFlatOneOnlyLosesItsTower) {
  auto qwen = unwrap(R"({"architectures": ["Qwen2VLForConditionalGeneration"],
    "hidden_size": 1536, "model_type": "qwen2_vl", "image_token_id": 5, "vision_start_token_id": 6,
    "rope_scaling": {"mrope_section": [16, 24, 24], "type": "mrope"},
    "vision_config": {"depth": 32}, "vocab_size": 151936})");
  ASSERT_TRUE(qwen);
  EXPECT_EQ(qwen->architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(keysOf(*qwen), (Keys{"architectures", "hidden_size", "model_type", "rope_scaling.type",
                                 "vocab_size"}));
  EXPECT_EQ(*qwen->string("rope_scaling.type"), "default");
}

// transformers 4.52 and later write both levels.
TEST(Wrapper, TheNestedLevelWins) {
  auto qwen = unwrap(R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "hidden_size": 1, "text_config": {"hidden_size": 2048, "model_type": "qwen2_5_vl_text",
    "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24]}}})");
  ASSERT_TRUE(qwen);
  EXPECT_EQ(qwen->architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(*qwen->integer("hidden_size"), 2048);
  EXPECT_EQ(*qwen->number("rope_theta"), 1e6);
  EXPECT_FALSE(qwen->has("rope_parameters.mrope_section"));
}

// Three equal positions rotate like one, even if the text model was saved on its own.
TEST(Wrapper, APlainModelKeepsEverythingElse) {
  auto plain = unwrap(R"({"architectures": ["Qwen3_5ForCausalLM"], "image_size": 3,
    "rope_parameters": {"mrope_interleaved": true, "mrope_section": [11, 11, 10],
    "rope_theta": 1e7}})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(keysOf(*plain), (Keys{"architectures", "image_size", "rope_parameters.rope_theta"}));
}

TEST(Wrapper, ArchitecturesOfUnknownTypes) {
  const char *wrapper = R"({"architectures": ["W"], "text_config": {"hidden_size": 1, )";
  auto architectureOf = [&](const std::string &rest) {
    auto checkpoint = unwrap(wrapper + rest + "}}");
    return checkpoint ? checkpoint->architecture : "";
  };
  EXPECT_EQ(architectureOf(R"("model_type": "llama", "architectures": ["VLlama3ForCausalLM"])"),
            "LlamaForCausalLM");
  EXPECT_EQ(architectureOf(R"("model_type": "new", "architectures": ["NewForCausalLM"])"),
            "NewForCausalLM");
  EXPECT_EQ(architectureOf(R"("architectures": ["NewForCausalLM"])"), "NewForCausalLM");
  EXPECT_EQ(architectureOf(R"("model_type": "new")"), "new");
}

TEST(Wrapper, ATextModelWithoutANameIsRefused) {
  for (std::string nested : {R"("hidden_size": 1)", R"("model_type": 5)", R"("model_type": "a\nb")",
                             R"("architectures": ["A", "B"])"}) {
    CheckpointBuilder builder(Container::Safetensors);
    ASSERT_TRUE(
        readConfig(R"({"architectures": ["W"], "text_config": {)" + nested + "}}", "c", builder));
    Result<void> read = unwrapConfig(builder, "c");
    ASSERT_FALSE(read) << nested;
    EXPECT_EQ(read.error().code, "E0226");
  }
}

// It is not known what else an unknown wrapper does with its text model, so the family will refuse it.
TEST(Wrapper, UnknownOnesKeepTheKeysThatNobodyKnows) {
  auto unknown = unwrap(R"({"architectures": ["W"], "model_type": "w", "embedding_scale": 2.0,
    "image_token_id": 4, "vision_config": {"a": 1}, "text_config": {"model_type": "new"}})");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(keysOf(*unknown), (Keys{"embedding_scale", "model_type"}));
  EXPECT_EQ(*unknown->string("model_type"), "new");
}

TEST(Wrapper, WhatMayStandAtEitherLevel) {
  auto outer = unwrap(R"({"architectures": ["W"], "eos_token_id": 9, "bos_token_id": null,
    "quantization_config": {"quant_method": "fp8"}, "dtype": "bfloat16",
    "text_config": {"model_type": "new", "eos_token_id": 1, "bos_token_id": 2,
    "quantization_config": {"quant_method": "other", "bits": 4}}})");
  ASSERT_TRUE(outer);
  EXPECT_EQ(*outer->integer("eos_token_id"), 9);
  EXPECT_EQ(*outer->integer("bos_token_id"), 2);
  EXPECT_EQ(*outer->string("dtype"), "bfloat16");
  EXPECT_EQ(*outer->string("quantization_config.quant_method"), "fp8");
  EXPECT_FALSE(outer->has("quantization_config.bits"));
  auto inner = unwrap(R"({"architectures": ["W"], "text_config": {"model_type": "new",
    "dtype": "float16", "quantization_config": {"bits": 4}}})");
  ASSERT_TRUE(inner);
  EXPECT_EQ(*inner->integer("quantization_config.bits"), 4);
  EXPECT_EQ(*inner->string("dtype"), "float16");
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

class WrapperFiles : public testing::Test {
protected:
  std::shared_ptr<Checkpoint> open(const SafetensorsImage &image, const std::string &config) {
    CheckpointFiles files = validFolder();
    files.files["config.json"] = config;
    files.files["model.safetensors"] = image.bytes();
    auto opened = openCheckpoint(writeCheckpoint(files, folder.path("m")));
    if (!opened) {
      code = opened.error().code;
      return nullptr;
    }
    return *opened;
  }

  static Keys namesOf(const std::vector<Tensor> &tensors) {
    Keys names;
    for (const Tensor &tensor : tensors)
      names.push_back(tensor.name);
    return names;
  }

  TemporaryFolder folder;
  std::string code;
};

constexpr char kWrapped[] =
    R"({"architectures": ["W"], "text_config": {"model_type": "new", "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1}})";

TEST_F(WrapperFiles, TowersMayBeOfAnyType) {
  SafetensorsImage image;
  image.add("language_model.model.norm.weight", "F32", {2}, 8);
  image.add("vision_tower.a", "I4", {2}, 1); // not an existing type
  EXPECT_FALSE(open(image, kWrapped));
  EXPECT_EQ(code, "E0219");
  image.entries.pop_back();
  image.data.resize(8);
  image.add("vision_tower.a", "F4", {3, 2}, 3);
  image.add("vision_tower.b", "I64", {200000}, 1600000);
  image.add("multi_modal_projector.c", "BOOL", {5}, 5);
  auto checkpoint = open(image, kWrapped);
  ASSERT_TRUE(checkpoint) << code;
  EXPECT_EQ(namesOf(checkpoint->tensors), Keys{"model.norm.weight"});
  EXPECT_TRUE(checkpoint->unread.empty());
  ASSERT_EQ(checkpoint->leftOut.size(), 2u);
  EXPECT_EQ(describe(checkpoint->leftOut[0]), "vision tower left out: 1.6 MB, 2 tensors");
  EXPECT_EQ(describe(checkpoint->leftOut[1]), "projector left out: 5 bytes, 1 tensor");
}

// Quantised weights find their parts before names change, whichever level has the configuration.
TEST_F(WrapperFiles, ScalesFindTheirWeights) {
  SafetensorsImage image;
  image.add("language_model.model.layers.0.a.weight", "F8_E4M3", {2, 2}, 4);
  image.add("language_model.model.layers.0.a.weight_scale", "F32", {}, 4);
  image.data.replace(4, 4, little(0.5f));
  image.add("vision_tower.a.weight", "F8_E4M3", {2, 2}, 4); // without scales: ignored
  auto checkpoint = open(image, R"({"architectures": ["W"], "text_config": {"model_type": "new"},
                                    "quantization_config": {"quant_method": "fp8"}})");
  ASSERT_TRUE(checkpoint) << code;
  EXPECT_EQ(namesOf(checkpoint->tensors), Keys{"model.layers.0.a.weight"});
  EXPECT_EQ(checkpoint->tensors[0].scale(1, 1), 0.5f);
}

TEST_F(WrapperFiles, UnknownPrefixesStay) {
  SafetensorsImage image;
  image.add("language_model.model.norm.weight", "F32", {2}, 8);
  image.add("taste_tower.a", "F32", {2}, 8);
  auto checkpoint = open(image, kWrapped);
  ASSERT_TRUE(checkpoint) << code;
  EXPECT_EQ(namesOf(checkpoint->tensors), (Keys{"model.norm.weight", "taste_tower.a"}));
  EXPECT_TRUE(checkpoint->leftOut.empty());
}

TEST_F(WrapperFiles, APlainModelHasNoTowers) {
  SafetensorsImage image;
  image.add("visual.a", "F32", {2}, 8);
  auto checkpoint = open(image, R"({"architectures": ["LlamaForCausalLM"]})");
  ASSERT_TRUE(checkpoint) << code;
  EXPECT_EQ(namesOf(checkpoint->tensors), Keys{"visual.a"});
}

TEST_F(WrapperFiles, TwoNamesOfOneTensor) {
  SafetensorsImage image;
  image.add("language_model.model.norm.weight", "F32", {2}, 8);
  image.add("model.language_model.norm.weight", "F32", {2}, 8);
  EXPECT_FALSE(open(image, kWrapped));
  EXPECT_EQ(code, "E0213");
}

TEST_F(WrapperFiles, DraftBlocksAreSetAside) {
  SafetensorsImage image;
  for (const char *name :
       {"model.layers.0.a", "model.layers.1.a", "model.layers.2.eh_proj.weight", "model.layers.3.a",
        "mtp.fc.weight", "model.mtp_block.0.a", "model.layers.2b.c"})
    image.add(name, "F32", {2}, 8);
  auto checkpoint = open(image, kWrapped);
  ASSERT_TRUE(checkpoint) << code;
  EXPECT_EQ(namesOf(checkpoint->tensors), (Keys{"model.layers.0.a", "model.layers.1.a",
                                                "model.layers.2b.c", "model.layers.3.a"}));
  EXPECT_EQ(namesOf(checkpoint->draftBlocks),
            (Keys{"model.layers.2.eh_proj.weight", "model.mtp_block.0.a", "mtp.fc.weight"}));
  ASSERT_EQ(checkpoint->leftOut.size(), 1u);
  EXPECT_EQ(describe(checkpoint->leftOut[0]),
            "next-token prediction left out: 24 bytes, 3 tensors");
  EXPECT_EQ(checkpoint->unusedKeys(), (Keys{"model_type", "num_hidden_layers"}));
}

TEST_F(WrapperFiles, LayersBeyondTheLastAreNoDraftBlocksByThemselves) {
  SafetensorsImage image;
  image.add("model.layers.2.a", "F32", {2}, 8);
  auto checkpoint = open(image, R"({"architectures": ["A"], "num_hidden_layers": 2})");
  ASSERT_TRUE(checkpoint) << code;
  EXPECT_EQ(checkpoint->tensors.size(), 1u);
  EXPECT_TRUE(checkpoint->draftBlocks.empty());
}

//===----------------------------------------------------------------------===//
// GGUF
//===----------------------------------------------------------------------===//

std::shared_ptr<Checkpoint> openGguf(const std::vector<std::string> &entries,
                                     const std::string &architecture,
                                     const std::vector<std::string> &names) {
  TemporaryFolder folder;
  GgufImage image = GgufImage::valid();
  image.entries.resize(3);
  image.entries[0] = ggufEntry("general.architecture", 8, ggufText(architecture));
  image.entries.insert(image.entries.end(), entries.begin(), entries.end());
  for (size_t i = 0; i < names.size(); ++i)
    image.tensors[i].name = names[i];
  auto opened = openCheckpoint(
      writeCheckpoint({.open = "m.gguf", .files = {{"m.gguf", image.bytes()}}}, folder.path("g")));
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().format());
  return opened ? *opened : nullptr;
}

TEST(WrapperGguf, DraftBlocksAreNoLayers) {
  auto checkpoint = openGguf(
      {ggufEntry("glm4moe.block_count", 4, little(3)),
       ggufEntry("glm4moe.nextn_predict_layers", 4, little(1)),
       ggufArray("glm4moe.attention.head_count_kv", 4, 3, little(2) + little(2) + little(1)),
       ggufArray("glm4moe.rope.other", 4, 3, little(1) + little(2) + little(3))},
      "glm4moe", {"blk.1.attn_q.weight", "blk.2.nextn.eh_proj.weight", "output.weight"});
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(*checkpoint->integer("glm4moe.block_count"), 2);
  EXPECT_EQ(std::get<std::vector<int64_t>>(*checkpoint->array("glm4moe.attention.head_count_kv")),
            (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(*checkpoint->array("glm4moe.rope.other")).size(), 3u);
  ASSERT_EQ(checkpoint->draftBlocks.size(), 1u);
  EXPECT_EQ(checkpoint->draftBlocks[0].name, "blk.2.nextn.eh_proj.weight");
  EXPECT_EQ(checkpoint->tensors.size(), 2u);
  EXPECT_TRUE(checkpoint->unusedKeys().empty());
}

// If the count leaves no layer, the importer keeps it, and the family refuses it.
TEST(WrapperGguf, AnOddCountStays) {
  auto checkpoint = openGguf(
      {ggufEntry("a.block_count", 4, little(3)), ggufEntry("a.nextn_predict_layers", 4, little(3))},
      "a", {"blk.0.x"});
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(*checkpoint->integer("a.block_count"), 3);
  EXPECT_EQ(checkpoint->unusedKeys(), Keys{"a.nextn_predict_layers"});
}

TEST(WrapperGguf, TextModelsWithNamesOfTheirOwn) {
  auto checkpoint = openGguf({ggufEntry("qwen2vl.block_count", 4, little(3)),
                              ggufArray("qwen2vl.rope.dimension_sections", 5, 2,
                                        little<int32_t>(16) + little<int32_t>(24))},
                             "qwen2vl", {});
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->architecture, "qwen2");
  EXPECT_EQ(*checkpoint->integer("qwen2.block_count"), 3);
  EXPECT_TRUE(checkpoint->unusedKeys().empty());
}

} // namespace
