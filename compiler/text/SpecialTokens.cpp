//===- SpecialTokens.cpp - Which ids begin and end a text ----------------===//
//
// A safetensors folder says it in up to four files, and they disagree often: generation may
// stop at more ids (generation_config.json, a list) than the tokenizer calls its end. Every
// one that is named ends a generation. GGUF has one key per meaning.
//===----------------------------------------------------------------------===//

#include "compiler/text/GgufVocabulary.h"

#include <algorithm>
#include <limits>
#include <simdjson.h>

namespace ingot::text {

using import::Checkpoint;
namespace dom = simdjson::dom;

namespace {

void addEnd(SpecialTokens &special, int64_t id) {
  if (id < 0 || id > std::numeric_limits<int32_t>::max())
    return;
  auto end = static_cast<int32_t>(id);
  if (std::ranges::find(special.eos, end) == special.eos.end())
    special.eos.push_back(end);
}

int32_t smallId(int64_t id) {
  return id >= 0 && id <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(id) : -1;
}

/// An id or a list of ids.
void addEnds(SpecialTokens &special, const dom::element &value) {
  dom::array list;
  if (value.get(list) == simdjson::SUCCESS) {
    for (dom::element item : list)
      addEnds(special, item);
    return;
  }
  int64_t id;
  if (value.get(id) == simdjson::SUCCESS)
    addEnd(special, id);
}

Result<SpecialTokens> ggufTokens(const Checkpoint &checkpoint) {
  SpecialTokens special;
  auto number = [&](const char *name) {
    return checkpoint.integerOr(std::string("tokenizer.ggml.") + name + "_token_id", -1);
  };
  const std::pair<const char *, int32_t *> single[] = {
      {"bos", &special.bos}, {"padding", &special.pad}, {"unknown", &special.unknown}};
  for (auto [name, target] : single) {
    auto id = number(name);
    if (!id)
      return id.error();
    *target = smallId(*id);
  }
  for (const char *name : {"eos", "eot", "eom"}) {
    auto id = number(name);
    if (!id)
      return id.error();
    addEnd(special, *id);
  }
  // Where the file does not say: SentencePiece models, Llama 3 and its like begin with BOS.
  auto text = [&](const char *key) {
    auto value = checkpoint.has(key) ? checkpoint.string(key) : std::string();
    return value ? *value : std::string();
  };
  const std::string model = text("tokenizer.ggml.model");
  const bool usual = model == "llama" || beginsWithBos(text("tokenizer.ggml.pre"));
  auto addBos = checkpoint.booleanOr("tokenizer.ggml.add_bos_token", usual && special.bos >= 0);
  if (!addBos)
    return addBos.error();
  // Gemma 4 cannot do without it, and its first files said otherwise.
  special.addBos = *addBos || (model == "gemma4" && special.bos >= 0);
  return special;
}

/// Ids of config.json (already metadata) and generation_config.json.
Result<SpecialTokens> configTokens(const Checkpoint &checkpoint) {
  SpecialTokens special;
  dom::parser parser;
  dom::element generation;
  bool hasGeneration =
      !checkpoint.text.generationConfigJson.empty() &&
      parser.parse(checkpoint.text.generationConfigJson).get(generation) == simdjson::SUCCESS;
  dom::element ends;
  if (hasGeneration && generation["eos_token_id"].get(ends) == simdjson::SUCCESS)
    addEnds(special, ends);
  if (const import::MetaArray *list = checkpoint.array("eos_token_id")) {
    if (const auto *ids = std::get_if<std::vector<int64_t>>(list))
      for (int64_t id : *ids)
        addEnd(special, id);
  } else if (auto id = checkpoint.integerOr("eos_token_id", -1)) {
    addEnd(special, *id);
  }
  auto single = [&](const char *key) -> int32_t {
    int64_t stated;
    if (hasGeneration && generation[key].get(stated) == simdjson::SUCCESS)
      return smallId(stated);
    auto id = checkpoint.integerOr(key, -1);
    return id ? smallId(*id) : -1;
  };
  special.bos = single("bos_token_id");
  special.pad = single("pad_token_id");
  return special;
}

/// A special token is a string or an object with `content`.
std::optional<int32_t> namedToken(const dom::element &file, const char *key,
                                  const Tokenizer &tokenizer) {
  dom::element value;
  if (file[key].get(value) != simdjson::SUCCESS)
    return std::nullopt;
  std::string_view name;
  if (value.get(name) != simdjson::SUCCESS && value["content"].get(name) != simdjson::SUCCESS)
    return std::nullopt;
  return tokenizer.idOf(name);
}

/// Whether tokenizer.json's post-processor puts BOS first.
bool postProcessorAddsBos(const std::string &json, const Tokenizer &tokenizer, int32_t bos) {
  dom::parser parser;
  dom::element file, processor;
  if (parser.parse(json).get(file) != simdjson::SUCCESS ||
      file["post_processor"].get(processor) != simdjson::SUCCESS)
    return false;
  auto startsWithBos = [&](const dom::element &step) {
    dom::array single;
    std::string_view name;
    return step["single"].get(single) == simdjson::SUCCESS && single.begin() != single.end() &&
           (*single.begin())["SpecialToken"]["id"].get(name) == simdjson::SUCCESS &&
           tokenizer.idOf(name) == bos;
  };
  dom::array steps;
  if (processor["processors"].get(steps) != simdjson::SUCCESS)
    return startsWithBos(processor);
  return std::any_of(steps.begin(), steps.end(), startsWithBos);
}

Result<SpecialTokens> folderTokens(const Checkpoint &checkpoint, const Tokenizer &tokenizer) {
  auto stated = configTokens(checkpoint);
  if (!stated)
    return stated.error();
  SpecialTokens special = *stated;
  std::optional<bool> addBos;
  for (const std::string *json :
       {&checkpoint.text.tokenizerConfigJson, &checkpoint.text.specialTokensMapJson}) {
    dom::parser parser;
    dom::element file;
    if (json->empty() || parser.parse(*json).get(file) != simdjson::SUCCESS)
      continue;
    if (auto id = namedToken(file, "eos_token", tokenizer))
      addEnd(special, *id);
    if (auto id = namedToken(file, "unk_token", tokenizer); id && special.unknown < 0)
      special.unknown = *id;
    // The tokenizer's own name beats config.json, which is often left over from a base model.
    if (auto id = namedToken(file, "bos_token", tokenizer);
        id && json == &checkpoint.text.tokenizerConfigJson)
      special.bos = *id;
    else if (id && special.bos < 0)
      special.bos = *id;
    if (auto id = namedToken(file, "pad_token", tokenizer); id && special.pad < 0)
      special.pad = *id;
    bool flag;
    if (!addBos && file["add_bos_token"].get(flag) == simdjson::SUCCESS)
      addBos = flag;
  }
  special.addBos =
      addBos.value_or(special.bos >= 0 &&
                      postProcessorAddsBos(checkpoint.text.tokenizerJson, tokenizer, special.bos));
  return special;
}

/// End-of-turn tokens that a GGUF may have without a key for them. They count where the
/// chat template writes them: then the model was trained to end its turn with them.
constexpr std::string_view kTurnEnds[] = {"<|im_end|>", "<|eot_id|>",      "<end_of_turn>",
                                          "<|end|>",    "<|end_of_text|>", "<|eom_id|>",
                                          "<|return|>", "<turn|>"};

} // namespace

Result<SpecialTokens> configuredSpecialTokens(const Checkpoint &checkpoint) {
  return checkpoint.container == import::Container::Gguf ? ggufTokens(checkpoint)
                                                         : configTokens(checkpoint);
}

Result<SpecialTokens> findSpecialTokens(const Checkpoint &checkpoint, const Tokenizer &tokenizer) {
  bool gguf = checkpoint.container == import::Container::Gguf;
  auto found = gguf ? ggufTokens(checkpoint) : folderTokens(checkpoint, tokenizer);
  if (!found)
    return found.error();
  SpecialTokens special = *found;

  if (gguf && checkpoint.has("tokenizer.chat_template"))
    if (auto chat = checkpoint.string("tokenizer.chat_template"))
      for (std::string_view name : kTurnEnds)
        if (auto id = tokenizer.idOf(name);
            id && tokenizer.isSpecial(*id) && chat->find(name) != std::string::npos)
          addEnd(special, *id);

  auto outside = [&](int32_t id) { return id >= tokenizer.vocabSize(); };
  if (gguf && (outside(special.bos) || outside(special.pad) || outside(special.unknown) ||
               std::ranges::any_of(special.eos, outside)))
    return damagedVocabulary("a special token id is not below " +
                             std::to_string(tokenizer.vocabSize()));
  std::erase_if(special.eos, outside);
  for (int32_t *id : {&special.bos, &special.pad, &special.unknown})
    if (outside(*id))
      *id = -1;
  special.addBos = special.addBos && special.bos >= 0;
  return special;
}

} // namespace ingot::text
