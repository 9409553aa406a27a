//===- EngineText.cpp -----------------------------------------------------===//
#include "compiler/driver/engine/EngineText.h"
#include "compiler/text/TextBuild.h"
#include "runtime/engine/Inspect.h"
#include "runtime/text/ChatOutput.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

#include <fstream>
#include <simdjson.h>

using namespace ingot;
using namespace ingot::compiler;

/// Reads generation_config.json, which has the sampling defaults of the model's authors.
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

/// Returns a warning if the GGUF does not name its pre-tokenizer. A converter that does not recognise it
/// writes "default"; older converters write nothing.
static std::string warningAboutWords(const import::Checkpoint &checkpoint) {
  auto textOf = [&](const char *key) {
    auto value = checkpoint.has(key) ? checkpoint.string(key) : Result<std::string>("");
    return value ? *value : "";
  };
  const std::string pre = textOf("tokenizer.ggml.pre");
  if (textOf("tokenizer.ggml.model") != "gpt2" || !(pre.empty() || pre == "default"))
    return "";
  return "the GGUF does not specify its pre-tokenizer (tokenizer.ggml.pre" +
         std::string(pre.empty() ? " is missing" : ": default") +
         "): GPT-2's is used, llama.cpp uses another. If you know the right one: pip install gguf; "
         "gguf-new-metadata IN.gguf OUT.gguf --pre-tokenizer NAME";
}

/// Reads the user's template file.
static Result<text::ChatTemplates> readTemplate(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return Error{ExitCode::File, "E0411", "cannot read the chat template", file,
                 "--chat-template expects a Jinja file"};
  text::ChatTemplates found{
      {std::istreambuf_iterator<char>(in), {}}, llvm::sys::path::filename(file).str(), 1};
  if (auto checked = text::checkChatTemplate(found.source); !checked)
    return checked.error();
  return found;
}

static bool isForTools(const import::NamedTemplate &one) { return one.name == text::kToolTemplate; }

/// Returns "template default of 2, tool_use for requests with tools".
static std::string describe(const text::ChatTemplates &templates) {
  if (templates.source.empty())
    return "no chat template";
  std::string line = "template " + templates.name;
  if (templates.count > 1)
    line += " of " + std::to_string(templates.count);
  return line +
         (llvm::any_of(templates.other, isForTools) ? ", tool_use for requests with tools" : "");
}

/// Returns "; tools: hermes; reasoning: think".
static std::string formatsOf(const text::ChatTemplates &templates) {
  if (templates.source.empty())
    return "";
  text::OutputFormat format = text::detectOutputFormat(templates.source);
  for (const import::NamedTemplate &one : templates.other)
    if (isForTools(one))
      format = text::detectOutputFormat(one.source); // the same text as `serve` reports
  return "; " + text::describeFormat(format);
}

static std::string endsOf(const text::TokenizerArtifact &artifact) {
  auto tokenizer =
      text::Tokenizer::fromBytes(artifact.kind, std::as_bytes(std::span(artifact.bytes)));
  std::string line;
  for (int32_t id : artifact.special.eos)
    line += " " + (tokenizer ? text::replaceInvalidUtf8((*tokenizer)->tokenBytes(id))
                             : std::to_string(id));
  return line.empty() ? "no end" : "ends" + line;
}

Result<EngineText> compiler::buildEngineText(const import::Checkpoint &checkpoint,
                                             const std::string &templateFile,
                                             const std::string &templateName) {
  EngineText text;
  auto tokenizer = text::buildTokenizer(checkpoint);
  if (!tokenizer)
    return tokenizer.error();
  std::string source = "no tokenizer: the engine accepts only ids", ends;
  if (!*tokenizer && !checkpoint.text.tokenizerConfigJson.empty())
    text.warning =
        "tokenizer_config.json exists, but tokenizer.json, tokenizer.model, tekken.json and "
        "vocab.json with merges.txt are missing: the engine accepts only ids. Download the other "
        "tokenizer files";
  if (*tokenizer) {
    text.warning = warningAboutWords(checkpoint);
    source = (*tokenizer)->source, ends = "; " + endsOf(**tokenizer);
    text.tokenizerKind = (*tokenizer)->kind;
    text.tokenizer = std::move((*tokenizer)->bytes);
    const text::SpecialTokens &special = (*tokenizer)->special;
    text.special.bos = special.bos, text.special.eos = special.eos;
    text.special.pad = special.pad, text.special.unknown = special.unknown;
    text.special.prefix = special.prefix, text.special.suffix = special.suffix;
    text.special.add_bos = special.prefix == std::vector{special.bos}; // for older runtimes
    for (const auto &[name, token] : special.names) {
      auto &named = text.special.names.emplace_back(std::make_unique<fb::AttributeT>());
      named->key = name, named->value = token;
    }
  }
  auto templates = templateFile.empty() ? text::findChatTemplates(checkpoint, templateName)
                                        : readTemplate(templateFile);
  if (!templates)
    return templates.error();
  text.taken = source + "; " + describe(*templates) + ends + formatsOf(*templates);
  text.chatTemplate = std::move(templates->source);
  text.namedTemplates = std::move(templates->other);
  text.generation = readGeneration(checkpoint.text.generationConfigJson);
  return text;
}

/// Drops special tokens without logits, because some tokenizers have a larger vocabulary than the model.
static void dropOutside(fb::SpecialTokensT &special, uint32_t vocabulary) {
  auto outside = [&](int32_t id) { return id >= int64_t(vocabulary); };
  for (int32_t *id : {&special.bos, &special.pad, &special.unknown})
    if (outside(*id))
      *id = -1;
  for (std::vector<int32_t> *ids : {&special.eos, &special.prefix, &special.suffix})
    std::erase_if(*ids, outside);
}

void EngineText::addTo(fb::EngineT &table, std::vector<SegmentSource> &segments) const {
  table.text = std::make_unique<fb::TextT>();
  auto add = [&](fb::SegmentKind kind, const std::string &bytes) {
    segments.push_back(segmentOf(kind, bytes));
    return static_cast<int32_t>(segments.size() - 1);
  };
  if (!tokenizerKind.empty()) {
    table.text->tokenizer_segment = add(fb::SegmentKind::Tokenizer, tokenizer);
    table.text->tokenizer_kind = tokenizerKind;
  }
  if (!chatTemplate.empty())
    table.text->chat_template_segment = add(fb::SegmentKind::ChatTemplate, chatTemplate);
  for (const import::NamedTemplate &one : namedTemplates) {
    auto &named = table.text->templates.emplace_back(std::make_unique<fb::NamedTemplateT>());
    named->name = one.name;
    named->segment = static_cast<uint32_t>(add(fb::SegmentKind::ChatTemplate, one.source));
  }
  table.text->special = std::make_unique<fb::SpecialTokensT>(special);
  dropOutside(*table.text->special, table.model->vocab);
  auto &described = table.provenance.emplace_back(std::make_unique<fb::AttributeT>());
  described->key = runtime::kTextTaken, described->value = taken;
  if (generation)
    table.generation = std::make_unique<fb::GenerationDefaultsT>(*generation);
}
