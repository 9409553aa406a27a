//===- TextFiles.cpp - The text files next to a folder's weights ------------===//
#include "compiler/import/config/TextFiles.h"
#include "compiler/import/config/ChatTemplate.h"

#include <algorithm>

namespace ingot::import {

namespace {

constexpr uint64_t kMaxSmall = uint64_t(16) << 20;
constexpr uint64_t kMaxConfig = uint64_t(64) << 20;
constexpr uint64_t kMaxTokenizer = uint64_t(256) << 20;
constexpr uint64_t kMaxTemplate = uint64_t(1) << 20;
constexpr char kTemplateFolder[] = "additional_chat_templates";

struct Wanted {
  const char *name;
  uint64_t limit;
  std::string &target;
};

Result<void> readAll(Folder &folder, std::span<const Wanted> files) {
  for (const Wanted &file : files) {
    Result<std::string> content = folder.text(file.name, file.limit);
    if (!content)
      return content.error();
    if (file.target.empty())
      file.target = std::move(*content);
  }
  return {};
}

/// Reads the tokenizer files that take the place of a tokenizer.json. Of these, tokenizer.model is a binary
/// SentencePiece model, or a tiktoken table, as for Llama 3.
Result<void> readOtherTokenizers(Folder &folder, TextFiles &text) {
  const Wanted files[] = {{"vocab.json", kMaxTokenizer, text.vocabJson},
                          {"merges.txt", kMaxTokenizer, text.mergesTxt},
                          {"tekken.json", kMaxTokenizer, text.tekkenJson}};
  if (Result<void> read = readAll(folder, files); !read)
    return read;
  for (const char *name : {"tokenizer.model", "tokenizer.model.v3", "tokenizer.model.v2",
                           "tokenizer.model.v1", "tiktoken.model"}) {
    if (!folder.has(name) || !text.tokenizerModel.empty())
      continue;
    Result<std::shared_ptr<const MappedFile>> file = folder.open(name, kMaxTokenizer);
    if (!file)
      return file.error();
    text.tokenizerModel = (*file)->text();
  }
  return {};
}

void addNew(std::vector<NamedTemplate> &all, std::vector<NamedTemplate> more) {
  for (NamedTemplate &one : more)
    if (std::ranges::find(all, one.name, &NamedTemplate::name) == all.end())
      all.push_back(std::move(one));
}

/// Reads the chat templates. chat_template.jinja and the files of the template folder take precedence over
/// chat_template.json, which takes precedence over the field of tokenizer_config.json. A later source is used only if
/// the earlier ones have no default template.
Result<void> readTemplates(Folder &folder, TextFiles &text) {
  Result<std::string> plain = folder.text("chat_template.jinja", kMaxTemplate);
  if (!plain)
    return plain.error();
  if (!plain->empty())
    text.chatTemplates.push_back({"default", std::move(*plain)});
  constexpr std::string_view kEnding = ".jinja";
  for (const std::string &file : folder.filesIn(kTemplateFolder, kEnding)) {
    Result<std::string> source =
        folder.text(std::string(kTemplateFolder) + "/" + file, kMaxTemplate);
    if (!source)
      return source.error();
    const std::string name = file.substr(0, file.size() - kEnding.size());
    addNew(text.chatTemplates, {{name, std::move(*source)}});
  }
  Result<std::string> legacy = folder.text("chat_template.json", kMaxSmall);
  if (!legacy)
    return legacy.error();
  const std::pair<const char *, const std::string *> fields[] = {
      {"chat_template.json", &*legacy}, {"tokenizer_config.json", &text.tokenizerConfigJson}};
  for (const auto &[name, json] : fields) {
    const bool complete = std::ranges::find(text.chatTemplates, "default", &NamedTemplate::name) !=
                          text.chatTemplates.end();
    if (complete || json->empty())
      continue;
    Result<std::vector<NamedTemplate>> found = chatTemplatesIn(*json, folder.pathOf(name));
    if (!found)
      return found.error();
    addNew(text.chatTemplates, std::move(*found));
  }
  return {};
}

} // namespace

Result<TextFiles> readTextFiles(Folder &folder) {
  TextFiles text;
  const Wanted files[] = {{"tokenizer.json", kMaxTokenizer, text.tokenizerJson},
                          {"tokenizer_config.json", kMaxConfig, text.tokenizerConfigJson},
                          {"special_tokens_map.json", kMaxSmall, text.specialTokensMapJson},
                          {"added_tokens.json", kMaxSmall, text.addedTokensJson},
                          {"generation_config.json", kMaxSmall, text.generationConfigJson}};
  if (Result<void> read = readAll(folder, files); !read)
    return read.error();
  if (text.tokenizerJson.empty())
    if (Result<void> read = readOtherTokenizers(folder, text); !read)
      return read.error();
  if (Result<void> read = readTemplates(folder, text); !read)
    return read.error();
  return text;
}

} // namespace ingot::import
