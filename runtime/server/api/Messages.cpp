//===- Messages.cpp - Anthropic's /v1/messages ------------------------------===//
//
// Anthropic's format for a chat. Content is a list of blocks; tool calls and their results are blocks
// as well. In a streamed answer, events open and close each block.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/ReasoningFields.h"

#include "runtime/json/JsonText.h"

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

  /// Returns arguments as an object. Truncated arguments are closed; stop_reason shows the
  /// truncation.
  static std::string inputOf(std::string_view arguments) {
    Document document;
    auto object = document.parse(text::closedArguments(arguments));
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

  /// Writes the value of stop_reason, then stop_sequence.
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

/// Returns whether a block is the call or result of a tool that ran on Anthropic's side.
bool isServersBlock(std::string_view type) {
  return type == "container_upload" || type.ends_with("_tool_use") ||
         type.ends_with("_tool_result");
}

/// Writes the blocks of one message as messages for a chat template. For the template, text, tool
/// calls and tool results are separate messages. Returns true if there are tool calls or results.
bool messageBlocks(JsonText &json, const Fields &message, std::string_view role) {
  std::string text, thinking;
  JsonText calls;
  calls.open('[');
  bool anyCall = false, anyResult = false;
  for (const Fields &block : message.objects("content", 0, 4096)) {
    auto type = block.text("type", 256).value_or("");
    if (type == "tool_use" && role == "assistant") {
      block.require("name");
      calls.open('{');
      if (auto id = block.text("id", 256); id && !id->empty())
        calls.key("id").value(*id);
      calls.key("type").value("function").key("function").open('{').key("name");
      calls.value(block.text("name", 256).value_or("")).key("arguments");
      calls.raw(block.object("input") ? block.json("input") : "{}").close().close();
      anyCall = true;
    } else if (type == "tool_result" && role == "user") {
      block.require("tool_use_id");
      json.open('{').key("role").value("tool").key("tool_call_id");
      json.value(block.text("tool_use_id", 256).value_or("")).key("content");
      json.value(readContent(block, "content")).close();
      anyResult = true;
    } else if (type != "tool_use" && type != "tool_result" && isServersBlock(type)) {
      block.leaveOut("", type);
    } else {
      readPart(block, text, role == "assistant" ? &thinking : nullptr);
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

/// Returns whether a tool is the client's own. Other tools run on Anthropic's side, or have schemas
/// that only Anthropic's models are trained on.
bool isOwnTool(const Fields &tool) {
  auto type = tool.text("type", 256);
  if (!type || *type == "custom" || *type == "function")
    return true;
  tool.leaveOut("", *type);
  return false;
}

void readTools(const Fields &body, Tools &into) {
  JsonText tools;
  tools.open('[');
  std::vector<std::string> others;
  for (const Fields &tool : body.objects("tools", 0, kMostTools)) {
    if (!isOwnTool(tool)) {
      others.emplace_back(tool.text("name", 128).value_or(""));
      continue;
    }
    tool.require("name");
    tool.require("input_schema");
    auto name = tool.filledText("name", 128);
    auto description = tool.text("description", 64 << 10);
    auto schema = tool.object("input_schema");
    if (!name || !schema)
      break;
    if (std::ranges::find(into.names, *name) != into.names.end())
      tool.fail("name", "is a duplicate");
    into.names.emplace_back(*name);
    into.schemaFields.emplace(*name, tool.path("input_schema"));
    if (tool.boolean("strict") == true)
      into.strict.emplace_back(*name);
    tools.open('{').key("type").value("function").key("function").open('{');
    tools.key("name").value(*name);
    if (description && !description->empty())
      tools.key("description").value(*description);
    tools.key("parameters").raw(schema->json()).close().close();
  }
  if (!into.names.empty()) {
    into.json = tools.close().text();
    into.choice = Tools::Choice::Auto;
  }
  auto choice = body.object("tool_choice");
  if (!choice)
    return;
  choice->require("type");
  auto type = choice->oneOf("type", {"auto", "any", "tool", "none"});
  if (type == "none")
    into.choice = Tools::Choice::None;
  if (type == "any" || type == "tool")
    into.choice = Tools::Choice::Required;
  if (type == "tool") {
    choice->require("name");
    into.forced = choice->text("name", 128).value_or("");
    if (std::ranges::find(others, into.forced) != others.end())
      choice->fail("name", "is a tool that runs on Anthropic's servers, which is not supported");
    else if (std::ranges::find(into.names, into.forced) == into.names.end())
      choice->fail("name", "is not one of the tools");
  }
  if (into.choice == Tools::Choice::Required && into.names.empty())
    body.fail("tool_choice", "needs tools");
  into.parallel = !choice->boolean("disable_parallel_tool_use").value_or(false);
}

ChatInput readChat(const Fields &body, Generation &generation) {
  ChatInput input;
  JsonText json;
  json.open('[');
  if (std::string system = readContent(body, "system"); !system.empty())
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
  readTools(body, input.tools);
  readTemplateFields(body, *generation.model, input);
  if (!body.has("continue_final_message")) // the answer continues a final assistant message
    input.continueLast = endsInAssistantText(body);
  readReasoning(body, ReasoningApi::Messages, input, generation);
  return input;
}

/// Reads output_config.format, formerly output_format: {"type":"json_schema","schema"}. Its objects
/// are closed, as in strict schemas.
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
      asked = {text::GrammarKind::JsonSchema, withClosedObjects(format->json("schema")),
               format->path("schema")};
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
  ChatInput input = readChat(body, generation);
  input.grammar = readFormat(body);
  if (auto other = readGrammar(body)) {
    if (input.grammar)
      body.fail(other->field, "cannot be given together with " + input.grammar->field);
    input.grammar = std::move(other);
  }
  refuseUnsupported(body, "mcp_servers", "is not supported", {"[]"});
  refuseUnsupported(body, "container", "is not supported", {"\"\""});
  if (call.document.error())
    return call.document.error();
  auto prompt = prepareChat(generation, input);
  if (!prompt)
    return prompt.error();
  auto stream = std::make_shared<MessageStream>(generation, call.responder, *prompt);
  return submitChat(call, std::move(*prompt), std::move(stream), "messages");
}

std::optional<ApiError> countTokens(Call &call) {
  const ChatInput input = readChat(*call.body, call.generation);
  return countPrompt(call, input, "messages");
}

} // namespace ingot::api
