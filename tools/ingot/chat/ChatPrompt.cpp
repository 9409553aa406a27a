#include "tools/ingot/chat/ChatPrompt.h"

#include "runtime/engine/EngineFile.h"
#include "tools/files/Files.h"

namespace ingot::cli {

Result<std::unique_ptr<ChatPrompt>> ChatPrompt::open(const runtime::Session &session,
                                                     const std::string &file,
                                                     const std::string &name) {
  auto prompt = std::make_unique<ChatPrompt>();
  prompt->tokenizer = session.tokenizer();
  if (!prompt->tokenizer)
    return Error{ExitCode::Usage, "E0520", "this engine has no tokenizer, so it cannot chat",
                 "the checkpoint that it was made from had none",
                 "give ids: ingot run E --prompts-file F.jsonl"};
  std::string source;
  if (file.empty()) {
    auto named = session.engine().chatTemplateCalled(name);
    if (!named)
      return named.error();
    source = *named;
  } else {
    auto text = readFile(file);
    if (!text)
      return text.error();
    source = std::move(*text);
  }
  if (source.empty())
    return Error{ExitCode::Usage, "E0521", "this engine has no chat template",
                 "the checkpoint that it was made from had none",
                 "give one: --chat-template FILE.jinja"};
  auto parsed = text::ChatTemplate::parse(source);
  if (!parsed)
    return parsed.error();
  prompt->chatTemplate = std::move(*parsed);

  prompt->options = session.templateTokens();
  return prompt;
}

Result<std::vector<int32_t>> ChatPrompt::ids(const std::vector<ChatMessage> &messages) const {
  std::vector<text::ChatTemplate::Message> pairs;
  for (const ChatMessage &message : messages)
    pairs.emplace_back(message.role, message.content);
  if (!trustContent) {
    auto encoded = chatTemplate->encode(*tokenizer, pairs, options);
    if (!encoded)
      return encoded.error();
    return std::move(encoded->ids);
  }
  auto rendered = chatTemplate->render(pairs, options);
  if (!rendered)
    return rendered.error();
  return tokenizer->encode(*rendered, /*parseSpecial=*/true);
}

} // namespace ingot::cli
