//===- EngineText.cpp -----------------------------------------------------===//
#include "compiler/driver/EngineText.h"
#include "compiler/text/TextBuild.h"

#include <fstream>
#include <simdjson.h>
#include <sstream>

using namespace ingot;
using namespace ingot::compiler;

/// generation_config.json: sampling defaults that the model's authors chose.
static std::optional<fb::GenerationDefaultsT> readGeneration(const std::string &json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (json.empty() || parser.parse(simdjson::padded_string(json)).get(object))
    return std::nullopt;
  fb::GenerationDefaultsT defaults;
  auto number = [&](const char *key, auto &field) {
    double value;
    if (!object[key].get(value))
      field = static_cast<std::remove_reference_t<decltype(field)>>(value);
  };
  number("temperature", defaults.temperature);
  number("top_k", defaults.top_k);
  number("top_p", defaults.top_p);
  number("min_p", defaults.min_p);
  number("repetition_penalty", defaults.repetition_penalty);
  bool sample;
  if (!object["do_sample"].get(sample))
    defaults.do_sample = sample;
  return defaults;
}

/// A converter that does not know a model's way to cut text writes "default", older ones nothing.
static std::string warningAboutWords(const import::Checkpoint &checkpoint) {
  auto textOf = [&](const char *key) {
    auto value = checkpoint.has(key) ? checkpoint.string(key) : Result<std::string>("");
    return value ? *value : "";
  };
  const std::string pre = textOf("tokenizer.ggml.pre");
  if (textOf("tokenizer.ggml.model") != "gpt2" || !(pre.empty() || pre == "default"))
    return "";
  return "the GGUF does not say how its model cuts text into words (tokenizer.ggml.pre" +
         std::string(pre.empty() ? " is missing" : ": default") +
         "): taken is GPT-2's way, and llama.cpp takes another. If you know the right one: pip install gguf; "
         "gguf-new-metadata IN.gguf OUT.gguf --pre-tokenizer NAME";
}

Result<EngineText> compiler::buildEngineText(const import::Checkpoint &checkpoint,
                                             const std::string &templateFile) {
  EngineText text;
  auto tokenizer = text::buildTokenizer(checkpoint);
  if (!tokenizer)
    return tokenizer.error();
  if (*tokenizer) {
    text.warning = warningAboutWords(checkpoint);
    text.tokenizerKind = (*tokenizer)->kind;
    text.tokenizer = std::move((*tokenizer)->bytes);
    const text::SpecialTokens &special = (*tokenizer)->special;
    text.special.bos = special.bos, text.special.eos = special.eos;
    text.special.pad = special.pad, text.special.unknown = special.unknown;
    text.special.add_bos = special.addBos;
  }
  if (!templateFile.empty()) {
    std::ifstream in(templateFile, std::ios::binary);
    if (!in)
      return Error{ExitCode::File, "E0411", "cannot read the chat template", templateFile,
                   "--chat-template names a Jinja file"};
    std::stringstream contents;
    contents << in.rdbuf();
    auto parsed = text::ChatTemplate::parse(contents.str());
    if (!parsed)
      return parsed.error();
    text.chatTemplate = contents.str();
  } else {
    auto found = text::findChatTemplate(checkpoint);
    if (!found)
      return found.error();
    text.chatTemplate = std::move(*found);
  }
  text.generation = readGeneration(checkpoint.text.generationConfigJson);
  return text;
}

void EngineText::addTo(fb::EngineT &table, std::vector<SegmentSource> &segments) const {
  table.text = std::make_unique<fb::TextT>();
  if (!tokenizerKind.empty()) {
    table.text->tokenizer_segment = static_cast<int32_t>(segments.size());
    table.text->tokenizer_kind = tokenizerKind;
    segments.push_back(segmentOf(fb::SegmentKind::Tokenizer, tokenizer));
  }
  if (chatTemplate && !chatTemplate->empty()) {
    table.text->chat_template_segment = static_cast<int32_t>(segments.size());
    segments.push_back(segmentOf(fb::SegmentKind::ChatTemplate, *chatTemplate));
  }
  table.text->special = std::make_unique<fb::SpecialTokensT>(special);
  if (generation)
    table.generation = std::make_unique<fb::GenerationDefaultsT>(*generation);
}
