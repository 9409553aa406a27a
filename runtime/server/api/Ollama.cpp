//===- Ollama.cpp - Ollama's /api routes ------------------------------------===//
//
// Streams are lines of JSON, and sampling fields are in "options". In Ollama, a request without
// messages or prompt loads the model; here, models are always loaded. Names may end in ":latest".
//===----------------------------------------------------------------------===//
#include "runtime/server/api/FillMiddle.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/ReasoningFields.h"
#include "runtime/server/api/RouteTable.h"

#include "runtime/device/Trace.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/json/JsonText.h"

#include <ctime>

namespace ingot::api {

std::string timeText(int64_t seconds); // ModelLists.cpp

namespace {

using runtime::JsonText;
using Kind = text::OutputPiece::Kind;

constexpr size_t kMostInputs = 2048;

JsonText headOf(const service::ServedModel &model) {
  JsonText json;
  json.open('{')
      .key("model")
      .value(model.name())
      .key("created_at")
      .value(timeText(std::time(nullptr)));
  return json;
}

/// Answers a request without messages or prompt with a report that the model is loaded.
std::optional<ApiError> loaded(Call &call, const char *field, std::string_view nothing) {
  JsonText json = headOf(*call.generation.model);
  json.key(field).raw(nothing).key("done").value(true).key("done_reason").value("load");
  call.responder->send(200, "application/json", json.close().text());
  return std::nullopt;
}

class OllamaStream final : public ChatAnswer {
public:
  /// `chat`: the answer is a message. Otherwise it is a text.
  OllamaStream(Generation generation, std::shared_ptr<http::Responder> responder,
               const ChatPrompt &prompt, bool chat)
      : ChatAnswer(std::move(generation), std::move(responder), prompt), chat(chat),
        begun(runtime::nowNanoseconds()) {}

private:
  const char *contentType() const override { return "application/x-ndjson"; }

  void line(JsonText &json) { response().write(json.close().text() + "\n"); }

  void message(JsonText &json, std::string_view content, std::string_view thinking,
               std::string_view calls) const {
    if (!chat) {
      json.key("response").value(content);
      if (!thinking.empty())
        json.key("thinking").value(thinking);
      return;
    }
    json.key("message").open('{').key("role").value("assistant").key("content").value(content);
    if (!thinking.empty())
      json.key("thinking").value(thinking);
    if (!calls.empty())
      json.key("tool_calls").raw("[" + std::string(calls) + "]");
    json.close();
  }

  void piece(int32_t, const text::OutputPiece &piece, const service::Output *output) override {
    note(output);
    switch (piece.kind) {
    case Kind::Content:
    case Kind::Reasoning: {
      const bool content = piece.kind == Kind::Content;
      if (!asked().stream) {
        (content ? text : thinking) += piece.text;
        return;
      }
      JsonText json = headOf(*asked().model);
      message(json, content ? piece.text : "", content ? "" : piece.text, "");
      json.key("done").value(false);
      return line(json);
    }
    case Kind::ToolName: // calls are sent whole
      endCall();
      call = piece.text;
      return;
    case Kind::ToolArguments:
      arguments += piece.text;
    }
  }

  void silent(int32_t, const service::Output &output) override { note(&output); }

  void note(const service::Output *output) {
    if (output && output->id >= 0 && !first)
      first = runtime::nowNanoseconds();
  }

  void endCall() {
    if (call.empty())
      return;
    Document document;
    // Arguments are an object. Truncated arguments are closed; done_reason shows the truncation.
    auto object = document.parse(text::closedArguments(arguments));
    JsonText json;
    json.open('{').key("function").open('{').key("name").value(call).key("arguments");
    json.raw(object ? object->json() : "{}").close().close();
    calls += (calls.empty() ? "" : ",") + json.text();
    call.clear();
    arguments.clear();
  }

  void choiceEnded(int32_t, const service::Output &output, int32_t) override {
    endCall();
    reason = finishReason(output.reason);
  }

  void finished() override {
    const uint64_t now = runtime::nowNanoseconds();
    const uint64_t answered = first ? first : now;
    JsonText json = headOf(*asked().model);
    message(json, text, thinking, calls);
    json.key("done").value(true).key("done_reason").value(reason);
    json.key("total_duration").value(now - begun).key("load_duration").value(0);
    json.key("prompt_eval_count").value(usage.prompt);
    json.key("prompt_eval_duration").value(answered - begun);
    json.key("eval_count").value(usage.completion).key("eval_duration").value(now - answered);
    if (!asked().stream)
      return response().send(200, "application/json", json.close().text());
    line(json);
    response().finish();
  }

  void failed(const ApiError &error) override {
    response().write(errorText(error) + "\n");
    response().finish();
  }
  std::string errorText(const ApiError &error) const override {
    return api::errorText(error, Dialect::Ollama);
  }

