//===- TokenRoutes.cpp - /tokenize, /detokenize, /apply-template ------------===//
#include "runtime/server/api/ChatAnswer.h"

#include "runtime/json/JsonText.h"
#include "runtime/server/api/Prompts.h"

namespace ingot::api {

using runtime::JsonText;

static std::optional<ApiError> needTokenizer(const service::ServedModel &model) {
  if (model.tokenizer())
    return std::nullopt;
  return ApiError{400, "this engine has no tokenizer", "model", "E0520"};
}

static ChatInput readChat(const Fields &body, const service::ServedModel &model) {
  ChatInput input;
  input.messages = readMessages(body, input.toolMessages);
  input.tools = readTools(body);
  readTemplateFields(body, model, input);
  return input;
}

/// vLLM's shape: {"prompt"} or {"messages"} in, {"tokens","count","max_model_len"} out; llama.cpp's
/// "content" is taken for "prompt".
std::optional<ApiError> tokenize(Call &call) {
  const Fields &body = *call.body;
  const service::ServedModel &model = *call.generation.model;
  if (auto error = needTokenizer(model))
    return error;
  Result<std::string> text = std::string();
  Result<text::ChatTemplate::Encoded> encoded = text::ChatTemplate::Encoded();
  const bool chat = body.has("messages");
  if (chat) {
    ChatInput input = readChat(body, model);
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
  const bool special = body.boolean("add_special_tokens").value_or(!chat);
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
                                         : model.tokenizer()->encode(*text);
  if (!ids)
    return apiError(ids.error(), "prompt");
  JsonText json;
  json.open('{').key("count").value(ids->size());
  json.key("max_model_len").value(model.session().context()).key("tokens").open('[');
  for (int32_t id : *ids)
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
  ChatInput input = readChat(*call.body, *call.generation.model);
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
