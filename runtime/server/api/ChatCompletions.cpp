//===- ChatCompletions.cpp - /v1/chat/completions --------------------------===//
#include "runtime/server/api/ChatAnswer.h"
#include "runtime/server/api/FillMiddle.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/RouteTable.h"
#include "runtime/server/api/SearchFields.h"

#include "runtime/json/JsonText.h"

namespace ingot::api {

namespace {

using runtime::JsonText;
using Kind = text::OutputPiece::Kind;

class ChatStream final : public ChatAnswer {
public:
  ChatStream(Generation generation, std::shared_ptr<http::Responder> responder,
             const ChatPrompt &prompt)
      : ChatAnswer(std::move(generation), std::move(responder), prompt),
        promptIds(asked().returnIds ? prompt.ids : std::vector<int32_t>()),
        head(listHead("chatcmpl-", asked().stream ? "chat.completion.chunk" : "chat.completion")) {}

private:
  struct ToolCall {
    std::string id, name, arguments;
  };
  struct Choice {
    std::string content, reasoning;
    std::vector<ToolCall> calls;
    std::string logprobs; ///< items of the list of log-probabilities
    std::vector<int32_t> ids;
    std::string finish;
    StopCause stop;
  };

  Choice &of(int32_t index) {
    if (answers.empty())
      answers.resize(size_t(choices()));
    return answers[size_t(index)];
  }

  std::string spelled(int32_t id) const {
    return std::string(asked().model->tokenizer()->tokenBytes(id));
  }

  void tokenJson(JsonText &json, const runtime::TokenLogprob &one) const {
    std::string bytes = spelled(one.id);
    json.key("token").value(bytes).key("logprob").value(double(one.logprob));
    json.key("bytes").open('[');
    for (char c : bytes)
      json.value(int(static_cast<unsigned char>(c)));
    json.close();
  }

  /// Returns {"token":…,"logprob":…,"bytes":[…],"top_logprobs":[…]}, or "" if the output has no
  /// log-probabilities.
  std::string logprobOf(const service::Output *output) const {
    if (!output || output->id < 0 || output->logprobs.empty())
      return "";
    JsonText json;
    json.open('{');
    tokenJson(json, output->logprobs[0]);
    json.key("top_logprobs").open('[');
    for (size_t i = 1; i < output->logprobs.size(); ++i) {
      json.open('{');
      tokenJson(json, output->logprobs[i]);
      json.close();
    }
    return json.close().close().text();
  }

  static std::string idsJson(const std::vector<int32_t> &ids) {
    JsonText json;
    json.open('[');
    for (int32_t id : ids)
      json.value(id);
    return json.close().text();
  }

  void noteId(Choice &choice, const service::Output *output) const {
    if (asked().returnIds && output && output->id >= 0)
      choice.ids.push_back(output->id);
  }

  void prompt(const service::Output &output) override {
    scores = promptLogprobsJson(*asked().model, output.scores);
  }

  bool wantsLogprobs() const { return asked().request.sampling.topLogprobs >= 0; }

  static std::string stopMembers(const StopCause &stop) {
    JsonText json;
    stopJson(json.open('{'), stop);
    const std::string object = json.close().text();
    return "," + object.substr(1, object.size() - 2);
  }

  /// Sends one chunk with a delta in JSON.
  void chunk(int32_t index, std::string_view delta, std::string_view logprobs,
             std::string_view finish) {
    std::string text = head;
    text.append("[{\"index\":").append(std::to_string(index)).append(",\"delta\":").append(delta);
    text.append(",\"logprobs\":");
    if (logprobs.empty())
      text.append("null");
    else
      text.append("{\"content\":[").append(logprobs).append("],\"refusal\":null}");
    text.append(",\"finish_reason\":");
    if (finish.empty())
      text.append("null");
    else
      text.append("\"").append(finish).append("\"").append(stopMembers(of(index).stop));
    if (asked().returnIds)
      text.append(",\"token_ids\":").append(idsJson(std::exchange(of(index).ids, {})));
    text.append("}]");
    if (asked().returnIds && isFirst)
      text.append(",\"prompt_token_ids\":").append(idsJson(promptIds));
    isFirst = false;
    event(text + timings(index) + chunkEnd());
  }

