//===- Messages.cpp - Anthropic's /v1/messages ------------------------------===//
//
// The same chat in another shape: content is a list of blocks, tool calls and their results are
// blocks too, a streamed answer opens and closes each block by events.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/ChatAnswer.h"

#include "runtime/json/JsonText.h"
#include "runtime/server/api/Prompts.h"

#include <algorithm>

namespace ingot::api {

namespace {

using runtime::JsonText;
using Kind = text::OutputPiece::Kind;

class MessageStream final : public ChatAnswer {
public:
  MessageStream(Generation generation, std::shared_ptr<http::Responder> responder,
                const ChatPrompt &prompt)
      : ChatAnswer(std::move(generation), std::move(responder), prompt), id(newId("msg_")) {}

private:
  struct Block {
    Kind kind; ///< Content, Reasoning or ToolName
    std::string text, id, name;
  };

  void usageJson(JsonText &json) const {
    json.open('{').key("input_tokens").value(usage.prompt - usage.cached);
    json.key("cache_read_input_tokens").value(usage.cached);
    json.key("cache_creation_input_tokens").value(0);
    json.key("output_tokens").value(usage.completion).close();
  }

  void messageJson(JsonText &json) const {
    json.open('{').key("id").value(id).key("type").value("message").key("role").value("assistant");
    json.key("model").value(asked().model->name()).key("content").open('[');
    for (const Block &block : blocks)
      blockJson(json, block);
    json.close().key("stop_reason");
    stopJson(json);
    json.key("usage");
    usageJson(json);
    json.close();
  }

  /// Arguments as the model wrote them; an empty object where they are cut off or no JSON.
  static std::string inputOf(std::string_view arguments) {
    Document document;
    auto object = document.parse(arguments);
    return object ? object->json() : "{}";
  }

  static void blockJson(JsonText &json, const Block &block) {
    json.open('{').key("type");
    if (block.kind == Kind::Content)
      json.value("text").key("text").value(block.text);
    else if (block.kind == Kind::Reasoning)
      json.value("thinking").key("thinking").value(block.text).key("signature").value("");
    else
      json.value("tool_use")
          .key("id")
          .value(block.id)
          .key("name")
          .value(block.name)
          .key("input")
          .raw(inputOf(block.text));
    json.close();
  }

  /// The value of stop_reason, then stop_sequence.
  void stopJson(JsonText &json) const {
    if (stopReason.empty())
      json.raw("null");
    else
      json.value(stopReason);
    json.key("stop_sequence");
    if (stopReason == "stop_sequence")
      json.value(stopString);
    else
      json.raw("null");
  }

  void begin() override {
    JsonText json;
    json.open('{').key("type").value("message_start").key("message");
    messageJson(json);
    event(json.close().text(), "message_start");
  }

  void openBlock(Block block) {
    closeBlock();
    if (asked().stream) {
      JsonText json;
      json.open('{').key("type").value("content_block_start").key("index").value(blocks.size());
      json.key("content_block");
      blockJson(json, block);
      event(json.close().text(), "content_block_start");
    }
    blocks.push_back(std::move(block));
    isOpen = true;
  }

  void closeBlock() {
    if (isOpen && asked().stream)
      event(JsonText()
                .open('{')
                .key("type")
                .value("content_block_stop")
                .key("index")
                .value(blocks.size() - 1)
                .close()
                .text(),
            "content_block_stop");
    isOpen = false;
  }

  void delta(const char *type, const char *field, std::string_view text) {
    if (!asked().stream)
      return;
    JsonText json;
    json.open('{').key("type").value("content_block_delta").key("index").value(blocks.size() - 1);
    json.key("delta").open('{').key("type").value(type).key(field).value(text).close();
    event(json.close().text(), "content_block_delta");
  }

  void piece(int32_t, const text::OutputPiece &piece, const service::Output *) override {
    if (piece.kind == Kind::ToolName)
      return openBlock({Kind::ToolName, "", newId("toolu_"), piece.text});
    const Kind kind = piece.kind == Kind::ToolArguments ? Kind::ToolName : piece.kind;
    if (!isOpen || blocks.back().kind != kind)
      openBlock({kind, "", "", ""});
    if (!asked().stream)
      blocks.back().text += piece.text;
    if (kind == Kind::Content)
      delta("text_delta", "text", piece.text);
    else if (kind == Kind::Reasoning)
      delta("thinking_delta", "thinking", piece.text);
    else
      delta("input_json_delta", "partial_json", piece.text);
  }

