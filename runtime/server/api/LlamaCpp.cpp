//===- LlamaCpp.cpp - llama.cpp's own routes ---------------------------------===//
//
// The routes that llama.cpp's clients and editor plugins use: /completion, /infill, /props and /slots. Streams of
// /completion and /infill end without [DONE].
//===----------------------------------------------------------------------===//
#include "runtime/server/api/FillMiddle.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/RouteTable.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/json/JsonText.h"
#include "runtime/sample/SamplingFields.h"

#include <algorithm>

namespace ingot::api {

namespace {

using runtime::JsonText;

/// Fields of a request that only affect the format of the answer.
struct Shape {
  bool tokens = false; ///< return_tokens: answers that are not streamed have token ids too
  bool many = false;   ///< there are several prompts, so the answer is a list
  int64_t asked = -1;  ///< n_predict before it was reduced to what fits
  std::vector<std::string> fields;  ///< response_fields; empty: all
  std::vector<std::string> prompts; ///< texts of the prompts
};

/// Writes llama.cpp's sampler settings with this request's values. Samplers that Ingot does not have
/// get the values that disable them.
void settingsJson(JsonText &json, const service::ServedModel &model,
                  const runtime::SamplingParams &p, const runtime::RequestSettings *request) {
  for (const runtime::SamplingField &field : runtime::kSamplingFields)
    if (!field.apart()) {
      json.key(*field.alias ? field.alias : field.name);
      std::visit([&](auto member) { json.value(p.*member); }, field.member);
    }
  json.raw(R"("dynatemp_range":0.0,"dynatemp_exponent":1.0)");
  json.raw(R"("top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.1,"dry_multiplier":0.0)"
           R"(,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":-1,"mirostat":0)"
           R"(,"mirostat_tau":5.0,"mirostat_eta":0.1,"adaptive_target":-1.0,"adaptive_decay":0.9)"
           R"(,"n_keep":0,"n_discard":0,"min_keep":0,"lora":[])"
           R"(,"samplers":["penalties","top_k","typ_p","top_p","min_p","temperature"])");
  const int64_t most = request ? request->maxTokens : -1;
  json.key("max_tokens").value(most).key("n_predict").value(most);
  json.key("n_probs").value(std::max(p.topLogprobs, 0));
  json.key("ignore_eos").value(request && request->ignoreEos);
  json.key("stop").open('[');
  if (request)
    for (const std::string &text : request->stopStrings)
      json.value(text);
  json.close().key("logit_bias").open('[');
  for (const auto &[id, bias] : p.logitBias)
    json.open('{').key("bias").value(double(bias)).key("token").value(id).close();
  const auto *text = model.session().engine().table().text();
  if (request && request->ignoreEos && text && text->special() && text->special()->eos())
    for (int32_t id : *text->special()->eos()) // null is llama.cpp's minus infinity
      json.open('{').key("bias").raw("null").key("token").value(id).close();
  json.close();
}

/// Returns the values of an object at paths such as "a/b", as one flat object keyed by path.
std::string chosenFields(const std::string &object, const std::vector<std::string> &paths) {
  simdjson::dom::parser parser;
  simdjson::dom::element root, found;
  JsonText json;
  json.open('{');
  if (!parser.parse(object).get(root))
    for (const std::string &path : paths)
      if (!root.at_pointer("/" + path).get(found))
        json.key(path).raw(std::string(simdjson::minify(found)));
  return json.close().text();
}

class LlamaStream final : public AnswerStream {
public:
  LlamaStream(Generation generation, std::shared_ptr<http::Responder> responder, Shape shape)
      : AnswerStream(std::move(generation), std::move(responder)), shape(std::move(shape)),
        answers(this->shape.prompts.size()) {}

private:
  struct Answer {
    std::string text, stopString, probabilities;
    std::vector<int32_t> ids;
    const char *stopType = "none";
    bool truncated = false;
  };

  static void idsJson(JsonText &json, const std::vector<int32_t> &list) {
    json.key("tokens").open('[');
    for (int32_t id : list)
      json.value(id);
    json.close();
  }

  void probabilityJson(JsonText &json, const runtime::TokenLogprob &one) const {
    const std::string_view bytes = asked().model->tokenizer()->tokenBytes(one.id);
    json.key("id").value(one.id).key("token").value(bytes).key("bytes").open('[');
    for (char c : bytes)
      json.value(int(static_cast<unsigned char>(c)));
    json.close().key("logprob").value(double(one.logprob));
  }