  bool chat;
  uint64_t begun, first = 0; ///< ns
  std::string text, thinking, calls, call, arguments;
  const char *reason = "stop";
};

/// Reads "options", "format", "stream" and "think".
void readOptions(const Fields &body, Generation &generation, ChatInput &input) {
  static thread_local Document none;
  auto options = body.object("options");
  const Fields given = options ? *options : *none.parse("{}");
  readGeneration(given, generation, {});
  generation.choices = 1;
  // -1 means as many tokens as fit, and -2 until the context is full. Both mean the same here.
  if (auto most = given.integer("num_predict", -2, 1 << 30)) {
    generation.request.maxTokens = std::max<int64_t>(-1, *most);
    generation.request.promptOnly = *most == 0;
  }
  generation.stream = body.boolean("stream").value_or(true);
  if (auto format = body.element("format")) {
    if (format->is_string() && body.oneOf("format", {"json", ""}) == "json")
      input.grammar = AskedGrammar{text::GrammarKind::JsonObject, "", "format"};
    else if (!format->is_string() && body.object("format"))
      input.grammar = AskedGrammar{text::GrammarKind::JsonSchema,
                                   withClosedObjects(body.json("format")), "format"};
  }
  readReasoning(body, ReasoningApi::Ollama, input, generation);
  refuseUnsupported(body, "images", "is not supported: this model accepts only text", {"[]"});
}

bool isNothing(const Fields &body, std::string_view name) {
  auto value = body.element(name);
  simdjson::dom::array list;
  std::string_view text;
  return !value || (!value->get(list) && list.size() == 0) || (!value->get(text) && text.empty());
}

void details(JsonText &json, const service::ServedModel &model) {
  const auto *table = model.session().engine().table().model();
  json.key("details").open('{').key("parent_model").value("").key("format").value("ingot");
  json.key("family").value(table->family()->str()).key("families").open('[');
  json.value(table->family()->str()).close();
  char size[32];
  std::snprintf(size, sizeof size, "%.1fM", double(table->parameters()) * 1e-6);
  json.key("parameter_size").value(size).key("quantization_level").value("").close();
}

void entry(JsonText &json, const service::ServedModel &model) {
  const uint64_t bytes = model.session().engine().fileBytes();
  json.open('{').key("name").value(model.name()).key("model").value(model.name());
  json.key("modified_at").value(timeText(model.created())).key("size").value(bytes);
  json.key("digest").value(model.fingerprint());
  details(json, model);
}

class OllamaEmbedding final : public AnswerStream {
public:
  OllamaEmbedding(Generation generation, std::shared_ptr<http::Responder> responder, bool single)
      : AnswerStream(std::move(generation), std::move(responder)), single(single) {}

private:
  void token(const service::Output &) override {}
  void ended(const service::Output &output) override {
    found.resize(size_t(choices()));
    JsonText json;
    json.open('[');
    for (float value : output.embedding)
      json.value(double(value));
    found[size_t(output.choice)] = json.close().text();
  }
  void finished() override {
    JsonText json;
    if (single)
      return response().send(200, "application/json",
                             json.open('{').key("embedding").raw(found.at(0)).close().text());
    json.open('{').key("model").value(asked().model->name()).key("embeddings").open('[');
    for (const std::string &one : found)
      json.raw(one);
    json.close().key("prompt_eval_count").value(usage.prompt);
    response().send(200, "application/json", json.close().text());
  }
  std::string errorText(const ApiError &error) const override {
    return api::errorText(error, Dialect::Ollama);
  }