  /// Returns llama.cpp's timings, once there is a token.
  std::string timings(int32_t index) const {
    return asked().timingsPerToken && (timesOf(index).predicted || timesOf(index).computedAt)
               ? ",\"timings\":" + timesOf(index).json()
               : std::string();
  }

  void begin() override {
    const char *content = asked().llamaCpp ? "null" : "\"\"";
    for (int32_t i = 0; i < choices(); ++i)
      chunk(i, std::string("{\"role\":\"assistant\",\"content\":") + content + "}", "", "");
  }

  /// Sends llama.cpp's progress event.
  void progress(int32_t choice) override {
    event(head + "[],\"prompt_progress\":" + timesOf(choice).progressJson() + timings(choice) +
          chunkEnd());
  }

  static void callJson(JsonText &json, const ToolCall &call) {
    json.key("id").value(call.id).key("type").value("function").key("function").open('{');
    json.key("name").value(call.name).key("arguments").value(call.arguments).close();
  }

  void piece(int32_t index, const text::OutputPiece &piece,
             const service::Output *output) override {
    Choice &choice = of(index);
    noteId(choice, output);
    std::string logprob = wantsLogprobs() ? logprobOf(output) : "";
    if (!asked().stream && !logprob.empty())
      choice.logprobs += (choice.logprobs.empty() ? "" : ",") + logprob;
    JsonText delta;
    delta.open('{');
    switch (piece.kind) {
    case Kind::Content:
      delta.key("content").value(piece.text);
      choice.content += asked().stream ? "" : piece.text;
      break;
    case Kind::Reasoning:
      delta.key("reasoning_content").value(piece.text);
      choice.reasoning += asked().stream ? "" : piece.text;
      break;
    case Kind::ToolName:
      choice.calls.push_back({newId("call_"), piece.text, ""});
      delta.key("tool_calls").open('[').open('{').key("index").value(piece.toolCall);
      callJson(delta, choice.calls.back());
      delta.close().close();
      break;
    case Kind::ToolArguments:
      choice.calls[size_t(piece.toolCall)].arguments += asked().stream ? "" : piece.text;
      delta.key("tool_calls").open('[').open('{').key("index").value(piece.toolCall);
      delta.key("function").open('{').key("arguments").value(piece.text).close().close().close();
      break;
    }
    if (asked().stream)
      chunk(index, delta.close().text(), logprob, "");
  }

  void silent(int32_t index, const service::Output &output) override {
    Choice &choice = of(index);
    noteId(choice, &output);
    std::string logprob = wantsLogprobs() ? logprobOf(&output) : "";
    if (logprob.empty() && choice.ids.empty())
      return;
    if (asked().stream)
      chunk(index, "{\"content\":\"\"}", logprob, "");
    else
      choice.logprobs += (choice.logprobs.empty() ? "" : ",") + logprob;
  }

  void choiceEnded(int32_t index, const service::Output &output, int32_t toolCalls) override {
    Choice &choice = of(index);
    choice.stop = stopOf(output);
    choice.finish = toolCalls && output.reason == runtime::FinishReason::Stop
                        ? "tool_calls"
                        : finishReason(output.reason);
    if (asked().stream)
      chunk(index, "{}", "", choice.finish);
  }

  void choiceJson(JsonText &json, int32_t index) {
    Choice &choice = of(index);
    json.open('{').key("index").value(index).key("message").open('{');
    json.key("role").value("assistant").key("content");
    if (choice.content.empty() && !choice.calls.empty())
      json.raw("null");
    else
      json.value(choice.content);
    json.key("refusal").raw("null");
    if (!choice.reasoning.empty())
      json.key("reasoning_content").value(choice.reasoning);
    if (!choice.calls.empty()) {
      json.key("tool_calls").open('[');
      for (const ToolCall &call : choice.calls) {
        json.open('{');
        callJson(json, call);
        json.close();
      }
      json.close();
    }
    json.close().key("logprobs");
    if (wantsLogprobs())
      json.raw("{\"content\":[" + choice.logprobs + "],\"refusal\":null}");
    else
      json.raw("null");
    stopJson(json.key("finish_reason").value(choice.finish), choice.stop);
    if (asked().returnIds)
      json.key("token_ids").raw(idsJson(choice.ids));
    json.close();
  }