  void choiceEnded(int32_t, const service::Output &output, int32_t toolCalls) override {
    closeBlock();
    stopString = output.stopString;
    stopReason = output.reason == runtime::FinishReason::Length ? "max_tokens"
                 : !stopString.empty()                          ? "stop_sequence"
                 : toolCalls                                    ? "tool_use"
                                                                : "end_turn";
  }

  void finished() override {
    JsonText json;
    if (!asked().stream) {
      messageJson(json);
      return response().send(200, "application/json", json.text());
    }
    json.open('{').key("type").value("message_delta").key("delta").open('{').key("stop_reason");
    stopJson(json);
    json.close().key("usage");
    usageJson(json);
    event(json.close().text(), "message_delta");
    event("{\"type\":\"message_stop\"}", "message_stop");
    response().finish();
  }

  void failed(const ApiError &error) override {
    event(errorText(error), "error");
    response().finish();
  }
  std::string errorText(const ApiError &error) const override { return error.anthropicBody(); }

  std::string id, stopReason, stopString;
  std::vector<Block> blocks;
  bool isOpen = false;
};

/// The blocks of one message, as messages of a chat template: text, tool calls and tool results
/// are messages of their own there.
/// True if there were any of the latter two.
bool messageBlocks(JsonText &json, const Fields &message, std::string_view role) {
  std::string text, thinking;
  JsonText calls;
  calls.open('[');
  bool anyCall = false, anyResult = false;
  for (const Fields &block : message.objects("content", 0, 4096)) {
    block.require("type");
    auto type = block.text("type", 64).value_or("");
    if (type == "text") {
      block.require("text");
      text += (text.empty() ? "" : "\n") +
              std::string(block.text("text", kMostContentBytes).value_or(""));
    } else if (type == "thinking" && role == "assistant") {
      thinking += std::string(block.text("thinking", kMostContentBytes).value_or(""));
    } else if (type == "tool_use" && role == "assistant") {
      block.require("name");
      calls.open('{').key("id").value(block.text("id", 256).value_or("")).key("type");
      calls.value("function").key("function").open('{').key("name");
      calls.value(block.text("name", 256).value_or("")).key("arguments");
      calls.raw(block.object("input") ? block.json("input") : "{}").close().close();
      anyCall = true;
    } else if (type == "tool_result" && role == "user") {
      block.require("tool_use_id");
      json.open('{').key("role").value("tool").key("tool_call_id");
      json.value(block.text("tool_use_id", 256).value_or("")).key("content");
      json.value(readContent(block, "content", {"text"})).close();
      anyResult = true;
    } else if (!type.empty()) {
      block.fail("type", "is " + JsonText().value(type).text() +
                             ": this model takes text and tools, no images or files");
    }
  }
  if (text.empty() && !anyCall && anyResult)
    return true;
  json.open('{').key("role").value(role).key("content").value(text);
  if (!thinking.empty())
    json.key("reasoning_content").value(thinking);
  if (anyCall)
    json.key("tool_calls").raw(calls.close().text());
  json.close();
  return anyCall || anyResult;
}

ChatInput readChat(const Fields &body) {
  ChatInput input;
  input.tools.schemaField = "input_schema";
  JsonText json;
  json.open('[');
  if (std::string system = readContent(body, "system", {"text"}); !system.empty())
    json.open('{').key("role").value("system").key("content").value(system).close();
  body.require("messages");
  for (const Fields &message : body.objects("messages", 1, kMostMessages)) {
    message.require("role");
    message.require("content");
    auto role = message.oneOf("role", {"user", "assistant"});
    auto content = message.element("content");
    if (!role || !content)
      break;
    if (content->is_array())
      input.toolMessages |= messageBlocks(json, message, *role);
    else if (auto text = message.text("content", kMostContentBytes))
      json.open('{').key("role").value(*role).key("content").value(*text).close();
  }
  input.messages = json.close().text();

  JsonText tools;
  tools.open('[');
  auto list = body.objects("tools", 0, kMostTools);
  for (const Fields &tool : list) {
    tool.require("name");
    tool.require("input_schema");
    auto name = tool.text("name", 128);
    auto description = tool.text("description", 64 << 10);
    auto schema = tool.object("input_schema");
    if (!name || !schema)
      break;
    if (std::ranges::find(input.tools.names, *name) != input.tools.names.end())
      tool.fail("name", "is there twice");
    input.tools.names.emplace_back(*name);
    tools.open('{')
        .key("type")
        .value("function")
        .key("function")
        .open('{')
        .key("name")
        .value(*name);
    if (description)
      tools.key("description").value(*description);
    tools.key("parameters").raw(schema->json()).close().close();
  }
  if (!list.empty()) {
    input.tools.json = tools.close().text();
    input.tools.choice = Tools::Choice::Auto;
  }
  if (auto choice = body.object("tool_choice")) {
    choice->require("type");
    auto type = choice->oneOf("type", {"auto", "any", "tool", "none"});
    if (type == "none")
      input.tools.choice = Tools::Choice::None;
    if (type == "any" || type == "tool")
      input.tools.choice = Tools::Choice::Required;
    if (type == "tool") {
      choice->require("name");
      input.tools.forced = choice->text("name", 128).value_or("");
      if (std::ranges::find(input.tools.names, input.tools.forced) == input.tools.names.end())
        choice->fail("name", "is none of the tools");
    }
    if (input.tools.choice == Tools::Choice::Required && list.empty())
      body.fail("tool_choice", "needs tools");
    input.tools.parallel = !choice->boolean("disable_parallel_tool_use").value_or(false);
  }
  return input;
}

/// output_config.format, which was output_format before: {"type":"json_schema","schema"}.
std::optional<AskedGrammar> readFormat(const Fields &body) {
  std::optional<AskedGrammar> asked;
  auto read = [&](const Fields &holder, std::string_view name) {
    auto format = holder.object(name);
    if (!format)
      return;
    format->require("type");
    format->require("schema");
    (void)format->oneOf("type", {"json_schema"});
    if (asked)
      holder.fail(name, "cannot be given together with " + asked->field);
    else if (format->object("schema"))
      asked = {text::GrammarKind::JsonSchema, format->json("schema"), format->path("schema")};
  };
  if (auto config = body.object("output_config"))
    read(*config, "format");
  read(body, "output_format");
  return asked;
}

} // namespace

std::optional<ApiError> messages(Call &call) {
  const Fields &body = *call.body;
  Generation &generation = call.generation;
  body.require("max_tokens");
  readGeneration(body, generation, {"max_tokens"});
  for (std::string &stop : body.texts("stop_sequences", kMostStops, kMostStopBytes))
    if (!stop.empty())
      generation.request.stopStrings.push_back(std::move(stop));
  generation.choices = 1;
  ChatInput input = readChat(body);
  input.grammar = readFormat(body);
  if (auto other = readGrammar(body)) {
    if (input.grammar)
      body.fail(other->field, "cannot be given together with " + input.grammar->field);
    input.grammar = std::move(other);
  }
  refuseUnsupported(body, "mcp_servers", "is not supported", {"[]"});
  refuseUnsupported(body, "container", "is not supported");
  if (call.document.error())
    return call.document.error();
  auto prompt = prepareChat(generation, input);
  if (!prompt)
    return prompt.error();
  auto stream = std::make_shared<MessageStream>(generation, call.responder, *prompt);
  return submitChat(call, std::move(*prompt), std::move(stream), "messages");
}

std::optional<ApiError> countTokens(Call &call) {
  ChatInput input = readChat(*call.body);
  if (call.document.error())
    return call.document.error();
  auto text = renderChat(*call.generation.model, input);
  if (!text)
    return apiError(text.error(), "messages");
  if (auto error = tooLongToCount(*text))
    return error;
  auto encoded = encodeChat(*call.generation.model, input, /*toFit=*/false);
  if (!encoded)
    return apiError(encoded.error(), "messages");
  call.responder->send(
      200, "application/json",
      JsonText().open('{').key("input_tokens").value(encoded->ids.size()).close().text());
  return std::nullopt;
}

} // namespace ingot::api