  bool single; ///< the older route, which answers with one embedding
  std::vector<std::string> found;
};

} // namespace

std::optional<ApiError> ollamaChat(Call &call) {
  const Fields &body = *call.body;
  if (!call.document.error() && isNothing(body, "messages"))
    return loaded(call, "message", R"({"role":"assistant","content":""})");
  Generation &generation = call.generation;
  ChatInput input;
  readOptions(body, generation, input);
  input.messages = readMessages(body, input.toolMessages);
  input.continueLast = endsInAssistantText(body); // as Ollama does
  for (const Fields &message : body.objects("messages", 1, kMostMessages))
    refuseUnsupported(message, "images", "is not supported: this model accepts only text", {"[]"});
  input.tools = readTools(body);
  if (call.document.error())
    return call.document.error();
  auto prompt = prepareChat(generation, input);
  if (!prompt)
    return prompt.error();
  takeWhatFits(generation, prompt->ids.size());
  auto stream = std::make_shared<OllamaStream>(generation, call.responder, *prompt, true);
  return submitChat(call, std::move(*prompt), std::move(stream), "messages");
}

std::optional<ApiError> ollamaGenerate(Call &call) {
  const Fields &body = *call.body;
  if (!call.document.error() && isNothing(body, "prompt"))
    return loaded(call, "response", R"("")");
  Generation &generation = call.generation;
  service::ServedModel &model = *generation.model;
  ChatInput input;
  readOptions(body, generation, input);
  const std::string text(body.text("prompt", kMostContentBytes).value_or(""));
  const auto system = body.text("system", kMostContentBytes);
  const std::string suffix(body.text("suffix", kMostContentBytes).value_or(""));
  const bool raw = body.boolean("raw").value_or(false) || !model.chatTemplate() || !suffix.empty();
  refuseUnsupported(body, "template", "is not supported: the engine has its own", {"\"\""});
  refuseUnsupported(body, "context", "is not supported: send the conversation to /api/chat",
                    {"[]"});
  if (call.document.error())
    return call.document.error();
  Outcome<ChatPrompt> prompt = ChatPrompt();
  if (raw) {
    auto ids = !suffix.empty() ? fillInTheMiddle(model, text, suffix)
                               : model.session().encodeToFit(text, runtime::PromptText::Plain);
    if (!ids)
      return promptError(ids.error(), "prompt", generation, text + suffix);
    if (ids->empty())
      return ApiError{400, "suffix: this model's vocabulary has no fill-in-the-middle tokens",
                      "suffix", "unsupported_field"};
    prompt->ids = std::move(*ids);
    if (auto error = takeGrammar(input.grammar, generation))
      return error;
  } else {
    JsonText json;
    json.open('[');
    if (system && !system->empty())
      json.open('{').key("role").value("system").key("content").value(*system).close();
    json.open('{').key("role").value("user").key("content").value(text).close();
    input.messages = json.close().text();
    prompt = prepareChat(generation, input);
    if (!prompt)
      return prompt.error();
  }
  takeWhatFits(generation, prompt->ids.size());
  auto stream = std::make_shared<OllamaStream>(generation, call.responder, *prompt, false);
  return submitChat(call, std::move(*prompt), std::move(stream), "prompt");
}

std::optional<ApiError> ollamaEmbed(Call &call) {
  const Fields &body = *call.body;
  Generation generation = std::move(call.generation);
  const bool single = call.request->path == "/api/embeddings";
  const char *name = single ? "prompt" : "input";
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;
  readPrompts(body, name, generation, prompts, texts, kMostInputs);
  const int64_t width = generation.model->session().engine().table().model()->hidden();
  (void)body.integer("dimensions", width, width);
  if (call.document.error())
    return call.document.error();
  for (const std::string &text : texts) {
    auto ids = generation.model->session().encodeToFit(text, runtime::PromptText::Plain);
    if (!ids)
      return promptError(ids.error(), name, generation, text);
    prompts.push_back(std::move(*ids));
  }
  generation.request.pooling = runtime::Pooling::Last;
  generation.request.maxTokens = 1;
  generation.request.cachePrefix = false;
  auto stream = std::make_shared<OllamaEmbedding>(std::move(generation), call.responder, single);
  auto error = AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place),
                                    call.post, /*inTurns=*/true);
  if (error && error->param == "prompt")
    error->param = name;
  return error;
}

std::optional<ApiError> ollamaShow(Call &call) {
  if (call.document.error())
    return call.document.error();
  const service::ServedModel &model = *call.generation.model;
  const auto *table = model.session().engine().table().model();
  const std::string family = table->family()->str();
  JsonText json;
  json.open('{').key("modelfile").value("").key("parameters").value("");
  // Clients recognise support for a suffix by this word of Ollama's own templates.
  const bool fills = fillsMiddle(model);
  json.key("template").value(model.templateSource() + (fills ? "{# .Suffix #}" : ""));
  details(json, model);
  json.key("model_info").open('{').key("general.architecture").value(family);
  json.key("general.parameter_count").value(table->parameters());
  json.key(family + ".context_length").value(model.session().context());
  json.key(family + ".embedding_length").value(table->hidden());
  json.key(family + ".block_count").value(table->layers()).close();
  json.key("capabilities").open('[').value("completion");
  if (model.chatTemplate())
    json.value("tools");
  if (!model.outputFormat().reasoning.empty())
    json.value("thinking");
  if (fills)
    json.value("insert");
  json.close().key("modified_at").value(timeText(model.created()));
  call.responder->send(200, "application/json", json.close().text());
  return std::nullopt;
}

void ollamaTags(const Looked &at, http::Responder &responder) {
  JsonText json;
  json.open('{').key("models").open('[');
  for (const auto &model : at.models.all()) {
    entry(json, *model);
    json.close();
  }
  responder.send(200, "application/json", json.close().close().text());
}

void ollamaRunning(const Looked &at, http::Responder &responder) {
  constexpr int64_t kYear = 365 * 86400; // nothing is unloaded
  JsonText json;
  json.open('{').key("models").open('[');
  for (const auto &model : at.models.all()) {
    entry(json, *model);
    json.key("expires_at").value(timeText(std::time(nullptr) + kYear)).key("size_vram").value(0);
    json.key("context_length").value(model->session().context()).close();
  }
  responder.send(200, "application/json", json.close().close().text());
}

} // namespace ingot::api
