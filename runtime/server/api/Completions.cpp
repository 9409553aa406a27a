//===- Completions.cpp - /v1/completions -----------------------------------===//
#include "runtime/server/api/AnswerStream.h"
#include "runtime/server/api/FillMiddle.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/Routes.h"
#include "runtime/server/api/SearchFields.h"

#include "runtime/json/JsonText.h"

#include <algorithm>

namespace ingot::api {

namespace {

using runtime::JsonText;

class CompletionStream final : public AnswerStream {
public:
  /// `prompts`: the token ids of the prompts, if the answer needs them.
  CompletionStream(Generation generation, std::shared_ptr<http::Responder> responder,
                   std::vector<std::string> echoes, std::vector<std::vector<int32_t>> prompts,
                   bool promptLogprobs, bool promptsOfIds)
      : AnswerStream(std::move(generation), std::move(responder)),
        head(listHead("cmpl-", "text_completion")), echoes(std::move(echoes)),
        prompts(std::move(prompts)), promptLogprobs(promptLogprobs), promptsOfIds(promptsOfIds) {}

private:
  struct Choice {
    std::string text;
    std::vector<std::string> tokens;
    std::vector<std::optional<double>> logprobs; ///< nullopt for the first token of a text
    std::vector<std::vector<runtime::TokenLogprob>> top;
    std::vector<size_t> offsets; ///< of tokens in the shown text, in code points, as Python counts
    size_t shown = 0;            ///< code points of the answer so far
    std::vector<int32_t> ids;
    std::string finish, scores; ///< scores: prompt_logprobs
    StopCause stop;
    bool promptReported = false; ///< the prompt's tokens have been sent in an event of the stream
  };

  Choice &of(int32_t index) {
    if (answers.empty())
      answers.resize(size_t(choices()));
    Choice &choice = answers[size_t(index)];
    return choice;
  }

  /// Returns the text of a token. If its bytes are only a part of a character, returns them in OpenAI's
  /// form, "bytes:\xe6\x97".
  std::string spelled(int32_t token) const {
    const text::Tokenizer *tokenizer = asked().model->tokenizer();
    if (!tokenizer)
      return std::to_string(token);
    const std::string_view bytes = tokenizer->tokenBytes(token);
    if (text::replaceInvalidUtf8(bytes) == bytes)
      return std::string(bytes);
    std::string name = "bytes:";
    for (char byte : bytes) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(byte));
      name += escape;
    }
    return name;
  }

  size_t promptOf(int32_t index) const { return size_t(index / asked().choices); }
  bool echoesLogprobs() const { return !echoes.empty() && asked().request.promptLogprobs >= 0; }

  void begin() override {
    for (int32_t i = 0; i < choices() && !echoes.empty() && !echoesLogprobs(); ++i)
      echo(i);
  }

  /// Sends the prompt's text as the first chunk of a stream.
  void echo(int32_t index) {
    Choice &choice = of(index);
    chunk(index, echoes[promptOf(index)], "", &choice);
    forget(choice);
  }

  static void forget(Choice &choice) {
    choice.tokens.clear();
    choice.logprobs.clear();
    choice.top.clear();
    choice.offsets.clear();
    choice.ids.clear();
    choice.promptReported = true;
  }

  /// Copies the prompt's scores to all of its choices.
  void prompt(const service::Output &output) override {
    for (int32_t i = 0; i < asked().choices; ++i) {
      const int32_t index = output.choice + i;
      if (promptLogprobs)
        of(index).scores = promptLogprobsJson(*asked().model, output.scores);
      if (!echoesLogprobs())
        continue;
      addPrompt(index, output.scores);
      if (asked().stream)
        echo(index);
    }
  }

  void addPrompt(int32_t index, const std::vector<runtime::PromptScore> &scores) {
    Choice &choice = of(index);
    const std::vector<int32_t> &ids = prompts[promptOf(index)];
    // Offsets are in the shown text, to which incomplete characters and control tokens add nothing.
    std::optional<text::StreamDecoder> decoder;
    if (const text::Tokenizer *tokenizer = asked().model->tokenizer())
      decoder.emplace(*tokenizer, /*skipSpecial=*/promptsOfIds);
    size_t offset = 0;
    const size_t whole = codePoints(echoes[promptOf(index)]);
    for (size_t i = 0; i < ids.size(); ++i) {
      choice.tokens.push_back(spelled(ids[i]));
      choice.offsets.push_back(std::min(offset, whole));
      if (decoder)
        offset += codePoints(decoder->push(ids[i]));
      choice.logprobs.emplace_back();
      choice.top.emplace_back();
      if (i == 0)
        continue;
      const auto &logprobs = scores[i - 1].logprobs;
      choice.logprobs.back() = double(logprobs[0].logprob);
      choice.top.back() = likeliest(logprobs);
    }
  }

