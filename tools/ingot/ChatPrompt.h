//===- ChatPrompt.h - From messages to prompt ids --------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Text.h"
#include "tools/ingot/Json.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::cli {

/// A chat template bound to a session's tokenizer, which must outlive it.
class ChatPrompt {
public:
  /// The template of `file`, or the engine's of that name where that is empty ("": its main one).
  /// Errors: E0521 there is none (exit 2), E0627 none of that name, E0520 no tokenizer, E0610 a
  /// template that does not parse.
  static Result<std::unique_ptr<ChatPrompt>> open(const runtime::Session &session,
                                                  const std::string &file, const std::string &name);

  /// Control tokens in contents are control tokens, not text.
  bool trustContent = false;
  /// Nothing is added to what the template renders (it writes BOS itself).
  Result<std::vector<int32_t>> ids(const std::vector<ChatMessage> &messages) const;

private:
  const text::Tokenizer *tokenizer = nullptr;
  std::unique_ptr<text::ChatTemplate> chatTemplate;
  text::ChatTemplate::Options options;
};

} // namespace ingot::cli
