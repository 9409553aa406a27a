//===- LlamaCpp.cpp - llama.cpp's own routes ---------------------------------===//
//
// What its clients and editors' plugins ask for: /completion and /infill (which streams without a
// [DONE]), /props and /slots.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/FillMiddle.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/RouteTable.h"

#include "runtime/device/Trace.h"
#include "runtime/json/JsonText.h"

namespace ingot::api {

namespace {

using runtime::JsonText;

class LlamaStream final : public AnswerStream {
public:
  LlamaStream(Generation generation, std::shared_ptr<http::Responder> responder, bool tokens)
      : AnswerStream(std::move(generation), std::move(responder)), tokens(tokens),
        begun(runtime::nowNanoseconds()) {}

private:
  void idsJson(JsonText &json, const std::vector<int32_t> &list) const {
    json.key("tokens").open('[');
    for (int32_t id : list)
      if (tokens)
        json.value(id);
    json.close();
  }

  void token(const service::Output &output) override {
    if (output.id >= 0) {
      first = first ? first : runtime::nowNanoseconds();
      ids.push_back(output.id);
    }
    if (!asked().stream) {
      text += output.text;
      return;
    }
    JsonText json;
    json.open('{').key("index").value(0).key("content").value(output.text);
    idsJson(json, output.id >= 0 ? std::vector<int32_t>{output.id} : std::vector<int32_t>());
    json.key("stop").value(false).key("tokens_predicted").value(ids.size());
    event(json.key("tokens_evaluated").value(usage.prompt).close().text());
  }

  void ended(const service::Output &output) override {
    stopType = output.reason == runtime::FinishReason::Length ? "limit"
               : output.stopString.empty()                    ? "eos"
                                                              : "word";
    word = output.stopString;
  }

  void finished() override {
    const uint64_t now = runtime::nowNanoseconds(), answered = first ? first : now;
    auto timing = [](JsonText &json, const char *kind, int64_t count, uint64_t nanoseconds) {
      const double ms = double(nanoseconds) * 1e-6, n = double(std::max<int64_t>(1, count));
      const std::string name(kind);
      json.key(name + "_n").value(count).key(name + "_ms").value(ms);
      json.key(name + "_per_token_ms").value(ms / n);
      json.key(name + "_per_second").value(ms > 0 ? double(count) * 1e3 / ms : 0.0);
    };
    JsonText json;
    json.open('{').key("index").value(0).key("content").value(text);
    idsJson(json, asked().stream ? std::vector<int32_t>() : ids);
    json.key("stop").value(true).key("model").value(asked().model->name());
    json.key("tokens_predicted").value(usage.completion);
    json.key("tokens_evaluated").value(usage.prompt).key("tokens_cached").value(usage.cached);
    json.key("truncated").value(false).key("has_new_line");
    json.value(text.find('\n') != std::string::npos);
    json.key("stop_type").value(stopType).key("stopping_word").value(word);
    json.key("generation_settings").open('{');
    json.key("n_predict").value(asked().request.maxTokens);
    json.key("temperature").value(double(asked().request.sampling.temperature));
    json.key("top_k").value(asked().request.sampling.topK);
    json.key("top_p").value(double(asked().request.sampling.topP)).close();
    json.key("timings").open('{');
    timing(json, "prompt", usage.prompt, answered - begun);
    timing(json, "predicted", usage.completion, now - answered);
    json.close().close();
    if (!asked().stream)
      return response().send(200, "application/json", json.text());
    event(json.text());
    response().finish();
  }

  bool tokens;               ///< return_tokens
  uint64_t begun, first = 0; ///< ns
  std::string text, word;
  std::vector<int32_t> ids;
  const char *stopType = "none";
};

std::optional<ApiError> submit(Call &call, Generation generation, std::vector<int32_t> ids,
                               bool tokens, const std::optional<AskedGrammar> &grammar) {
  if (auto error = takeGrammar(grammar, generation))
    return error;
  truncatePrompt(generation, ids);
  takeWhatFits(generation, ids.size());
  generation.choices = 1;
  std::vector<std::vector<int32_t>> prompts;
  prompts.push_back(std::move(ids));
  auto stream = std::make_shared<LlamaStream>(std::move(generation), call.responder, tokens);
  return AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place),
                              call.post);
}

} // namespace

