//===- Family.cpp - The table of families ---------------------------------===//
#include "models/Family.h"

#include "compiler/import/error/ImportErrors.h"
#include "models/AddFamily.h"
#include "models/Families.h"
#include "models/ModelErrors.h"

#include "llvm/ADT/StringExtras.h"

#include <vector>

using namespace ingot;
using namespace ingot::models;

using Names = llvm::StringLiteral;

static constexpr Names kLlama[] = {"llama", "LlamaForCausalLM", "MistralForCausalLM", "mistral"};
static constexpr Names kQwen2[] = {"qwen2", "Qwen2ForCausalLM", "qwen2vl"};
static constexpr Names kQwen3[] = {"qwen3", "Qwen3ForCausalLM", "qwen3vl"};
static constexpr Names kPhi3[] = {"phi3", "Phi3ForCausalLM"};
static constexpr Names kGemma[] = {"gemma", "GemmaForCausalLM"};
static constexpr Names kGemma2[] = {"gemma2", "Gemma2ForCausalLM"};
static constexpr Names kGemma3[] = {"gemma3", "Gemma3ForCausalLM", "gemma3_text"};
static constexpr Names kSmollm3[] = {"smollm3", "SmolLM3ForCausalLM"};
static constexpr Names kOlmo[] = {"olmo2", "Olmo2ForCausalLM", "olmo3", "Olmo3ForCausalLM"};
static constexpr Names kGranite[] = {"granite", "GraniteForCausalLM", "granitehybrid",
                                     "GraniteMoeHybridForCausalLM", "granitemoehybrid"};
static constexpr Names kCohere[] = {"command-r", "cohere", "CohereForCausalLM", "cohere2",
                                    "Cohere2ForCausalLM"};
static constexpr Names kStablelm[] = {"stablelm", "StableLmForCausalLM"};
static constexpr Names kStarcoder2[] = {"starcoder2", "Starcoder2ForCausalLM"};
static constexpr Names kGptneox[] = {"gptneox", "GPTNeoXForCausalLM", "gpt_neox"};
static constexpr Names kPhi2[] = {"phi2", "PhiForCausalLM", "phi"};
static constexpr Names kGpt2[] = {"gpt2", "GPT2LMHeadModel"};
static constexpr Names kMinistral3[] = {"mistral3", "Ministral3ForCausalLM", "ministral3"};
static constexpr Names kExaone4[] = {"exaone4", "Exaone4ForCausalLM"};
static constexpr Names kSeedOss[] = {"seed_oss", "SeedOssForCausalLM"};
static constexpr Names kHunyuan[] = {"hunyuan-dense", "HunYuanDenseV1ForCausalLM",
                                     "hunyuan_v1_dense"};
static constexpr Names kErnie45[] = {"ernie4_5", "Ernie4_5ForCausalLM"};
static constexpr Names kNemotron[] = {"nemotron", "NemotronForCausalLM"};
static constexpr Names kGlm4[] = {"glm4", "Glm4ForCausalLM", "glm", "GlmForCausalLM", "chatglm"};
static constexpr Names kArcee[] = {"arcee", "ArceeForCausalLM"};
static constexpr Names kApertus[] = {"apertus", "ApertusForCausalLM"};
static constexpr Names kLfm2[] = {"lfm2", "Lfm2ForCausalLM", "LFM2ForCausalLM"};
static constexpr Names kMixtral[] = {"mixtral", "MixtralForCausalLM"};
static constexpr Names kQwen2Moe[] = {"qwen2moe", "Qwen2MoeForCausalLM", "qwen2_moe"};
static constexpr Names kQwen3Moe[] = {"qwen3moe", "Qwen3MoeForCausalLM", "qwen3_moe"};
static constexpr Names kGptOss[] = {"gpt-oss", "GptOssForCausalLM", "gpt_oss"};
static constexpr Names kGraniteMoe[] = {"granitemoe", "GraniteMoeForCausalLM",
                                        "GraniteMoeSharedForCausalLM", "granitemoeshared"};
static constexpr Names kOlmoe[] = {"olmoe", "OlmoeForCausalLM"};
static constexpr Names kErnie45Moe[] = {"ernie4_5-moe", "Ernie4_5_MoeForCausalLM", "ernie4_5_moe"};
static constexpr Names kMinimaxM2[] = {"minimax-m2", "MiniMaxM2ForCausalLM", "minimax_m2"};
static constexpr Names kGlm4Moe[] = {"glm4moe", "Glm4MoeForCausalLM", "glm4_moe"};
static constexpr Names kHunyuanMoe[] = {"hunyuan-moe", "HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe"};
static constexpr Names kDots1[] = {"dots1", "Dots1ForCausalLM"};
static constexpr Names kLfm2Moe[] = {"lfm2moe", "Lfm2MoeForCausalLM", "lfm2_moe"};

