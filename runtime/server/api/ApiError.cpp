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
    return code.starts_with("E07") ? "engine_error" : "service_unavailable_error";
  default:
    return "invalid_request_error";
  }
}

std::string ApiError::body() const { return http::errorBody(message, type(), param, code); }

std::string ApiError::anthropicBody() const {
  const char *name = status == 500 || code.starts_with("E07") ? "api_error"
                     : status == 503                          ? "overloaded_error"
                     : status == 413                          ? "request_too_large"
                                                              : type();
  runtime::JsonText json;
  json.open('{').key("type").value("error").key("error").open('{');
  json.key("type").value(name).key("message");
  const bool named = param.empty() || message.starts_with(param + ":"); // Fields::fail does
  json.value(named ? message : param + ": " + message).close().close();
  return json.text();
}

ApiError apiError(const Error &error, std::string param) {
  ApiError out;
  out.message = error.what;
  if (!error.why.empty())
    out.message += " (" + error.why + ")";
  out.code = error.code;
  out.param = std::move(param);
  if (error.code == "E0560")
    out.status = 429;
  else if (error.code == "E0561" || error.exit == ExitCode::Device)
    out.status = 503;
  else if (error.exit == ExitCode::Internal)
    out.status = 500;
  return out;
}

} // namespace ingot::api
