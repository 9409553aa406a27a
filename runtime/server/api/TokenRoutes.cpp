//===- TokenRoutes.cpp - /tokenize, /detokenize, /apply-template ------------===//

#include "runtime/json/JsonText.h"
#include "runtime/server/api/ChatAnswer.h"
#include "runtime/server/api/Prompts.h"

namespace ingot::api {

using runtime::JsonText;

static std::optional<ApiError> needTokenizer(const service::ServedModel &model) {
  if (model.tokenizer())
    return std::nullopt;
  return ApiError{400, "this engine has no tokenizer", "model", "E0520"};
}

/// llama.cpp's route continues a final assistant message; vLLM's do not.
static ChatInput readChat(Call &call) {
  return readChat(call, /*mayContinue=*/call.request->path == "/apply-template");
}

/// Writes a token as llama.cpp's "piece": its text, or a list of its bytes if they are not valid
/// UTF-8.
static void pieceJson(JsonText &json, int32_t id, std::string_view bytes) {
  json.open('{').key("id").value(id).key("piece");
  if (text::replaceInvalidUtf8(bytes) == bytes) {
    json.value(bytes).close();
    return;
  }
  json.open('[');
  for (char c : bytes)
    json.value(int(static_cast<unsigned char>(c)));
  json.close().close();
}

/// Uses vLLM's format: the request has "prompt" or "messages", and the answer has "tokens", "count"
/// and "max_model_len". llama.cpp's "content" is accepted in place of "prompt".
std::optional<ApiError> tokenize(Call &call) {
  const Fields &body = *call.body;
  const service::ServedModel &model = *call.generation.model;
  if (auto error = needTokenizer(model))
    return error;
  Result<std::string> text = std::string();
  Result<text::ChatTemplate::Encoded> encoded = text::ChatTemplate::Encoded();
  const bool chat = body.has("messages");
  if (chat) {
    ChatInput input = readChat(call);
    if (!call.document.error()) {
      text = renderChat(model, input);
      if (text)
        if (auto error = tooLongToCount(*text))
          return error;
      encoded = encodeChat(model, input, /*toFit=*/false);
    }
  } else {
    const char *name = body.has("content") ? "content" : "prompt";
    body.require(name);
    text = std::string(body.text(name, kMostCountedBytes).value_or(""));
  }
  // llama.cpp's names and default.
  const bool llama = body.has("content");
  const bool special = body.boolean("add_special_tokens")
                           .value_or(body.boolean("add_special").value_or(!chat && !llama));
  const bool parse = body.boolean("parse_special").value_or(true);
  const bool pieces = body.boolean("with_pieces").value_or(false);
  const bool strings = body.boolean("return_token_strs").value_or(false);
  if (call.document.error())
    return call.document.error();
  if (!encoded)
    return apiError(encoded.error(), "messages");
  if (chat)
    text = std::move(encoded->text);
  const bool plain = special || !chat;
  auto ids = !plain                      ? Result<std::vector<int32_t>>(std::move(encoded->ids))
             : special && !text->empty() ? model.session().encodePrompt(*text)
                                         : model.tokenizer()->encode(*text, parse);
  if (!ids)
    return apiError(ids.error(), "prompt");
  JsonText json;
  json.open('{').key("count").value(ids->size());
  json.key("max_model_len").value(model.session().context()).key("tokens").open('[');
  for (int32_t id : *ids)
    if (pieces)
      pieceJson(json, id, model.tokenizer()->tokenBytes(id));
    else
      json.value(id);
  json.close();
  if (strings) {
    json.key("token_strs").open('[');
    for (int32_t id : *ids)
      json.value(model.tokenizer()->tokenBytes(id));
    json.close();
  }
  call.responder->send(200, "application/json", json.close().text());
  return std::nullopt;
}

std::optional<ApiError> detokenize(Call &call) {
  const service::ServedModel &model = *call.generation.model;
  if (auto error = needTokenizer(model))
    return error;
  call.body->require("tokens");
  std::vector<int32_t> ids;
  for (int64_t id : call.body->integers("tokens", size_t(1) << 22, 0, model.session().vocab() - 1))
    ids.push_back(int32_t(id));
  if (call.document.error())
    return call.document.error();
  const std::string text = model.tokenizer()->decode(ids, /*skipSpecial=*/false);
  call.responder->send(
      200, "application/json",
      JsonText().open('{').key("prompt").value(text).key("content").value(text).close().text());
  return std::nullopt;
}

std::optional<ApiError> applyTemplate(Call &call) {
  ChatInput input = readChat(call);
  if (call.document.error())
    return call.document.error();
  auto text = renderChat(*call.generation.model, input);
  if (!text)
    return apiError(text.error(), "messages");
  call.responder->send(200, "application/json",
                       JsonText().open('{').key("prompt").value(*text).close().text());
  return std::nullopt;
}

} // namespace ingot::api
