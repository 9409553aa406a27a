//===- Family.cpp - The table of families ---------------------------------===//
#include "models/Family.h"

#include "compiler/import/ImportErrors.h"
#include "models/Families.h"
#include "models/ModelErrors.h"

using namespace ingot;
using namespace ingot::models;

// A GGUF's general.architecture, a config.json's architectures or, where that is missing, its
// model_type. MistralForCausalLM is Llama with, in some checkpoints, a window on all layers.
static constexpr llvm::StringLiteral kLlama[] = {"llama", "LlamaForCausalLM", "MistralForCausalLM",
                                                 "mistral"};
static constexpr llvm::StringLiteral kGemma3[] = {"gemma3", "Gemma3ForCausalLM", "gemma3_text"};

static constexpr llvm::StringLiteral kGptNeox[] = {"gptneox", "GPTNeoXForCausalLM", "gpt_neox"};

static constexpr llvm::StringLiteral kLfm2[] = {"lfm2", "Lfm2ForCausalLM", "LFM2ForCausalLM"};

static constexpr Family kFamilies[] = {
    {"llama", kLlama, importLlama},
    {"gemma3", kGemma3, importGemma3},
    {"gptneox", kGptNeox, importGptNeox},
    {"lfm2", kLfm2, importLfm2},
};

llvm::ArrayRef<Family> models::families() { return kFamilies; }

const Family *models::findFamily(llvm::StringRef architecture) {
  for (const Family &family : kFamilies)
    for (llvm::StringRef known : family.architectures)
      if (known == architecture)
        return &family;
  return nullptr;
}

ImportedModel models::importModel(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                                  Error &why) {
  if (const Family *family = findFamily(checkpoint.architecture))
    return family->import(context, checkpoint, why);
  std::string list;
  for (const Family &family : kFamilies)
    for (llvm::StringRef known : family.architectures)
      list += (list.empty() ? "" : ", ") + known.str();
  why = import::refuse(cause::architectureUnknown,
                       import::line("the architecture ", import::inQuotes(checkpoint.architecture),
                                    " is not supported"),
                       import::line("supported: ", list), "use a checkpoint of one of these");
  return mlir::failure();
}