static constexpr Family kFamilies[] = {
    {"llama", kLlama, readLlama},
    {"qwen2", kQwen2, readQwen2},
    {"qwen3", kQwen3, readQwen3},
    {"phi3", kPhi3, readPhi3},
    {"gemma", kGemma, readGemma},
    {"gemma2", kGemma2, readGemma2},
    {"gemma3", kGemma3, readGemma3},
    {"smollm3", kSmollm3, readSmolLm3},
    {"olmo", kOlmo, readOlmo},
    {"granite", kGranite, readGranite},
    {"cohere", kCohere, readCohere},
    {"stablelm", kStablelm, readStableLm},
    {"starcoder2", kStarcoder2, readStarCoder2},
    {"gptneox", kGptneox, readGptNeox},
    {"phi2", kPhi2, readPhi2},
    {"gpt2", kGpt2, readGpt2},
    {"ministral3", kMinistral3, readMinistral3},
    {"exaone4", kExaone4, readExaone4},
    {"seed_oss", kSeedOss, readSeedOss},
    {"hunyuan", kHunyuan, readHunYuan},
    {"ernie4_5", kErnie45, readErnie},
    {"nemotron", kNemotron, readNemotron},
    {"glm4", kGlm4, readGlm},
    {"arcee", kArcee, readArcee},
    {"apertus", kApertus, readApertus},
    {"lfm2", kLfm2, readLfm2},
    {"mixtral", kMixtral, readMixtral},
    {"qwen2moe", kQwen2Moe, readQwen2Moe},
    {"qwen3moe", kQwen3Moe, readQwen3Moe},
    {"gpt_oss", kGptOss, readGptOss},
    {"granitemoe", kGraniteMoe, readGraniteMoe},
    {"olmoe", kOlmoe, readOlmoe},
    {"ernie4_5_moe", kErnie45Moe, readErnieMoe},
    {"minimax_m2", kMinimaxM2, readMiniMaxM2},
    {"glm4moe", kGlm4Moe, readGlm4Moe},
    {"lfm2moe", kLfm2Moe, readLfm2Moe},
    {"hunyuan_moe", kHunyuanMoe, readHunYuanMoe},
    {"dots1", kDots1, readDots1},
};

/// Names that occur only as model_type of a config.json: GGUF uses other names.
static constexpr Names kModelTypes[] = {
    "cohere",
    "ernie4_5_moe",
    "gemma3_text",
    "glm",
    "glm4_moe",
    "gpt_neox",
    "gpt_oss",
    "granitemoehybrid",
    "granitemoeshared",
    "hunyuan_v1_dense",
    "hunyuan_v1_moe",
    "lfm2_moe",
    "minimax_m2",
    "ministral3",
    "mistral",
    "mixtral",
    "olmo3",
    "phi",
    "qwen2_moe",
    "qwen3_moe",
};

static std::vector<Family> &allFamilies() {
  static std::vector<Family> all(std::begin(kFamilies), std::end(kFamilies));
  return all;
}

llvm::ArrayRef<Family> models::families() { return allFamilies(); }

void models::addFamily(const Family &family) { allFamilies().push_back(family); }

bool models::isOfConfig(llvm::StringRef architecture) {
  return llvm::any_of(architecture, llvm::isUpper);
}

bool models::isOfGguf(llvm::StringRef architecture) {
  return !isOfConfig(architecture) && !llvm::is_contained(kModelTypes, architecture);
}

/// Returns whether `architecture` is transformers' name for a model that was saved without its head: "Qwen3Model" for
/// Qwen3ForCausalLM.
static bool isBaseOf(llvm::StringRef architecture, llvm::StringRef known) {
  if (!architecture.consume_back("Model"))
    return false;
  architecture.consume_back("Text"); // Gemma 3's
  return known.consume_front(architecture) && (known == "ForCausalLM" || known == "LMHeadModel");
}

const Family *models::findFamily(llvm::StringRef architecture) {
  for (const Family &family : families())
    for (llvm::StringRef known : family.architectures)
      if (known == architecture || isBaseOf(architecture, known))
        return &family;
  return nullptr;
}

ImportedModel models::importModel(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                                  Error &why) {
  if (const Family *family = findFamily(checkpoint.architecture))
    return importDecoder(context, checkpoint, family->name, family->read, why);
  std::string list;
  for (const Family &family : families())
    for (llvm::StringRef known : family.architectures)
      list += (list.empty() ? "" : ", ") + known.str();
  why = import::refuse(cause::architectureUnknown,
                       import::line("the architecture ", import::inQuotes(checkpoint.architecture),
                                    " is not supported"),
                       import::line("supported: ", list), "use a checkpoint of one of these");
  return mlir::failure();
}
