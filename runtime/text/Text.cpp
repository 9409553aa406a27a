//===- Text.cpp - Tokenizers and chat templates over the Rust crate ------===//

#include "runtime/text/Text.h"
#include "runtime/text/CrateCalls.h"
#include "runtime/text/Json.h"

#include <cstring>

namespace ingot::text {

namespace {

constexpr size_t kEncodeLimit = 16u << 20;

IngotTextSlice slice(std::string_view text) { return {text.data(), text.size()}; }

std::vector<int32_t> idsOf(const std::string &bytes) {
  std::vector<int32_t> result(bytes.size() / sizeof(int32_t));
  if (!result.empty())
    std::memcpy(result.data(), bytes.data(), result.size() * sizeof(int32_t));
  return result;
}

} // namespace

void onOutOfMemory(void (*report)()) { ingot_text_on_out_of_memory(report); }

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromBytes(std::string_view kind,
                                                        std::span<const std::byte> bytes) {
  if (kind != kFlatBpe && kind != kHfJson)
    return Error{ExitCode::File, "E0601", "unknown kind of tokenizer",
                 "the engine has '" + std::string(kind) + "', this runtime supports '" +
                     std::string(kFlatBpe) + "' and '" + std::string(kHfJson) + "'",
                 "rebuild the engine: ingot compile MODEL -o E"};
  void *handle = nullptr;
  std::string why;
  int32_t status = ingot_tokenizer_open({bytes.data(), bytes.size()}, &handle, appendTo(why));
  if (status == INGOT_TEXT_PANIC)
    return crateFailed(why);
  if (status != INGOT_TEXT_OK)
    return Error{ExitCode::File, "E0602", "the tokenizer is damaged", why,
                 "rebuild the engine: ingot compile MODEL -o E"};
  return std::unique_ptr<Tokenizer>(new Tokenizer(handle));
}

Tokenizer::~Tokenizer() { ingot_tokenizer_close(handle); }

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool parseSpecial) const {
  auto ids = encodeWithin(text, SIZE_MAX, parseSpecial);
  if (!ids)
    return ids.error();
  return std::move(**ids);
}

Result<std::optional<std::vector<int32_t>>>
Tokenizer::encodeWithin(std::string_view text, size_t most, bool parseSpecial) const {
  if (text.size() > kEncodeLimit)
    return Error{ExitCode::Usage, "E0603", "the text is too long to tokenize at once",
                 std::to_string(text.size()) + " bytes, the limit is " +
                     std::to_string(kEncodeLimit),
                 "split it"};
  std::string ids, why;
  int32_t status =
      ingot_tokenizer_encode(handle, slice(text), parseSpecial, most, appendTo(ids), appendTo(why));
  if (status == INGOT_TEXT_TOO_LARGE)
    return std::optional<std::vector<int32_t>>();
  if (status == INGOT_TEXT_PANIC)
    return crateFailed(why);
  if (status != INGOT_TEXT_OK)
    return Error{ExitCode::File, "E0604", "the text cannot be tokenized", why, ""};
  return std::optional(idsOf(ids));
}

std::string_view Tokenizer::tokenBytes(int32_t id) const {
  if (id < 0)
    return {};
  IngotTextSlice bytes = ingot_tokenizer_token(handle, static_cast<uint32_t>(id));
  return {static_cast<const char *>(bytes.data), bytes.size};
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  StreamDecoder decoder(*this, skipSpecial);
  std::string text;
  for (int32_t id : ids)
    text += decoder.push(id);
  return text + decoder.flush();
}

int32_t Tokenizer::vocabSize() const { return static_cast<int32_t>(ingot_tokenizer_size(handle)); }

bool Tokenizer::isSpecial(int32_t id) const {
  return id >= 0 && ingot_tokenizer_is_special(handle, static_cast<uint32_t>(id));
}

bool Tokenizer::dropsLeadingSpace() const { return ingot_tokenizer_drops_space(handle); }

std::optional<int32_t> Tokenizer::idOf(std::string_view token) const {
  int64_t id = ingot_tokenizer_id(handle, slice(token));
  if (id < 0)
    return std::nullopt;
  return static_cast<int32_t>(id);
}

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::parse(std::string_view source) {
  void *handle = nullptr;
  std::string why;
  switch (ingot_template_parse(slice(source), &handle, appendTo(why))) {
  case INGOT_TEXT_OK:
    return std::unique_ptr<ChatTemplate>(new ChatTemplate(handle));
  case INGOT_TEXT_SYNTAX:
    return Error{ExitCode::File, "E0610", "the chat template cannot be read", why,
                 "give another one: ingot chat MODEL --chat-template FILE"};
  case INGOT_TEXT_TOO_LARGE:
    return Error{ExitCode::File, "E0611", "the chat template is too large", why, ""};
  default:
    return crateFailed(why);
  }
}

ChatTemplate::~ChatTemplate() { ingot_template_close(handle); }

bool ChatTemplate::uses(std::string_view variable) const {
  return ingot_template_uses(handle, slice(variable));
}

