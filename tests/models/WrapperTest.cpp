//===- WrapperTest.cpp - A wrapped model imports as the plain one ---------===//
//
// Each tiny checkpoint is put into wrappers of every kind: its tensors get the prefixes found in
// published files, towers with unsupported types are added, and config.json is nested. A family
// must build exactly the same module as from the plain checkpoint.
//===----------------------------------------------------------------------===//
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h" // little()
#include "tests/compiler/import/TemporaryFolder.h"
#include "tests/models/TinyCheckpoints.h"

#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "dialects/lm/LmDialect.h"
#include "models/Family.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace ingot;
using namespace ingot::test;

namespace {

enum class Layout { Nested, Flat };

struct Wrapping {
  const char *name, *tiny, *architecture;
  const char *model; ///< the replacement of "model."
  const char *head;  ///< the replacement of "lm_head."
  std::vector<const char *> beside;
  const char *outerTie = ""; ///< the outer level's key
  Layout layout = Layout::Nested;
};

void PrintTo(const Wrapping &wrapping, std::ostream *out) { *out << wrapping.name; }

const Wrapping kWrappings[] = {
    {"gemma3",
     "gemma3-layer-types",
     "Gemma3ForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {"vision_tower.vision_model.embeddings.position_ids", "multi_modal_projector.norm.weight"}},
    {"saved_by_transformers_5",
     "gemma3-layer-types",
     "Gemma3ForConditionalGeneration",
     "model.language_model.",
     "lm_head.",
     {"model.vision_tower.a", "model.multi_modal_projector.b"}},
    {"prefix_twice",
     "gemma3-layer-types",
     "Gemma3ForConditionalGeneration",
     "model.language_model.model.",
     "model.language_model.lm_head.",
     {"model.vision_tower.a", "model.multi_modal_projector.b"}},
    {"head_outside",
     "gemma3-old-config",
     "Gemma3ForConditionalGeneration",
     "model.language_model.model.",
     "lm_head.",
     {"model.vision_tower.a"}},
    {"mistral3",
     "mistral-window",
     "Mistral3ForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {"vision_tower.a", "multi_modal_projector.b"}},
    {"shards",
     "llama-biases-sharded",
     "LlavaForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {}},
    {"qwen2_vl_flat",
     "qwen2-old-config",
     "Qwen2VLForConditionalGeneration",
     "model.",
     "lm_head.",
     {"visual.patch_embed.proj.weight"},
     "",
     Layout::Flat},
    {"qwen2_5_vl",
     "qwen2-window",
     "Qwen2_5_VLForConditionalGeneration",
     "model.",
     "lm_head.",
     {"visual.patch_embed.proj.weight"}},
    {"qwen3_vl",
     "qwen3-qknorm",
     "Qwen3VLForConditionalGeneration",
     "model.language_model.",
     "lm_head.",
     {"model.visual.merger.norm.weight", "model.visual.deepstack_merger_list.0.norm.weight"}},
    {"ministral3",
     "ministral3-yarn",
     "Mistral3ForConditionalGeneration",
     "model.language_model.",
     "lm_head.",
     {"model.vision_tower.a", "model.multi_modal_projector.b"}},
    {"no_prefix",
     "llama-old-config",
     "OldVisionForConditionalGeneration",
     "model.",
     "lm_head.",
     {"visual.blocks.0.attn.qkv.weight"}},
    {"with_draft_block",
     "llama-old-config",
     "NewVisionForConditionalGeneration",
     "model.language_model.",
     "lm_head.",
     {"model.visual.merger.weight", "mtp.layers.0.mlp.gate.weight"}},
    {"with_sound",
     "gemma3-old-config",
     "Gemma4ForConditionalGeneration",
     "model.language_model.",
     "lm_head.",
     {"model.vision_tower.a", "model.audio_tower.b", "model.embed_vision.c", "model.embed_audio.d",
      "model.vision_embedder.e"}},
    {"kimi",
     "llama-old-config",
     "KimiK25ForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {"vision_tower.a", "mm_projector.b"}},
    {"kimi_legacy",
     "llama-old-config",
     "KimiK25ForConditionalGeneration",
     "language_model.",
     "language_model.lm_head.",
     {"vision_tower.a", "mm_projector.b"}},
    {"llama4",
     "llama-old-config",
     "Llama4ForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {"vision_model.a", "multi_modal_projector.b"}},
    {"idefics3",
     "llama-old-config",
     "Idefics3ForConditionalGeneration",
     "model.text_model.",
     "lm_head.",
     {"model.vision_model.a", "model.connector.b"}},
    {"omni",
     "llama-old-config",
     "Qwen2_5OmniModel",
     "thinker.model.",
     "thinker.lm_head.",
     {"thinker.visual.a", "thinker.audio_tower.b", "talker.c", "token2wav.d"}},
    {"lfm2",
     "lfm2-biases-untied",
     "Lfm2VlForConditionalGeneration",
     "model.language_model.",
     "lm_head.",
     {"model.vision_tower.a", "model.multi_modal_projector.b"}},
    // The levels contradict each other; the tensor is present in one case and absent in the other.
    {"untied_all_the_same",
     "llama-old-config",
     "LlavaForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {},
     "\"tie_word_embeddings\": true, "},
    {"tied_all_the_same",
     "llama3-tied",
     "LlavaForConditionalGeneration",
     "language_model.model.",
     "language_model.lm_head.",
     {},
     "\"tie_word_embeddings\": false, "},
};

std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Gives the tensors, quoted as in JSON, the wrapper's prefixes.
void rename(std::string &json, const Wrapping &wrapping) {
  replaceAll(json, "\"lm_head.", "\"\1");
  replaceAll(json, "\"model.", "\"\2");
  replaceAll(json, "\"\1", std::string("\"") + wrapping.head);
  replaceAll(json, "\"\2", std::string("\"") + wrapping.model);
}

/// Returns the weights' file with the wrapper's names, followed by the towers.
std::string wrapWeights(const std::string &bytes, const Wrapping &wrapping) {
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof length);
  std::string header = bytes.substr(8, length), data = bytes.substr(8 + length);
  rename(header, wrapping);
  header.erase(header.rfind('}'));
  for (const char *name : wrapping.beside) {
    const bool drafts = std::string_view(name).starts_with("mtp.");
    header += std::string(",\"") + name + "\":{\"dtype\":\"" + (drafts ? "F32" : "I64") +
              "\",\"shape\":[" + (drafts ? "4" : "2") + "],\"data_offsets\":[" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 16) + "]}";
    data += std::string(16, '\0');
  }
  header += "}";
  return little<uint64_t>(header.size()) + header + data;
}

std::string wrapConfig(const std::string &config, const Wrapping &wrapping) {
  if (wrapping.layout == Layout::Flat) {
    std::string flat = config;
    replaceAll(flat, "Qwen2ForCausalLM", wrapping.architecture);
    return flat.replace(flat.find('{'), 1,
                        "{\"vision_config\": {\"depth\": 3}, \"image_token_id\": 7,");
  }
  const std::string nested =
      std::string_view(wrapping.architecture).starts_with("Qwen2_5Omni")
          ? "\"thinker_config\": {\"audio_config\": {\"d_model\": 8}, \"text_config\": " + config +
                "}"
          : "\"text_config\": " + config;
  return std::string("{\"architectures\": [\"") + wrapping.architecture +
         "\"], \"model_type\": \"wrapper\", \"image_token_index\": 7, " + wrapping.outerTie +
         "\"vision_config\": {\"hidden_size\": 12, \"num_hidden_layers\": 3}, " + nested + "}";
}

class Wrapper : public testing::TestWithParam<Wrapping> {
protected:
  Wrapper() {
    const std::string plain = tests::tinyCheckpoint(GetParam().tiny).model;
    CheckpointFiles wrapped;
    for (const auto &entry : std::filesystem::directory_iterator(plain)) {
      const std::string name = entry.path().filename().string();
      std::string content = contents(entry.path());
      if (name == "config.json")
        content = wrapConfig(content, GetParam());
      else if (name.ends_with(".safetensors"))
        content = wrapWeights(content, GetParam());
      else if (name.ends_with(".index.json"))
        rename(content, GetParam());
      wrapped.files[name] = content;
    }
    this->plain = open(plain);
    this->wrapped = open(writeCheckpoint(wrapped, folder.path(GetParam().tiny)));
  }

  static std::shared_ptr<import::Checkpoint> open(const std::string &path) {
    auto opened = import::openCheckpoint(path);
    EXPECT_TRUE(opened) << opened.error().format();
    return opened ? *opened : nullptr;
  }

  /// Returns the module as text; empty if the family refuses.
  static std::string import(const import::Checkpoint &checkpoint) {
    mlir::MLIRContext context;
    Error why;
    auto module = models::importModel(context, checkpoint, why);
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (mlir::succeeded(module))
      (*module)->print(stream);
    else
      ADD_FAILURE() << why.format();
    return text;
  }

  TemporaryFolder folder;
  std::shared_ptr<import::Checkpoint> plain, wrapped;
};

} // namespace

TEST_P(Wrapper, ImportsAsThePlainModel) {
  ASSERT_TRUE(plain && wrapped);
  EXPECT_EQ(wrapped->architecture, plain->architecture);
  const std::string module = import(*plain);
  EXPECT_FALSE(module.empty());
  EXPECT_EQ(import(*wrapped), module);
}

TEST_P(Wrapper, HoldsTheSameBytes) {
  ASSERT_TRUE(plain && wrapped);
  ASSERT_EQ(wrapped->tensors.size(), plain->tensors.size());
  for (const import::Tensor &tensor : plain->tensors) {
    const import::Tensor *same = wrapped->find(tensor.name);
    ASSERT_TRUE(same) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(same->data, tensor.data)) << tensor.name;
  }
  size_t beside = 0;
  for (const import::LeftOut &part : wrapped->leftOut)
    beside += part.tensors;
  EXPECT_EQ(beside, GetParam().beside.size());
}

// With config.json alone, a wrapped model has the shapes of the plain one.
TEST_P(Wrapper, ShapesAloneAreThePlainOnes) {
  const std::string json = contents(tests::tinyCheckpoint(GetParam().tiny).model + "/config.json");
  CheckpointFiles alone{.open = "config.json", .files = {{"config.json", json}}};
  auto plainShapes = open(writeCheckpoint(alone, folder.path("shapes")));
  Wrapping agreeing = GetParam();
  agreeing.outerTie = "";
  alone.files["config.json"] = wrapConfig(json, agreeing);
  auto wrappedShapes = open(writeCheckpoint(alone, folder.path("shapes")));
  ASSERT_TRUE(plainShapes && wrappedShapes);
  EXPECT_EQ(import(*wrappedShapes), import(*plainShapes));
}

INSTANTIATE_TEST_SUITE_P(All, Wrapper, testing::ValuesIn(kWrappings),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(WrapperErrors, AnUnknownTextModelIsNamed) {
  TemporaryFolder folder;
  CheckpointFiles files{.open = "config.json"};
  files.files["config.json"] = R"({"architectures": ["NewVisionForConditionalGeneration"],
      "text_config": {"model_type": "new_text", "hidden_size": 8}})";
  auto opened = import::openCheckpoint(writeCheckpoint(files, folder.path("m")));
  ASSERT_TRUE(opened) << opened.error().format();
  mlir::MLIRContext context;
  Error why;
  ASSERT_TRUE(mlir::failed(models::importModel(context, **opened, why)));
  EXPECT_EQ(why.code, "E0293");
  EXPECT_NE(why.what.find("'new_text'"), std::string::npos) << why.format();
}