  /// Returns the item for n_probs, {"id","token","bytes","logprob","top_logprobs":[…]}, or "" if it is
  /// not requested.
  std::string probabilityOf(const service::Output &output) const {
    if (output.id < 0 || output.logprobs.empty() || !asked().model->tokenizer())
      return "";
    JsonText json;
    probabilityJson(json.open('{'), output.logprobs[0]);
    json.key("top_logprobs").open('[');
    for (size_t i = 1; i < output.logprobs.size(); ++i) {
      probabilityJson(json.open('{'), output.logprobs[i]);
      json.close();
    }
    return json.close().close().text();
  }

  void progress(int32_t choice) override {
    JsonText json;
    json.open('{').key("index").value(choice).key("content").value("").key("tokens").raw("[]");
    json.key("stop").value(false).key("prompt_progress").raw(timesOf(choice).progressJson());
    event(json.key("timings").raw(timesOf(choice).json()).close().text());
  }

  void token(const service::Output &output) override {
    Answer &own = answers[size_t(output.choice)];
    const std::string probability = probabilityOf(output);
    if (output.id >= 0)
      own.ids.push_back(output.id);
    own.text += output.text;
    if (!asked().stream) {
      if (!probability.empty())
        own.probabilities += (own.probabilities.empty() ? "" : ",") + probability;
      return;
    }
    JsonText json;
    json.open('{').key("index").value(output.choice).key("content").value(output.text);
    idsJson(json, output.id >= 0 ? std::vector<int32_t>{output.id} : std::vector<int32_t>());
    json.key("stop").value(false).key("tokens_predicted").value(own.ids.size());
    json.key("tokens_evaluated").value(timesOf(output.choice).prompt);
    if (!probability.empty())
      json.key("completion_probabilities").raw("[" + probability + "]");
    if (asked().timingsPerToken)
      json.key("timings").raw(timesOf(output.choice).json());
    event(json.close().text());
  }

  void ended(const service::Output &output) override {
    Answer &own = answers[size_t(output.choice)];
    own.stopType = output.reason == runtime::FinishReason::Length ? "limit"
                   : output.stopString.empty()                    ? "eos"
                                                                  : "word";
    own.stopString = output.stopString;
    const int64_t fits = asked().model->session().mostNewIds(timesOf(output.choice).prompt);
    own.truncated = output.reason == runtime::FinishReason::Length && output.newTokens >= fits &&
                    (shape.asked < 0 || shape.asked > fits);
    if (asked().stream)
      event(answerJson(output.choice));
  }

  std::string answerJson(int32_t index) const {
    const Answer &own = answers[size_t(index)];
    const ChoiceTimes &times = timesOf(index);
    const bool stream = asked().stream;
    JsonText json;
    json.open('{').key("index").value(index).key("content").value(stream ? "" : own.text);
    idsJson(json, shape.tokens && !stream ? own.ids : std::vector<int32_t>());
    json.key("id_slot").value(index).key("stop").value(true);
    json.key("model").value(asked().model->name());
    json.key("tokens_predicted").value(times.predicted);
    json.key("tokens_evaluated").value(times.prompt).key("tokens_cached").value(times.cached);
    json.key("generation_settings").open('{').key("stream").value(stream);
    settingsJson(json, *asked().model, asked().request.sampling, &asked().request);
    json.close().key("prompt").value(shape.prompts[size_t(index)]);
    json.key("has_new_line").value(own.text.find('\n') != std::string::npos);
    json.key("truncated").value(own.truncated);
    json.key("stop_type").value(own.stopType).key("stopping_word").value(own.stopString);
    json.key("timings").raw(times.json());
    if (!own.probabilities.empty())
      json.key("completion_probabilities").raw("[" + own.probabilities + "]");
    json.close();
    return shape.fields.empty() ? json.text() : chosenFields(json.text(), shape.fields);
  }

  void finished() override {
    if (asked().stream)
      return response().finish();
    std::string body;
    for (int32_t i = 0; i < choices(); ++i)
      body += (body.empty() ? "" : ",") + answerJson(i);
    response().send(200, "application/json", shape.many ? "[" + body + "]" : body);
  }

