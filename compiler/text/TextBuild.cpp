//===- TextBuild.cpp - A checkpoint's tokenizer and chat template --------===//

#include "compiler/text/TextBuild.h"
#include "compiler/text/GgufVocabulary.h"
#include "runtime/text/CrateCalls.h"

#include <algorithm>
#include <simdjson.h>

namespace ingot::text {

using import::Checkpoint;

namespace {

/// Reads the special tokens from `json`, the output of ingot_tokenizer_compile.
SpecialTokens namedBy(const std::string &json) {
  SpecialTokens special;
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(json).get(document))
    return special;
  auto ids = [&](const char *key, std::vector<int32_t> &into) {
    for (int64_t id : document[key].get_array())
      into.push_back(static_cast<int32_t>(std::min<int64_t>(id, INT32_MAX)));
  };
  ids("prefix", special.prefix);
  ids("suffix", special.suffix);
  for (auto [name, token] : document["names"].get_object())
    special.names.emplace_back(name, std::string_view(token));
  return special;
}

/// In a GGUF, "tokenizer.chat_template" is the default template, and "tokenizer.chat_template.NAME" are
/// others.
Result<std::vector<import::NamedTemplate>> templatesOf(const Checkpoint &checkpoint) {
  std::vector<import::NamedTemplate> found = checkpoint.text.chatTemplates;
  constexpr std::string_view kKey = "tokenizer.chat_template";
  for (auto at = checkpoint.metadata.lower_bound(kKey);
       at != checkpoint.metadata.end() && at->first.starts_with(kKey); ++at) {
    std::string_view name = std::string_view(at->first).substr(kKey.size());
    if (!name.empty() && name.front() != '.')
      continue; // "tokenizer.chat_templates" lists the names
    auto source = checkpoint.string(at->first);
    if (!source)
      return source.error();
    name.remove_prefix(name.empty() ? 0 : 1);
    found.push_back({std::string(name.empty() ? "default" : name), std::move(*source)});
  }
  std::erase_if(found, [](const auto &one) { return one.source.empty(); });
  return found;
}

Error noSuchTemplate(const std::vector<import::NamedTemplate> &all, std::string_view chosen) {
  std::string names;
  for (const import::NamedTemplate &one : all)
    names += (names.empty() ? "" : ", ") + one.name;
  const std::string count = std::to_string(all.size());
  return {ExitCode::Usage, "E0627",
          chosen.empty()
              ? "none of the checkpoint's " + count + " chat templates is the default one"
              : "no chat template is named '" + std::string(chosen) + "'",
          all.empty() ? "the checkpoint has no chat template"
                      : "the checkpoint has " + count + ": " + names,
          all.empty() ? "give a file: --chat-template FILE.jinja"
                      : "choose one for all requests: --chat-template-name " + all.front().name};
}

} // namespace

Result<TokenizerArtifact> compileTokenizer(const TokenizerTexts &texts, BpeForm form) {
  TokenizerArtifact artifact;
  std::string special, why;
  bool flat = false;
  auto slice = [](std::string_view text) { return IngotTextSlice{text.data(), text.size()}; };
  const IngotTokenizerFiles files{slice(texts.tokenizerJson), slice(texts.configJson),
                                  slice(texts.specialTokensMapJson), slice(texts.addedTokensJson)};
  int32_t status =
      ingot_tokenizer_compile(&files, form == BpeForm::Library, &flat, appendTo(artifact.bytes),
                              appendTo(special), appendTo(why));
  if (status != INGOT_TEXT_OK)
    return damagedVocabulary(why);
  artifact.kind = flat ? kFlatBpe : kHfJson;
  artifact.special = namedBy(special);
  return artifact;
}

Result<TokenizerArtifact> compileTokenizerJson(std::string_view json, BpeForm form) {
  return compileTokenizer({json}, form);
}

Result<std::optional<TokenizerArtifact>> buildTokenizer(const Checkpoint &checkpoint) {
  checkpoint.ignore("tokenizer.*");
  auto found = tokenizerJsonOf(checkpoint);
  if (!found)
    return found.error();
  if (found->json.empty())
    return std::optional<TokenizerArtifact>();

  const import::TextFiles &files = checkpoint.text;
  auto artifact = compileTokenizer(
      {found->json, found->config, files.specialTokensMapJson, files.addedTokensJson});
  if (!artifact)
    return artifact.error();
  artifact->source = std::move(found->source);
  auto tokenizer = Tokenizer::fromBytes(artifact->kind, std::as_bytes(std::span(artifact->bytes)));
  if (!tokenizer)
    return tokenizer.error();
  if (auto named = findSpecialTokens(checkpoint, **tokenizer, artifact->special); !named)
    return named.error();
  return std::optional<TokenizerArtifact>(std::move(*artifact));
}

Result<void> checkChatTemplate(std::string_view source) {
  auto parsed = ChatTemplate::parse(source);
  return parsed ? Result<void>() : parsed.error();
}

Result<ChatTemplates> findChatTemplates(const Checkpoint &checkpoint, std::string_view chosen) {
  auto all = templatesOf(checkpoint);
  if (!all)
    return all.error();
  ChatTemplates found;
  found.count = all->size();
  if (all->empty() && chosen.empty())
    return found;
  const std::string_view name = !chosen.empty()    ? chosen
                                : all->size() == 1 ? std::string_view(all->front().name)
                                                   : "default";
  auto main = std::ranges::find(*all, name, &import::NamedTemplate::name);
  if (main == all->end())
    return noSuchTemplate(*all, chosen);
  found.name = main->name;
  found.source = main->source;
  if (chosen.empty())
    std::ranges::copy_if(*all, std::back_inserter(found.other),
                         [&](const auto &one) { return one.name != name; });
  for (const import::NamedTemplate &one : *all)
    if (one.name == found.name || !found.other.empty())
      if (auto checked = checkChatTemplate(one.source); !checked) {
        Error error = checked.error();
        if (all->size() > 1) {
          error.why = "template '" + one.name + "': " + error.why;
          error.fix = "choose another one for all requests: --chat-template-name NAME";
        }
        return error;
      }
  return found;
}

} // namespace ingot::text
