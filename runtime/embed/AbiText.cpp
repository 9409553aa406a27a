//===- AbiText.cpp - ingot.h: tokenizer and chat template --------------------===//
#include "runtime/embed/Abi.h"
#include "runtime/session/SessionErrors.h"

#include <cstdlib>

using namespace ingot;
using namespace ingot::embed;

namespace ingot::embed {

/// Returns the template for chats with tools if `variables` has tools, otherwise the plain one.
static const text::ChatTemplate *templateOf(const service::ServedModel &model,
                                            const char *variables) {
  return model.chatTemplate(variables && text::givesTools(variables));
}

static Result<text::ChatTemplate::Options>
optionsOf(const service::ServedModel &model, const char *variables, bool addGenerationPrompt) {
  if (!model.tokenizer())
    return runtime::noTokenizer("a chat");
  if (!model.chatTemplate())
    return Error{ExitCode::Usage, "E0521", "this model has no chat template",
                 "the checkpoint that it was made from had none",
                 "give one: ingot_config.chat_template"};
  text::ChatTemplate::Options options = model.templateTokens();
  options.addGenerationPrompt = addGenerationPrompt;
  options.extraJson = variables ? variables : "";
  return options;
}

Result<std::string> renderChat(const service::ServedModel &model, const char *messages,
                               const char *variables, bool addGenerationPrompt) {
  auto options = optionsOf(model, variables, addGenerationPrompt);
  return options ? templateOf(model, variables)->render(messages, *options) : options.error();
}

Result<std::vector<int32_t>> encodeChat(const service::ServedModel &model, const char *messages,
                                        const char *variables, bool trustContent) {
  auto options = optionsOf(model, variables, /*addGenerationPrompt=*/true);
  if (!options)
    return options.error();
  if (trustContent) {
    auto text = templateOf(model, variables)->render(messages, *options);
    return text ? model.tokenizer()->encode(*text) : text.error();
  }
  const auto most = size_t(model.session().context());
  auto encoded = templateOf(model, variables)->encode(*model.tokenizer(), messages, *options, most);
  if (!encoded)
    return encoded.error();
  if (encoded->tooLong)
    return model.session().tooLong(encoded->text.size());
  return std::move(encoded->ids);
}

} // namespace ingot::embed

static Result<ingot_status> giveText(const std::string &from, char **text, size_t *size) {
  *text = static_cast<char *>(copyOut(from.data(), from.size()));
  if (!*text)
    return outOfMemory("copying a text");
  if (size)
    *size = from.size();
  return INGOT_OK;
}

extern "C" {

ingot_status ingot_encode(ingot_executor *executor, const char *text, size_t size,
                          int32_t plain_prompt, int32_t **ids, size_t *count, ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    const runtime::Session &session = executor->impl->session();
    if (!session.tokenizer())
      return runtime::noTokenizer("a text");
    auto encoded = plain_prompt ? session.encodePrompt({text, size})
                                : session.tokenizer()->encode({text, size});
    if (!encoded)
      return encoded.error();
    *ids = static_cast<int32_t *>(copyOut(encoded->data(), encoded->size() * sizeof(int32_t)));
    if (!*ids)
      return outOfMemory("copying ids");
    *count = encoded->size();
    return INGOT_OK;
  });
}

ingot_status ingot_decode(ingot_executor *executor, const int32_t *ids, size_t count,
                          int32_t show_special, char **text, size_t *size, ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    const text::Tokenizer *tokenizer = executor->impl->session().tokenizer();
    if (!tokenizer)
      return runtime::noTokenizer("decoding");
    return giveText(tokenizer->decode({ids, count}, /*skipSpecial=*/!show_special), text, size);
  });
}

ingot_status ingot_token_bytes(ingot_executor *executor, int32_t id, const char **bytes,
                               size_t *size, ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    const runtime::Session &session = executor->impl->session();
    if (!session.tokenizer())
      return runtime::noTokenizer("the bytes of an id");
    if (id < 0 || id >= session.vocab())
      return Error{ExitCode::Usage, "E0504", "an id is outside the vocabulary",
                   std::to_string(id) + ", allowed: 0 to " + std::to_string(session.vocab() - 1),
                   "use ids of this engine's tokenizer"};
    const std::string_view found = session.tokenizer()->tokenBytes(id);
    *bytes = found.data();
    *size = found.size();
    return INGOT_OK;
  });
}

int32_t ingot_token_id(ingot_executor *executor, const char *token, size_t size) {
  const text::Tokenizer *tokenizer = executor->impl->session().tokenizer();
  return tokenizer ? tokenizer->idOf({token, size}).value_or(-1) : -1;
}

ingot_status ingot_render_chat(ingot_executor *executor, const char *messages,
                               const char *variables, int32_t add_generation_prompt, char **text,
                               size_t *size, ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    auto rendered =
        renderChat(executor->impl->model(), messages, variables, add_generation_prompt != 0);
    return rendered ? giveText(*rendered, text, size) : rendered.error();
  });
}

} // extern "C"