  std::string errorText(const ApiError &error) const override { return error.llamaCppBody(); }

  Shape shape;
  std::vector<Answer> answers;
};

/// Reads the generation and the format of the answer.
Shape readShape(const Fields &body, Generation &generation) {
  generation.llamaCpp = true;
  readGeneration(body, generation, {"max_tokens"});
  Shape shape;
  shape.tokens = body.boolean("return_tokens").value_or(false);
  shape.asked = generation.request.maxTokens;
  shape.fields = body.texts("response_fields", 256, 256);
  if (auto count = body.integer("n_probs", 0, runtime::kMaxTopLogprobs); count && *count > 0)
    generation.request.sampling.topLogprobs = int32_t(*count);
  return shape;
}

std::optional<ApiError> submit(Call &call, Generation generation,
                               std::vector<std::vector<int32_t>> prompts, Shape shape,
                               const std::optional<AskedGrammar> &grammar) {
  if (auto error = takeGrammar(grammar, generation))
    return error;
  size_t longest = 0;
  for (std::vector<int32_t> &ids : prompts) {
    truncatePrompt(generation, ids);
    longest = std::max(longest, ids.size());
    const text::Tokenizer *tokenizer = generation.model->tokenizer();
    shape.prompts.push_back(tokenizer ? tokenizer->decode(ids, /*skipSpecial=*/false) : "");
  }
  takeWhatFits(generation, longest);
  generation.choices = 1;
  auto stream =
      std::make_shared<LlamaStream>(std::move(generation), call.responder, std::move(shape));
  return AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place),
                              call.post);
}

} // namespace

std::optional<ApiError> llamaCompletion(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  Shape shape = readShape(body, generation);
  const auto grammar = readGrammar(body);
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;
  readPrompts(body, "prompt", generation, prompts, texts, generation.model->rules().mostPrompts);
  if (call.document.error())
    return call.document.error();
  for (const std::string &text : texts) {
    auto ids = generation.model->session().encodeToFit(text, runtime::PromptText::Plain);
    if (!ids)
      return promptError(ids.error(), "prompt", generation, text);
    prompts.push_back(std::move(*ids));
  }
  shape.many = prompts.size() > 1;
  return submit(call, std::move(generation), std::move(prompts), std::move(shape), grammar);
}

std::optional<ApiError> llamaInfill(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  Shape shape = readShape(body, generation);
  const auto grammar = readGrammar(body);
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
  before += body.text("prompt", kMostPromptBytes).value_or(""); // the prompt follows the prefix
  const std::string after(body.text("input_suffix", kMostPromptBytes).value_or(""));
  if (call.document.error())
    return call.document.error();
  auto ids = fillInTheMiddle(*generation.model, before, after);
  if (!ids)
    return promptError(ids.error(), "input_prefix", generation, before + after);
  if (ids->empty())
    return ApiError{400, "this model's vocabulary has no fill-in-the-middle tokens", "model",
                    "unsupported_model"};
  std::vector<std::vector<int32_t>> prompts;
  prompts.push_back(std::move(*ids));
  return submit(call, std::move(generation), std::move(prompts), std::move(shape), grammar);
}

void llamaProps(const Looked &at, http::Responder &responder) {
  const auto model = at.models.find("");
  const runtime::SamplingParams p = model->session().defaultSampling();
  JsonText json;
  json.open('{').key("default_generation_settings").open('{');
  json.key("id").value(0).key("n_ctx").value(model->session().context()).key("params").open('{');
  settingsJson(json, *model, p, nullptr);
  json.close().close();
  json.key("total_slots").value(model->session().maxSeqs());
  json.key("model_alias").value(model->name()).key("model_path");
  json.value(model->session().engine().path());
  json.key("modalities").open('{').key("vision").value(false).key("audio").value(false).close();
  json.key("chat_template").value(model->templateSource());
  json.key("bos_token").value(model->templateTokens().bosToken);
  json.key("eos_token").value(model->templateTokens().eosToken);
  json.key("tool_format").value(model->outputFormat(/*tools=*/true).tools);
  json.key("reasoning_format").value(model->outputFormat(/*tools=*/true).reasoning);
  json.key("build_info").value(llamaBuild(*model));
  responder.send(200, "application/json", json.close().text());
}

/// Sends a list of all slots. Each request occupies one slot, which is reported as processing, and the other slots are
/// idle.
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