  /// Returns the requested number of likeliest tokens and also the token itself, as vLLM and OpenAI do.
  static std::vector<runtime::TokenLogprob>
  likeliest(const std::vector<runtime::TokenLogprob> &logprobs) {
    std::vector<runtime::TokenLogprob> top(logprobs.begin() + 1, logprobs.end());
    if (std::ranges::find(top, logprobs[0].id, &runtime::TokenLogprob::id) == top.end())
      top.push_back(logprobs[0]);
    return top;
  }

  static size_t codePoints(std::string_view text) {
    return size_t(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  }

  void token(const service::Output &output) override {
    Choice &choice = of(output.choice);
    const bool wantsLogprobs = asked().request.sampling.topLogprobs >= 0 && output.id >= 0;
    if (wantsLogprobs && !output.logprobs.empty()) {
      choice.offsets.push_back(choice.shown +
                               (echoes.empty() ? 0 : codePoints(echoes[promptOf(output.choice)])));
      choice.tokens.push_back(spelled(output.id));
      choice.logprobs.push_back(double(output.logprobs[0].logprob));
      choice.top.push_back(likeliest(output.logprobs));
    }
    choice.shown += codePoints(output.text);
    choice.text += output.text;
    if (output.id >= 0 && asked().returnIds)
      choice.ids.push_back(output.id);
    if (asked().stream && (!output.text.empty() || wantsLogprobs || !choice.ids.empty())) {
      chunk(output.choice, output.text, "", &choice);
      forget(choice);
    }
  }

  void ended(const service::Output &output) override {
    Choice &choice = of(output.choice);
    choice.finish = finishReason(output.reason);
    choice.stop = stopOf(output);
    if (asked().stream) // an answer without tokens has no other event
      chunk(output.choice, "", choice.finish,
            asked().returnIds && !choice.promptReported ? &choice : nullptr);
  }

  /// Writes log-probabilities by name. If several tokens have the same text, the first (likeliest) one
  /// gets the text as its name. The others get their ids, so that names are unique.
  void topJson(JsonText &json, const std::vector<runtime::TokenLogprob> &top) const {
    std::vector<std::string> names;
    json.open('{');
    for (const runtime::TokenLogprob &one : top) {
      std::string name = spelled(one.id);
      if (std::ranges::find(names, name) != names.end())
        name = "token_id:" + std::to_string(one.id);
      json.key(name).value(double(one.logprob));
      names.push_back(std::move(name));
    }
    json.close();
  }

  void logprobsJson(JsonText &json, const Choice &choice) const {
    json.open('{').key("tokens").open('[');
    for (const std::string &text : choice.tokens)
      json.value(text);
    json.close().key("token_logprobs").open('[');
    for (const auto &value : choice.logprobs)
      value ? json.value(*value) : json.raw("null");
    json.close().key("top_logprobs").open('[');
    for (size_t i = 0; i < choice.top.size(); ++i) {
      if (!choice.logprobs[i]) {
        json.raw("null");
        continue;
      }
      topJson(json, choice.top[i]);
    }
    json.close().key("text_offset").open('[');
    for (size_t offset : choice.offsets)
      json.value(offset);
    json.close().close();
  }

  void choiceJson(JsonText &json, int32_t index, std::string_view text, std::string_view finish,
                  const Choice *logprobs) {
    json.open('{').key("index").value(index).key("text").value(text).key("logprobs");
    if (logprobs && asked().request.sampling.topLogprobs >= 0)
      logprobsJson(json, *logprobs);
    else
      json.raw("null");
    json.key("finish_reason");
    if (finish.empty())
      json.raw("null");
    else
      stopJson(json.value(finish), of(index).stop);
    if (asked().returnIds && logprobs) {
      idsJson(json, "token_ids", logprobs->ids);
      if (!logprobs->promptReported)
        idsJson(json, "prompt_token_ids", prompts[promptOf(index)]);
    }
    if (logprobs && !logprobs->scores.empty())
      json.key("prompt_logprobs").raw(logprobs->scores);
    json.close();
  }

  static void idsJson(JsonText &json, const char *name, const std::vector<int32_t> &ids) {
    json.key(name).open('[');
    for (int32_t id : ids)
      json.value(id);
    json.close();
  }

  void chunk(int32_t index, std::string_view text, std::string_view finish,
             const Choice *logprobs) {
    JsonText json;
    json.open('[');
    choiceJson(json, index, text, finish, logprobs);
    json.close();
    event(head + json.text() + timings(index) + chunkEnd());
  }

  /// Returns llama.cpp's timings, once there is a token.
  std::string timings(int32_t index) const {
    return asked().timingsPerToken && (timesOf(index).predicted || timesOf(index).computedAt)
               ? ",\"timings\":" + timesOf(index).json()
               : std::string();
  }

  /// Sends llama.cpp's progress event.
  void progress(int32_t choice) override {
    event(head + "[],\"prompt_progress\":" + timesOf(choice).progressJson() + timings(choice) +
          chunkEnd());
  }

  void finished() override {
    JsonText json;
    json.open('[');
    for (int32_t i = 0; !asked().stream && i < choices(); ++i) {
      const Choice &choice = of(i);
      const size_t prompt = size_t(i / asked().choices);
      choiceJson(json, i, prompt < echoes.size() ? echoes[prompt] + choice.text : choice.text,
                 choice.finish, &choice);
    }
    moreMembers += timings(0);
    finishList(head, json.close().text());
  }

  const std::string head;
  std::vector<std::string> echoes; ///< texts of the prompts, if requested
  std::vector<std::vector<int32_t>> prompts;
  bool promptLogprobs;
  bool
      promptsOfIds; ///< the request gave token ids, so echoes are their text without control tokens
  std::vector<Choice> answers;
};

} // namespace

