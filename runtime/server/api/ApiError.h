//===- ApiError.h - What a client did wrong, in its own protocol's shape ---===//
#pragma once

#include "runtime/error/Error.h"

#include <optional>
#include <string>

namespace ingot::api {

/// A request that is larger than the context or the KV memory, in tokens.
struct Overflow {
  int64_t prompt; ///< at least so many, where its text was too long to be counted
  int64_t answer; ///< new tokens that were asked for; 0: none, or as many as there is room for
  int64_t most;   ///< what prompt and answer may have together
  bool promptAlone() const { return prompt > most; }
};

/// An answer that is no answer: OpenAI's {"error":{message,type,param,code}} with a status.
struct ApiError {
  int status = 400; ///< 400 401 404 405 413 429 500 503
  std::string message;
  std::string param;      ///< the field, as a path: "messages[2].content"; or ""
  std::string code;       ///< "E0505", "unsupported_field"; or ""
  int64_t retryAfter = 0; ///< seconds, of 429 and 503; 0: not said
  std::optional<Overflow> overflow =
      std::nullopt; ///< E0505 and E0506: told in each API's own words

  /// OpenAI's word for the status: "invalid_request_error", "rate_limit_error", …
  const char *type() const;
  std::string body() const;          ///< OpenAI's shape
  std::string anthropicBody() const; ///< {"type":"error","error":{"type","message"}}
  std::string ollamaBody() const;    ///< {"error":message}
  std::string llamaCppBody() const; ///< OpenAI's shape, with llama.cpp's type and words of overflow
  std::string cohereBody() const;   ///< OpenAI's shape, with "message" beside "error"
};

/// What the runtime refuses, told to a client: E0560 is 429, E0561 and E07xx are 503, what a user
/// can change is 400, the rest 500. `param`: the field that is to blame, if one is.
ApiError apiError(const Error &error, std::string param = "");

/// A value, or why not.
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