  void finished() override {
    JsonText json;
    json.open('[');
    for (int32_t i = 0; !asked().stream && i < choices(); ++i)
      choiceJson(json, i);
    if (!scores.empty())
      moreMembers += ",\"prompt_logprobs\":" + scores;
    if (asked().returnIds && !asked().stream)
      moreMembers += ",\"prompt_token_ids\":" + idsJson(promptIds);
    moreMembers += timings(0);
    finishList(head, json.close().text());
  }

  const std::vector<int32_t> promptIds; ///< empty unless requested
  const std::string head;
  std::vector<Choice> answers;
  bool isFirst = true; ///< no chunk has been sent yet
  std::string scores;  ///< prompt_logprobs
};

} // namespace

std::optional<ApiError> countChat(Call &call) {
  const ChatInput input = readChat(call, /*mayContinue=*/true);
  return countPrompt(call, input, "messages");
}

std::optional<ApiError> chatCompletions(Call &call) {
  const Fields &body = *call.body;
  Generation &generation = call.generation;
  generation.llamaCpp = call.request->path == "/chat/completions";
  readGeneration(body, generation, {"max_tokens", "max_completion_tokens"});
  readSearch(body, generation);
  if (generation.llamaCpp)
    refuseUnsupported(body, "n_probs", "is not supported here: give logprobs", {"0"});
  const bool logprobs = body.boolean("logprobs").value_or(false);
  if (auto top = body.integer("top_logprobs", 0, runtime::kMaxTopLogprobs);
      top && (logprobs || *top > 0)) {
    if (!logprobs)
      body.fail("top_logprobs", "needs logprobs to be true");
    generation.request.sampling.topLogprobs = int32_t(*top);
  } else if (logprobs) {
    generation.request.sampling.topLogprobs = 0;
  }
  ChatInput input = readChat(call, /*mayContinue=*/true);
  readPromptLogprobs(body, generation);
  refuseUnsupported(body, "echo", "is not supported here: /v1/completions has it", {"false"});
  refuseUnsupported(body, "add_special_tokens",
                    "is not supported: the template determines how a prompt begins", {"false"});
  refuseUnsupported(body, "functions", "is not supported: give tools", {"[]"});
  refuseUnsupported(body, "function_call", "is not supported: give tool_choice",
                    {"\"none\"", "\"auto\"", "{}"});
  refuseUnsupported(body, "audio", "is not supported", {"{}"});
  refuseUnsupported(body, "modalities", "is supported only for text", {"[\"text\"]", "[]"});
  input.grammar = readGrammar(body);
  if (call.document.error())
    return call.document.error();
  auto prompt = prepareChat(generation, input);
  if (!prompt)
    return prompt.error();
  auto stream = std::make_shared<ChatStream>(generation, call.responder, *prompt);
  return submitChat(call, std::move(*prompt), std::move(stream), "messages");
}

std::optional<ApiError> fillMiddle(Call &call) {
  const Fields &body = *call.body;
  Generation &generation = call.generation;
  readGeneration(body, generation, {"max_tokens", "max_completion_tokens"});
  body.require("prompt");
  const std::string before(body.text("prompt", kMostPromptBytes).value_or(""));
  const std::string after(body.text("suffix", kMostPromptBytes).value_or(""));
  const auto grammar = readGrammar(body);
  if (call.document.error())
    return call.document.error();
  if (auto error = takeGrammar(grammar, generation))
    return error;
  if (!fillsMiddle(*generation.model))
    return ApiError{400, "this model's vocabulary has no fill-in-the-middle tokens", "model",
                    "unsupported_model"};
  auto ids = fillInTheMiddle(*generation.model, before, after);
  if (!ids)
    return promptError(ids.error(), "prompt", generation, before + after);
  ChatPrompt prompt;
  prompt.ids = std::move(*ids);
  truncatePrompt(generation, prompt.ids);
  auto stream = std::make_shared<ChatStream>(generation, call.responder, prompt);
  return submitChat(call, std::move(prompt), std::move(stream), "prompt");
}

} // namespace ingot::api