std::optional<ApiError> completions(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  readGeneration(body, generation, {"max_tokens", "max_completion_tokens"});
  readSearch(body, generation);
  if (generation.request.maxTokens < 0 && !body.has("n_predict"))
    generation.request.maxTokens = 16; // OpenAI's default
  if (auto given = body.element("logprobs");
      given && given->is_bool() && !body.boolean("logprobs").value_or(true))
    ; // false requests no log-probabilities, as in chat
  else if (auto top = body.integer("logprobs", 0, runtime::kMaxTopLogprobs))
    generation.request.sampling.topLogprobs = int32_t(*top);
  const auto grammar = readGrammar(body);
  const bool echo = body.boolean("echo").value_or(false);
  readPromptLogprobs(body, generation);
  const bool promptLogprobs = generation.request.promptLogprobs >= 0;
  if (echo && generation.request.sampling.topLogprobs >= 0) {
    if (generation.request.beams || generation.request.contrastive)
      body.fail("echo", "cannot be used with logprobs in a search");
    generation.request.promptLogprobs =
        std::max(generation.request.promptLogprobs, generation.request.sampling.topLogprobs);
    // Clients that sum the log-probabilities of a text drop the last token. Report the stop token, so
    // that they drop that token and not a token of the text.
    generation.request.reportStop = true;
  }
  const bool special = body.boolean("add_special_tokens").value_or(true);

  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;
  readPrompts(body, "prompt", generation, prompts, texts, generation.model->rules().mostPrompts);
  std::optional<std::string> suffix; // an empty suffix counts as none
  if (auto given = body.text("suffix", kMostPromptBytes); given && !given->empty())
    suffix = std::string(*given);
  if (call.document.error())
    return call.document.error();
  if (auto error = takeGrammar(grammar, generation))
    return error;
  const bool promptsOfIds = texts.empty();
  if (echo && texts.empty())
    for (const auto &ids : prompts)
      texts.push_back(generation.model->tokenizer() ? generation.model->tokenizer()->decode(ids)
                                                    : "");
  if (prompts.empty())
    for (const std::string &text : texts) {
      auto ids = suffix                      ? fillInTheMiddle(*generation.model, text, *suffix)
                 : generation.keepPrompt < 0 ? generation.model->session().encodeToFit(
                                                   text, special ? runtime::PromptText::Plain
                                                                 : runtime::PromptText::Rendered)
                 : special                   ? generation.model->session().encodePrompt(text)
                                             : generation.model->tokenizer()->encode(text);
      if (!ids)
        return promptError(ids.error(), "prompt", generation, suffix ? text + *suffix : text);
      if (suffix && ids->empty())
        return ApiError{400, "suffix: this model's vocabulary has no fill-in-the-middle tokens",
                        "suffix", "unsupported_field"};
      prompts.push_back(std::move(*ids));
    }
  else if (suffix)
    return ApiError{400, "suffix: needs a prompt of text", "suffix", ""};
  for (auto &ids : prompts)
    truncatePrompt(generation, ids);
  const bool wantsIds = generation.returnIds || generation.request.promptLogprobs >= 0;
  const bool inTurns = prompts.size() > AnswerStream::kMostAtOnce && generation.choices == 1;
  auto stream = std::make_shared<CompletionStream>(
      std::move(generation), call.responder, echo ? texts : std::vector<std::string>(),
      wantsIds ? prompts : std::vector<std::vector<int32_t>>(), promptLogprobs, promptsOfIds);
  return AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place),
                              call.post, inTurns);
}

} // namespace ingot::api
