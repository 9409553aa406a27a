//===- BaseNamesTest.cpp - Tensor names with other prefixes ---------------===//
//
// Every tiny safetensors checkpoint is saved as its base model would be, without the prefix of the model that
// has a head, and with prefixes that training programs add. A family must build exactly the same module as
// from the plain checkpoint; without its head, the module must be that of the model whose head is the
// embedding.
//===----------------------------------------------------------------------===//
#include "compiler/import/OpenCheckpoint.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h" // little()
#include "tests/compiler/import/TemporaryFolder.h"
#include "tests/models/TinyCheckpoints.h"

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr const char *kBases[] = {"model.", "transformer.", "gpt_neox."};
constexpr const char *kHeads[] = {"lm_head.", "embed_out."};

std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Renames the tensors, quoted as in JSON: `base` replaces the model's prefix, `outer` precedes a head.
void rename(std::string &json, const std::string &base, const std::string &outer, bool keeps) {
  for (const char *prefix : kBases)
    replaceAll(json, std::string("\"") + prefix, "\"\1" + base + (keeps ? prefix : ""));
  for (const char *head : kHeads)
    replaceAll(json, std::string("\"") + head, "\"\1" + outer + head);
  replaceAll(json, "\1", "");
}

struct Renaming {
  const char *name;
  std::string before; ///< prefix of every name
  bool keepsPrefix;   ///< whether "model." stays
};

const Renaming kRenamings[] = {{"base", "", false},
                               {"ddp", "module.", true},
                               {"compiled", "_orig_mod.", true},
                               {"merged", "base_model.model.", true}};

class BaseNames : public testing::TestWithParam<std::string> {
protected:
  std::string save(const Renaming &renaming) {
    CheckpointFiles files;
    for (const auto &entry :
         std::filesystem::directory_iterator(tests::tinyCheckpoint(GetParam()).model)) {
      const std::string name = entry.path().filename().string();
      std::string content = contents(entry.path());
      if (name.ends_with(".safetensors")) {
        uint64_t length;
        std::memcpy(&length, content.data(), sizeof length);
        std::string header = content.substr(8, length);
        rename(header, renaming.before, renaming.before, renaming.keepsPrefix);
        content = little<uint64_t>(header.size()) + header + content.substr(8 + length);
      } else if (name.ends_with(".index.json")) {
        rename(content, renaming.before, renaming.before, renaming.keepsPrefix);
      }
      files.files[name] = content;
    }
    return writeCheckpoint(files, folder.path(GetParam()));
  }

  /// Returns the module as text, or the error.
  static std::string import(const std::string &path) {
    auto opened = import::openCheckpoint(path);
    if (!opened)
      return opened.error().format();
    mlir::MLIRContext context;
    mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) {});
    Error why;
    auto module = models::importModel(context, **opened, why);
    if (mlir::failed(module))
      return why.format();
    std::string text;
    llvm::raw_string_ostream(text) << **module;
    return text;
  }

  TemporaryFolder folder;
};

std::vector<std::string> tinyFolders() {
  std::vector<std::string> names = tests::tinyNames();
  std::erase_if(names, [](const std::string &name) {
    return tests::tinyCheckpoint(name).model.ends_with(".gguf") || name.starts_with("qwen3-vl") ||
           name == "gemma3-wrapper"; // WrapperTest.cpp has those
  });
  return names;
}

} // namespace

TEST_P(BaseNames, ImportAsThePlainOnes) {
  const std::string plain = import(tests::tinyCheckpoint(GetParam()).model);
  EXPECT_NE(plain.find("lm.model"), std::string::npos) << plain;
  for (const Renaming &renaming : kRenamings) {
    SCOPED_TRACE(renaming.name);
    EXPECT_EQ(import(save(renaming)), plain);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BaseNames, testing::ValuesIn(tinyFolders()), [](const auto &info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

namespace {

/// Returns Llama as saved by transformers' LlamaModel, without its head. Its configuration says that the head is not
/// the embedding.
tests::Changed headless() {
  tests::Changed tiny("llama-old-config");
  tiny.checkpoint.headless = true;
  tiny.checkpoint.architecture = "LlamaModel";
  return tiny;
}

} // namespace

TEST(BaseNamesAlone, AModelWithoutItsHeadHasTheEmbedding) {
  tests::Changed tiny = headless();
  tiny.drop("lm_head.weight");
  EXPECT_NE(tiny.import().find("lm.model"), std::string::npos) << tiny.import();
  tests::Changed tied("llama-old-config");
  tied.drop("lm_head.weight");
  tied.checkpoint.metadata["tie_word_embeddings"] = true;
  EXPECT_EQ(tiny.import(), tied.import());
}

TEST(BaseNamesAlone, ArchitecturesOfBaseModels) {
  for (const char *architecture :
       {"Qwen3Model", "LlamaModel", "Gemma3TextModel", "GPT2Model", "GPTNeoXModel", "Olmo3Model",
        "MistralModel", "Qwen2MoeModel", "HunYuanDenseV1Model", "PhiModel"})
    EXPECT_TRUE(models::findFamily(architecture)) << architecture;
  for (const char *other : {"BertModel", "Model", "TextModel", "Qwen3ForSequenceClassification"})
    EXPECT_FALSE(models::findFamily(other)) << other;
}
