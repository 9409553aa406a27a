//===- ApiError.cpp - Statuses, types and bodies of errors -----------------===//
#include "runtime/server/api/ApiError.h"

#include "runtime/json/JsonText.h"
#include "runtime/server/http/Server.h"

namespace ingot::api {

const char *ApiError::type() const {
  switch (status) {
  case 401:
    return "authentication_error";
  case 404:
    return "not_found_error";
  case 429:
    return "rate_limit_error";
  case 500:
    return "internal_error";
  case 503:
    return errors::isOfDevice(code) ? "engine_error" : "service_unavailable_error";
  default:
    return "invalid_request_error";
  }
}

// Clients search error texts for the phrases below, to shorten a conversation or switch to another
// model: litellm does (is_error_str_context_window_exceeded), and so do agents with their own lists.

static std::string tokens(int64_t count) { return std::to_string(count) + " tokens"; }

/// Returns OpenAI's text. If the prompt alone is too long, the text of OpenAI's newer API precedes it.
static std::string openAiWords(const ApiError &error) {
  const Overflow &o = *error.overflow;
  const std::string where = error.param.empty() ? "prompt" : error.param;
  std::string text =
      o.promptAlone() ? "The input is too large: it exceeds the context window. " : "";
  text += "This model's maximum context length is " + tokens(o.most) + ". However, you requested " +
          tokens(o.prompt + o.answer) + " (" + std::to_string(o.prompt) + " in the " + where +
          ", " + std::to_string(o.answer) +
          " in the completion). Please reduce the length of the " + where + " or completion.";
  return error.code == errors::kBeyondKvMemory ? text + " (" + error.message + ")" : text;
}

static std::string anthropicWords(const Overflow &o) {
  if (o.promptAlone())
    return "prompt is too long: " + tokens(o.prompt) + " > " + std::to_string(o.most) + " maximum";
  return "input length and `max_tokens` exceed context limit: " + std::to_string(o.prompt) + " + " +
         std::to_string(o.answer) + " > " + std::to_string(o.most) +
         ", decrease input length or `max_tokens` and try again";
}

static std::string llamaCppWords(const Overflow &o) {
  return "request (" + tokens(o.prompt + o.answer) + ") exceeds the available context size (" +
         tokens(o.most) + "), try increasing it: the input is too large to process";
}

/// Returns "field: message". A message that already begins with the field, such as one of
/// Fields::fail, stays unchanged.
static std::string named(const ApiError &error) {
  const bool is = error.param.empty() || error.message.starts_with(error.param + ":");
  return is ? error.message : error.param + ": " + error.message;
}

static std::string overflowBody(const ApiError &error, std::string_view message,
                                std::string_view type) {
  runtime::JsonText json;
  json.open('{').key("error").open('{').key("message").value(message).key("type").value(type);
  json.key("param");
  if (error.param.empty())
    json.raw("null");
  else
    json.value(error.param);
  json.key("code").value("context_length_exceeded");
  json.key("n_prompt_tokens").value(error.overflow->prompt);
  return json.key("n_ctx").value(error.overflow->most).close().close().text();
}

std::string ApiError::body() const {
  return overflow ? overflowBody(*this, openAiWords(*this), type())
                  : http::errorBody(message, type(), param, code);
}

std::string ApiError::llamaCppBody() const {
  return overflow ? overflowBody(*this, llamaCppWords(*overflow), "exceed_context_size_error")
                  : body();
}

std::string ApiError::anthropicBody() const {
  const char *name = status == 500 || errors::isOfDevice(code) ? "api_error"
                     : status == 503                           ? "overloaded_error"
                     : status == 413                           ? "request_too_large"
                                                               : type();
  runtime::JsonText json;
  json.open('{').key("type").value("error").key("error").open('{');
  json.key("type").value(name).key("message");
  json.value(overflow ? anthropicWords(*overflow) : named(*this)).close().close();
  return json.text();
}

std::string ApiError::ollamaBody() const {
  const std::string text =
      overflow ? "the input length exceeds the context length: " + openAiWords(*this)
               : named(*this);
  return runtime::JsonText().open('{').key("error").value(text).close().text();
}

std::string ApiError::cohereBody() const {
  runtime::JsonText json;
  json.open('{').key("message").value(message).close();
  return json.text().substr(0, json.text().size() - 1) + "," + body().substr(1);
}

ApiError apiError(const Error &error, std::string param) {
  ApiError out;
  out.message = error.what;
  if (!error.why.empty())
    out.message += " (" + error.why + ")";
  out.code = error.code;
  out.param = std::move(param);
  if (error.code == errors::kQueueFull)
    out.status = 429;
  else if (error.code == errors::kShuttingDown || error.exit == ExitCode::Device)
    out.status = 503;
  else if (error.exit == ExitCode::Internal)
    out.status = 500;
  return out;
}

} // namespace ingot::api
