//===- Completions.cpp - /v1/completions -----------------------------------===//
#include "runtime/server/api/AnswerStream.h"
#include "runtime/server/api/FillMiddle.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/Routes.h"
#include "runtime/server/api/SearchFields.h"

#include "runtime/json/JsonText.h"

namespace ingot::api {

namespace {

using runtime::JsonText;

class CompletionStream final : public AnswerStream {
public:
  /// `prompts`: where their ids are wanted in the answer.
  CompletionStream(Generation generation, std::shared_ptr<http::Responder> responder,
                   std::vector<std::string> echoes, std::vector<std::vector<int32_t>> prompts,
                   bool promptLogprobs)
      : AnswerStream(std::move(generation), std::move(responder)),
        head(listHead("cmpl-", "text_completion")), echoes(std::move(echoes)),
        prompts(std::move(prompts)), promptLogprobs(promptLogprobs) {}

private:
  struct Choice {
    std::string text;
    std::vector<std::string> tokens;
    std::vector<std::optional<double>> logprobs; ///< none: of a text's first token
    std::vector<std::vector<runtime::TokenLogprob>> top;
    std::vector<size_t> offsets;
    std::vector<int32_t> ids;
    std::string finish, scores; ///< the latter: prompt_logprobs
    bool promptTold = false;    ///< the prompt's ids have come in an event of a stream
  };

  Choice &of(int32_t index) {
    if (answers.empty())
      answers.resize(size_t(choices()));
    Choice &choice = answers[size_t(index)];
    return choice;
  }

  std::string spelled(int32_t token) const {
    const text::Tokenizer *tokenizer = asked().model->tokenizer();
    return tokenizer ? text::replaceInvalidUtf8(tokenizer->tokenBytes(token))
                     : std::to_string(token);
  }

  size_t promptOf(int32_t index) const { return size_t(index / asked().choices); }
  bool echoesLogprobs() const { return !echoes.empty() && asked().request.promptLogprobs >= 0; }

  void begin() override {
    for (int32_t i = 0; i < choices() && !echoes.empty() && !echoesLogprobs(); ++i)
      echo(i);
  }

  /// The prompt's text, as the first chunk of a stream.
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
    choice.promptTold = true;
  }

  /// What the model says of the prompt belongs to all of its choices.
  void prompt(const service::Output &output) override {
    for (int32_t i = 0; i < asked().choices; ++i) {
      const int32_t index = output.choice + i;
      if (promptLogprobs)
        of(index).scores = promptLogprobsJson(*asked().model, output.scores);
      if (!echoesLogprobs())
        continue;
      addPrompt(of(index), prompts[promptOf(index)], output.scores);
      if (asked().stream)
        echo(index);
    }
  }

  void addPrompt(Choice &choice, const std::vector<int32_t> &ids,
                 const std::vector<runtime::PromptScore> &scores) const {
    size_t offset = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      choice.tokens.push_back(spelled(ids[i]));
      choice.offsets.push_back(offset);
      offset += choice.tokens.back().size();
      choice.logprobs.emplace_back();
      choice.top.emplace_back();
      if (i == 0)
        continue;
      const auto &told = scores[i - 1].logprobs;
      choice.logprobs.back() = double(told[0].logprob);
      choice.top.back().assign(told.begin() + 1, told.end());
    }
  }

  void token(const service::Output &output) override {
    Choice &choice = of(output.choice);
    const bool wantsLogprobs = asked().request.sampling.topLogprobs >= 0 && output.id >= 0;
    if (wantsLogprobs && !output.logprobs.empty()) {
      choice.offsets.push_back((echoes.empty() ? 0 : echoes[promptOf(output.choice)].size()) +
                               choice.text.size());
      choice.tokens.push_back(spelled(output.id));
      choice.logprobs.push_back(double(output.logprobs[0].logprob));
      choice.top.emplace_back(output.logprobs.begin() + 1, output.logprobs.end());
    }
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
    if (asked().stream) // an answer of no tokens has no other event
      chunk(output.choice, "", choice.finish,
            asked().returnIds && !choice.promptTold ? &choice : nullptr);
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
      json.open('{');
      for (const runtime::TokenLogprob &one : choice.top[i])
        json.key(spelled(one.id)).value(double(one.logprob));
      json.close();
    }
    json.close().key("text_offset").open('[');
    for (size_t offset : choice.offsets)
      json.value(offset);
    json.close().close();
  }

  void choiceJson(JsonText &json, int32_t index, std::string_view text, std::string_view finish,
                  const Choice *logprobs) const {
    json.open('{').key("index").value(index).key("text").value(text).key("logprobs");
    if (logprobs && asked().request.sampling.topLogprobs >= 0)
      logprobsJson(json, *logprobs);
    else
      json.raw("null");
    json.key("finish_reason");
    if (finish.empty())
      json.raw("null");
    else
      json.value(finish);
    if (asked().returnIds && logprobs) {
      idsJson(json, "token_ids", logprobs->ids);
      if (!logprobs->promptTold)
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
    event(head + json.text() + chunkEnd());
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
    finishList(head, json.close().text());
  }

  const std::string head;
  std::vector<std::string> echoes; ///< of the prompts, where asked for
  std::vector<std::vector<int32_t>> prompts;
  bool promptLogprobs;
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
  if (auto top = body.integer("logprobs", 0, runtime::kMaxTopLogprobs))
    generation.request.sampling.topLogprobs = int32_t(*top);
  const auto grammar = readGrammar(body);
  const bool echo = body.boolean("echo").value_or(false);
  readPromptLogprobs(body, generation);
  const bool promptLogprobs = generation.request.promptLogprobs >= 0;
  if (echo && generation.request.sampling.topLogprobs >= 0) {
    if (generation.request.beams || generation.request.contrastive)
      body.fail("echo", "together with logprobs has no place in a search");
    generation.request.promptLogprobs =
        std::max(generation.request.promptLogprobs, generation.request.sampling.topLogprobs);
    // Who sums a text's up leaves the last one out: it shall not be missing where that ends it.
    generation.request.tellStop = true;
  }
  const bool special = body.boolean("add_special_tokens").value_or(true);

  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;
  readPrompts(body, "prompt", *generation.model, prompts, texts,
              generation.model->rules().mostPrompts);
  const auto suffix = body.text("suffix", kMostPromptBytes);
  if (call.document.error())
    return call.document.error();
  if (auto error = takeGrammar(grammar, generation))
    return error;
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
        return apiError(ids.error(), "prompt");
      if (suffix && ids->empty())
        return ApiError{400,
                        "suffix: this model's vocabulary has no marks for filling in the middle",
                        "suffix", "unsupported_field"};
      prompts.push_back(std::move(*ids));
    }
  else if (suffix)
    return ApiError{400, "suffix: needs a prompt of text", "suffix", ""};
  for (auto &ids : prompts)
    truncatePrompt(generation, ids);
  if (generation.request.contrastive && prompts.size() > 1)
    if (auto fine = generation.model->session().validateTogether(generation.request, prompts);
        !fine && fine.error().code == "E0534") // else submit() says it with the field
      return apiError(fine.error(), "penalty_alpha");
  const bool wantsIds = generation.returnIds || generation.request.promptLogprobs >= 0;
  const bool inTurns = prompts.size() > AnswerStream::kMostAtOnce && generation.choices == 1;
  auto stream = std::make_shared<CompletionStream>(
      std::move(generation), call.responder, echo ? texts : std::vector<std::string>(),
      wantsIds ? prompts : std::vector<std::vector<int32_t>>(), promptLogprobs);
  return AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place),
                              call.post, inTurns);
}

} // namespace ingot::api