std::optional<ApiError> llamaCompletion(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  readGeneration(body, generation, {"max_tokens"});
  const auto grammar = readGrammar(body);
  const bool tokens = body.boolean("return_tokens").value_or(false);
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;
  readPrompts(body, "prompt", *generation.model, prompts, texts, 1);
  if (call.document.error())
    return call.document.error();
  if (prompts.empty()) {
    auto ids = generation.model->session().encodeToFit(texts.empty() ? "" : texts[0],
                                                       runtime::PromptText::Plain);
    if (!ids)
      return apiError(ids.error(), "prompt");
    prompts.push_back(std::move(*ids));
  }
  return submit(call, std::move(generation), std::move(prompts[0]), tokens, grammar);
}

std::optional<ApiError> llamaInfill(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  readGeneration(body, generation, {"max_tokens"});
  const auto grammar = readGrammar(body);
  const bool tokens = body.boolean("return_tokens").value_or(false);
  body.require("input_prefix");
  body.require("input_suffix");
  std::string before;
  for (const Fields &extra : body.objects("input_extra", 0, 1024)) { // text of other files
    before += "\n\n--- snippet ---\n\n";
    before += extra.text("text", kMostPromptBytes).value_or("");
  }
  if (!before.empty())
    before += "\n\n--- snippet ---\n\n";
  before += body.text("input_prefix", kMostPromptBytes).value_or("");
  before += body.text("prompt", kMostPromptBytes).value_or(""); // goes on behind the prefix
  const std::string after(body.text("input_suffix", kMostPromptBytes).value_or(""));
  if (call.document.error())
    return call.document.error();
  auto ids = fillInTheMiddle(*generation.model, before, after);
  if (!ids)
    return apiError(ids.error(), "input_prefix");
  if (ids->empty())
    return ApiError{400, "this model's vocabulary has no marks for filling in the middle", "model",
                    "unsupported_model"};
  return submit(call, std::move(generation), std::move(*ids), tokens, grammar);
}

void llamaProps(const Looked &at, http::Responder &responder) {
  const auto model = at.models.find("");
  const runtime::SamplingParams p = model->session().defaultSampling();
  JsonText json;
  json.open('{').key("default_generation_settings").open('{');
  json.key("id").value(0).key("n_ctx").value(model->session().context()).key("params").open('{');
  json.key("temperature").value(double(p.temperature)).key("top_k").value(p.topK);
  json.key("top_p").value(double(p.topP)).key("min_p").value(double(p.minP)).close().close();
  json.key("total_slots").value(model->session().maxSeqs());
  json.key("model_alias").value(model->name()).key("model_path").value("");
  json.key("modalities").open('{').key("vision").value(false).key("audio").value(false).close();
  json.key("chat_template").value(model->templateSource());
  json.key("bos_token").value(model->templateTokens().bosToken);
  json.key("eos_token").value(model->templateTokens().eosToken);
  json.key("tool_format").value(model->outputFormat(/*tools=*/true).tools);
  json.key("reasoning_format").value(model->outputFormat(/*tools=*/true).reasoning);
  json.key("build_info").value("ingot " + at.version);
  responder.send(200, "application/json", json.close().text());
}

/// A place that runs for each request, and the others.
void llamaSlots(const Looked &at, http::Responder &responder) {
  const auto model = at.models.find("");
  const auto requests = model->service().requests();
  const auto places = size_t(std::max<int64_t>(model->session().maxSeqs(), 1));
  JsonText json;
  json.open('[');
  for (size_t i = 0; i < places; ++i) {
    json.open('{').key("id").value(i).key("n_ctx").value(model->session().context());
    json.key("is_processing").value(i < requests.size());
    if (i < requests.size())
      json.key("n_decoded").value(requests[i].newTokens);
    json.close();
  }
  responder.send(200, "application/json", json.close().text());
}

} // namespace ingot::api