/// Returns the tokenizer's named tokens as JSON. A template may write them as control tokens.
static std::string tokensOf(const ChatTemplate::Options &options) {
  std::string json;
  auto add = [&json](const std::string &name, const std::string &token) {
    if (!token.empty())
      json += (json.empty() ? "" : ",") + jsonString(name) + ":" + jsonString(token);
  };
  for (const auto &[name, token] : options.tokens)
    add(name, token);
  add("bos_token", options.bosToken);
  add("eos_token", options.eosToken);
  return "{" + json + "}";
}

/// Returns the variables of a template other than messages and tokens, as a JSON object.
static Result<std::string> variablesOf(const ChatTemplate::Options &options) {
  // When the crate reads JSON objects, later keys win, so the caller's own come last.
  std::string variables = "{\"add_generation_prompt\":";
  variables += options.addGenerationPrompt && !options.continueFinalMessage ? "true" : "false";
  std::string_view extra = options.extraJson;
  auto trim = [&extra](const char *set) {
    size_t begin = extra.find_first_not_of(set);
    extra = begin == std::string_view::npos
                ? ""
                : extra.substr(begin, extra.find_last_not_of(set) - begin + 1);
  };
  trim(" \t\r\n");
  if (!extra.empty()) {
    if (extra.front() != '{' || extra.back() != '}')
      return Error{ExitCode::Usage, "E0614", "template variables must be a JSON object",
                   "they start with '" + std::string(extra.substr(0, 16)) + "'", ""};
    extra = extra.substr(1, extra.size() - 2);
    trim(" \t\r\n");
    if (!extra.empty())
      variables.append(",").append(extra);
  }
  variables += "}";
  return variables;
}

/// Returns the error for a rendering that failed.
static Error renderError(int32_t status, std::string why) {
  switch (status) {
  case INGOT_TEXT_FAILED:
    return Error{ExitCode::Usage, "E0612", "the chat template refuses these messages", why, ""};
  case INGOT_TEXT_LIMIT:
    return Error{ExitCode::Usage, "E0613", "the chat template exceeds a limit", why, ""};
  case INGOT_TEXT_INPUT:
    return Error{ExitCode::Usage, "E0614", "messages or template variables are not valid JSON", why,
                 ""};
  default:
    return crateFailed(why);
  }
}

Result<std::string> ChatTemplate::render(std::string_view messagesJson,
                                         const Options &options) const {
  auto variables = variablesOf(options);
  if (!variables)
    return variables.error();
  std::string text, why;
  int32_t status = ingot_template_render(handle, slice(messagesJson), slice(tokensOf(options)),
                                         slice(*variables), options.continueFinalMessage,
                                         appendTo(text), appendTo(why));
  if (status != INGOT_TEXT_OK)
    return renderError(status, why);
  return text;
}

Result<ChatTemplate::Encoded> ChatTemplate::encode(const Tokenizer &tokenizer,
                                                   std::string_view messagesJson,
                                                   const Options &options, size_t most) const {
  auto variables = variablesOf(options);
  if (!variables)
    return variables.error();
  Encoded result;
  std::string ids, why;
  int32_t status = ingot_template_encode(
      handle, tokenizer.handle, slice(messagesJson), slice(tokensOf(options)), slice(*variables),
      options.continueFinalMessage, most, appendTo(result.text), appendTo(ids), appendTo(why));
  result.tooLong = status == INGOT_TEXT_TOO_LARGE;
  if (status != INGOT_TEXT_OK && !result.tooLong)
    return renderError(status, why);
  result.ids = idsOf(ids);
  return result;
}

bool givesTools(std::string_view variablesJson) {
  // libingot links no JSON parser, so this only looks for the key; rendering checks the text later. A
  // key is a string in the outermost object that is followed by a colon.
  int depth = 0;
  for (size_t at = 0; at < variablesJson.size(); ++at) {
    const char c = variablesJson[at];
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c != '"')
      continue;
    const size_t begin = at + 1;
    for (at = begin; at < variablesJson.size() && variablesJson[at] != '"'; ++at)
      at += variablesJson[at] == '\\';
    if (depth != 1 || variablesJson.substr(begin, at - begin) != "tools")
      continue;
    const size_t colon = variablesJson.find_first_not_of(" \n\r\t", at + 1);
    if (colon == std::string_view::npos || variablesJson[colon] != ':')
      continue;
    const size_t value = variablesJson.find_first_not_of(" \n\r\t", colon + 1);
    return value != std::string_view::npos && !variablesJson.substr(value).starts_with("null");
  }
  return false;
}

static std::string jsonOf(const std::vector<ChatTemplate::Message> &messages) {
  std::string json = "[";
  for (const auto &[role, content] : messages) {
    if (json.size() > 1)
      json += ',';
    json += "{\"role\":" + jsonString(role) + ",\"content\":" + jsonString(content) + "}";
  }
  return json + "]";
}

Result<std::string> ChatTemplate::render(const std::vector<Message> &messages,
                                         const Options &options) const {
  return render(jsonOf(messages), options);
}

Result<ChatTemplate::Encoded> ChatTemplate::encode(const Tokenizer &tokenizer,
                                                   const std::vector<Message> &messages,
                                                   const Options &options) const {
  return encode(tokenizer, jsonOf(messages), options);
}

} // namespace ingot::text
