//===- SpecialTokens.cpp - The ids that begin and end a text -------------===//
//
// A safetensors folder states these tokens in up to five files, which often disagree. For example,
// generation_config.json may list more stop tokens than the tokenizer's end token. Every end token that a file names
// ends a generation. GGUF has one key for each kind of special token. In both containers, the tokens that end a turn in
// the chat template's format end a generation as well (TurnEnds.h).
//
// The post-processor of tokenizer.json determines the tokens that are put before a text, as in transformers 5:
// `add_bos_token` of tokenizer_config.json is not read if there is a tokenizer.json.
//===----------------------------------------------------------------------===//

#include "compiler/text/GgufVocabulary.h"
#include "compiler/text/TurnEnds.h"

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

/// Adds an id or a list of ids.
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

/// A GGUF key of a special token, and the name of that token in chat templates.
struct GgufToken {
  const char *key, *name;
};
constexpr GgufToken kGgufTokens[] = {{"bos", "bos_token"},     {"eos", "eos_token"},
                                     {"unknown", "unk_token"}, {"seperator", "sep_token"},
                                     {"padding", "pad_token"}, {"cls", "cls_token"},
                                     {"mask", "mask_token"}};

Result<int32_t> ggufId(const Checkpoint &checkpoint, const char *key) {
  auto id = checkpoint.integerOr(std::string("tokenizer.ggml.") + key + "_token_id", -1);
  return id ? Result<int32_t>(smallId(*id)) : id.error();
}

Result<SpecialTokens> ggufTokens(const Checkpoint &checkpoint) {
  SpecialTokens special;
  const std::pair<const char *, int32_t *> single[] = {
      {"bos", &special.bos}, {"padding", &special.pad}, {"unknown", &special.unknown}};
  for (auto [name, target] : single) {
    auto id = ggufId(checkpoint, name);
    if (!id)
      return id.error();
    *target = *id;
  }
  for (const char *name : {"eos", "eot", "eom"}) {
    auto id = ggufId(checkpoint, name);
    if (!id)
      return id.error();
    addEnd(special, *id);
  }
  // If the file has no key, texts of SentencePiece models, Llama 3 and similar models begin with BOS.
  auto text = [&](const char *key) {
    auto value = checkpoint.has(key) ? checkpoint.string(key) : std::string();
    return value ? *value : std::string();
  };
  const std::string model = text("tokenizer.ggml.model");
  const bool usual = model == "llama" || beginsWithBos(text("tokenizer.ggml.pre"));
  auto addBos = checkpoint.booleanOr("tokenizer.ggml.add_bos_token", usual);
  auto addEos = checkpoint.booleanOr("tokenizer.ggml.add_eos_token", false);
  if (!addBos || !addEos)
    return addBos ? addEos.error() : addBos.error();
  // Gemma 4 requires BOS, although its first files said otherwise.
  if (special.bos >= 0 && (*addBos || model == "gemma4"))
    special.prefix = {special.bos};
  if (*addEos && !special.eos.empty())
    special.suffix = {special.eos.front()};
  return special;
}

/// Reads the ids of config.json, which are in the checkpoint's metadata, and of generation_config.json.
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

/// Finds the ids of a safetensors folder. `named` holds the tokens that the tokenizer's files name.
Result<SpecialTokens> folderTokens(const Checkpoint &checkpoint, const Tokenizer &tokenizer,
                                   SpecialTokens named) {
  auto stated = configTokens(checkpoint);
  if (!stated)
    return stated.error();
  SpecialTokens special = std::move(*stated);
  for (const auto &[name, token] : named.names) {
    auto id = tokenizer.idOf(token);
    if (!id)
      continue;
    if (name == "eos_token")
      addEnd(special, *id);
    // The tokenizer's own name overrides config.json, which is often left over from a base model.
    if (name == "bos_token")
      special.bos = *id;
    if (name == "pad_token" && special.pad < 0)
      special.pad = *id;
    if (name == "unk_token" && special.unknown < 0)
      special.unknown = *id;
  }
  special.prefix = std::move(named.prefix);
  special.suffix = std::move(named.suffix);
  special.names = std::move(named.names);
  return special;
}

/// Returns the default chat template, in either container; "" if there is none.
std::string mainTemplate(const Checkpoint &checkpoint) {
  if (checkpoint.has("tokenizer.chat_template"))
    if (auto chat = checkpoint.string("tokenizer.chat_template"))
      return *chat;
  const auto &all = checkpoint.text.chatTemplates;
  auto main = std::ranges::find(all, "default", &import::NamedTemplate::name);
  return main != all.end() ? main->source : all.empty() ? "" : all.front().source;
}

/// Adds to the stop tokens the tokens that end a turn in the template's format, and removes the tokens that end a
/// message within a turn.
void applyFormat(SpecialTokens &special, const Checkpoint &checkpoint, const Tokenizer &tokenizer) {
  const TurnEnds turn = turnEnds(mainTemplate(checkpoint));
  auto idOf = [&](std::string_view name) {
    auto id = tokenizer.idOf(name);
    return id && tokenizer.isSpecial(*id) ? *id : -1;
  };
  for (std::string_view name : turn.ends)
    addEnd(special, idOf(name));
  for (std::string_view name : turn.within)
    std::erase(special.eos, idOf(name));
}

} // namespace

Result<SpecialTokens> configuredSpecialTokens(const Checkpoint &checkpoint) {
  return checkpoint.container == import::Container::Gguf ? ggufTokens(checkpoint)
                                                         : configTokens(checkpoint);
}

Result<void> findSpecialTokens(const Checkpoint &checkpoint, const Tokenizer &tokenizer,
                               SpecialTokens &special) {
  bool gguf = checkpoint.container == import::Container::Gguf;
  auto found = gguf ? ggufTokens(checkpoint) : folderTokens(checkpoint, tokenizer, special);
  if (!found)
    return found.error();
  special = std::move(*found);
  applyFormat(special, checkpoint, tokenizer);

  auto outside = [&](int32_t id) { return id >= tokenizer.vocabSize(); };
  auto anyOutside = [&](const std::vector<int32_t> &ids) {
    return std::ranges::any_of(ids, outside);
  };
  if ((gguf && (outside(special.bos) || outside(special.pad) || outside(special.unknown) ||
                anyOutside(special.eos))) ||
      anyOutside(special.prefix) || anyOutside(special.suffix))
    return damagedVocabulary("a special token id is not below " +
                             std::to_string(tokenizer.vocabSize()));
  std::erase_if(special.eos, outside);
  for (int32_t *id : {&special.bos, &special.pad, &special.unknown})
    if (outside(*id))
      *id = -1;
  for (const auto &[key, name] : kGgufTokens)
    if (auto id = gguf ? ggufId(checkpoint, key) : Result<int32_t>(-1); id && *id >= 0)
      special.names.emplace_back(name, tokenizer.tokenBytes(*id));
  return {};
}

} // namespace ingot::text
