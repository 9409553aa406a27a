//===- ChatPrompt.h - From messages to prompt ids --------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Text.h"
#include "tools/files/Json.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::cli {

/// A chat template bound to a session's tokenizer, which must outlive it.
class ChatPrompt {
public:
  /// Opens the template in `file` or, if `file` is empty, the engine's template called `name` ("":
  /// the main one). Errors: E0521: there is none (exit 2); E0627: there is none of that name;
  /// E0520: no tokenizer; E0610: the template does not parse.
  static Result<std::unique_ptr<ChatPrompt>> open(const runtime::Session &session,
                                                  const std::string &file, const std::string &name);

  /// Returns whether control tokens in message contents are encoded as control tokens rather than text.
  bool trustContent = false;
  /// Returns the token ids of the rendered template, with nothing added (the template writes BOS itself).
  Result<std::vector<int32_t>> ids(const std::vector<ChatMessage> &messages) const;

private:
  const text::Tokenizer *tokenizer = nullptr;
  std::unique_ptr<text::ChatTemplate> chatTemplate;
  text::ChatTemplate::Options options;
};

} // namespace ingot::cli
