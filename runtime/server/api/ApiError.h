//===- ApiError.h - Errors in the formats of the client protocols ----------===//
#pragma once

#include "runtime/error/Error.h"

#include <optional>
#include <string>

namespace ingot::api {

/// Sizes, in tokens, of a request that exceeds the context or the KV memory.
struct Overflow {
  int64_t prompt; ///< a lower bound if its text was too long to count
  int64_t answer; ///< requested new tokens; 0: none were requested, or as many as fit
  int64_t most;   ///< limit for prompt and answer together
  bool promptAlone() const { return prompt > most; }
};

/// An error response: OpenAI's {"error":{message,type,param,code}} with a status.
struct ApiError {
  int status = 400; ///< 400 401 404 405 413 429 500 503
  std::string message;
  std::string param;      ///< path of the faulty field: "messages[2].content"; or ""
  std::string code;       ///< "E0505", "unsupported_field"; or ""
  int64_t retryAfter = 0; ///< seconds for Retry-After, with 429 and 503; 0: not sent
  /// Set for E0505 and E0506, because their text depends on the API.
  std::optional<Overflow> overflow = std::nullopt;

  /// Returns OpenAI's type for the status: "invalid_request_error", "rate_limit_error", …
  const char *type() const;
  std::string body() const;          ///< OpenAI's shape
  std::string anthropicBody() const; ///< {"type":"error","error":{"type","message"}}
  std::string ollamaBody() const;    ///< {"error":message}
  std::string llamaCppBody() const;  ///< OpenAI's shape with llama.cpp's type and overflow fields
  std::string cohereBody() const;    ///< OpenAI's shape, with "message" next to "error"
};

/// Converts an error of the runtime for a client. E0560 becomes 429, and E0561 and E07xx become
/// 503. Errors that the user can fix become 400, and the rest 500. `param`: the field that caused
/// the error, if any.
ApiError apiError(const Error &error, std::string param = "");

/// A value or an error.
template <typename T> class [[nodiscard]] Outcome {
public:
  Outcome(T given) : value(std::move(given)) {}
  Outcome(ApiError why) : failure(std::move(why)) {}
  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  T *operator->() { return &*value; }
  const ApiError &error() const { return failure; }

private:
  std::optional<T> value;
  ApiError failure;
};

} // namespace ingot::api
