//===- Responses.cpp - OpenAI's /v1/responses -------------------------------===//
//
// The route stores nothing. Clients therefore send the whole conversation each time, and
// previous_response_id is refused. An answer is a list of items (reasoning, message, function
// call). In a stream, events with sequence numbers open and close each item and each part of it.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/ReasoningFields.h"
#include "runtime/server/api/RouteTable.h"

#include "runtime/json/JsonText.h"

#include <algorithm>
#include <ctime>

namespace ingot::api {

namespace {

using runtime::JsonText;
using Kind = text::OutputPiece::Kind;

/// Fields of the request that the response object repeats.
struct Echo {
  std::string instructions = "null", tools = "[]", toolChoice = "\"auto\"", metadata = "{}",
              format = "{\"type\":\"text\"}", maxOutputTokens = "null", user = "null",
              reasoning = "{\"effort\":null,\"summary\":null}";
};

class ResponseStream final : public ChatAnswer {
public:
  ResponseStream(Generation generation, std::shared_ptr<http::Responder> responder,
                 const ChatPrompt &prompt, bool parallel, Echo echo)
      : ChatAnswer(std::move(generation), std::move(responder), prompt), echo(std::move(echo)),
        id(newId("resp_")), created(std::time(nullptr)), parallel(parallel) {}

private:
  struct Item {
    Kind kind; ///< Content: a message; Reasoning; ToolName: a function call
    std::string id, text, name, callId;
  };

  static void partJson(JsonText &json, const Item &item, std::string_view text) {
    json.open('{').key("type").value(item.kind == Kind::Content ? "output_text" : "reasoning_text");
    json.key("text").value(text);
    if (item.kind == Kind::Content)
      json.key("annotations").raw("[]").key("logprobs").raw("[]");
    json.close();
  }

  static void itemJson(JsonText &json, const Item &item, const char *status, bool whole) {
    json.open('{').key("id").value(item.id).key("type");
    if (item.kind == Kind::ToolName) {
      json.value("function_call").key("status").value(status).key("call_id").value(item.callId);
      json.key("name").value(item.name).key("arguments").value(whole ? item.text : "").close();
      return;
    }
    json.value(item.kind == Kind::Content ? "message" : "reasoning").key("status").value(status);
    if (item.kind == Kind::Content)
      json.key("role").value("assistant");
    else
      json.key("summary").raw("[]");
    json.key("content").open('[');
    if (whole)
      partJson(json, item, item.text);
    json.close().close();
  }

  std::string responseJson(const char *status) const {
    const runtime::SamplingParams &p = asked().request.sampling;
    const bool ended = std::string_view(status) != "in_progress";
    JsonText json;
    json.open('{').key("id").value(id).key("object").value("response").key("created_at");
    json.value(created).key("status").value(status).key("background").value(false);
    json.key("error").raw("null").key("incomplete_details");
    json.raw(cut ? "{\"reason\":\"max_output_tokens\"}" : "null");
    json.key("instructions").raw(echo.instructions);
    json.key("max_output_tokens").raw(echo.maxOutputTokens);
    json.key("model").value(asked().model->name()).key("output").open('[');
    if (ended)
      for (const Item &item : items)
        itemJson(json, item, cut && &item == &items.back() ? "incomplete" : "completed", true);
    json.close().key("parallel_tool_calls").value(parallel);
    json.key("previous_response_id").raw("null");
    json.key("reasoning").raw(echo.reasoning).key("store").value(false);
    json.key("temperature").value(double(p.temperature));
    json.key("text").open('{').key("format").raw(echo.format).close();
    json.key("tool_choice").raw(echo.toolChoice).key("tools").raw(echo.tools);
    json.key("top_p").value(double(p.topP)).key("truncation").value("disabled").key("usage");
    if (ended) {
      json.open('{').key("input_tokens").value(usage.prompt).key("input_tokens_details");
      json.open('{').key("cached_tokens").value(usage.cached).close();
      json.key("output_tokens").value(usage.completion).key("output_tokens_details");
      json.open('{').key("reasoning_tokens").value(usage.reasoning).close();
      json.key("total_tokens").value(usage.prompt + usage.completion).close();
    } else {
      json.raw("null");
    }
    if (ended && asked().timingsPerToken) // llama.cpp's
      json.key("timings").raw(timesOf(0).json());
    return json.key("user").raw(echo.user).key("metadata").raw(echo.metadata).close().text();
  }

  /// Sends an event with the fields that `write` adds.
  template <typename Write> void numbered(std::string_view type, Write &&write) {
    if (!asked().stream)
      return;
    JsonText json;
    json.open('{').key("type").value(type).key("sequence_number").value(sequence++);
    write(json);
    event(json.close().text(), type);
  }

  void whole(std::string_view type, const char *status) {
    numbered(type, [&](JsonText &json) { json.key("response").raw(responseJson(status)); });
  }

  void begin() override {
    whole("response.created", "in_progress");
    whole("response.in_progress", "in_progress");
  }

  /// Sends llama.cpp's progress.
  void progress(int32_t choice) override {
    numbered("response.in_progress", [&](JsonText &json) {
      json.key("response").raw(responseJson("in_progress"));
      json.key("prompt_progress").raw(timesOf(choice).progressJson());
    });
  }

  void place(JsonText &json, bool part) const {
    json.key("item_id").value(items.back().id).key("output_index").value(items.size() - 1);
    if (part)
      json.key("content_index").value(0);
  }

  void open(Item item) {
    close("completed");
    items.push_back(std::move(item));
    isOpen = true;
    const Item &own = items.back();
    numbered("response.output_item.added", [&](JsonText &json) {
      json.key("output_index").value(items.size() - 1).key("item");
      itemJson(json, own, "in_progress", false);
    });
    if (own.kind == Kind::ToolName)
      return;
    numbered("response.content_part.added", [&](JsonText &json) {
      place(json, true);
      json.key("part");
      partJson(json, own, "");
    });
  }

  void close(const char *status) {
    if (!isOpen)
      return;
    isOpen = false;
    const Item &own = items.back();
    if (own.kind == Kind::ToolName) {
      numbered("response.function_call_arguments.done", [&](JsonText &json) {
        place(json, false);
        json.key("name").value(own.name).key("arguments").value(own.text);
      });
    } else {
      const bool content = own.kind == Kind::Content;
      numbered(content ? "response.output_text.done" : "response.reasoning_text.done",
               [&](JsonText &json) {
                 place(json, true);
                 json.key("text").value(own.text);
                 if (content)
                   json.key("logprobs").raw("[]");
               });
      numbered("response.content_part.done", [&](JsonText &json) {
        place(json, true);
        json.key("part");
        partJson(json, own, own.text);
      });
    }
    numbered("response.output_item.done", [&](JsonText &json) {
      json.key("output_index").value(items.size() - 1).key("item");
      itemJson(json, own, status, true);
    });
  }

  void piece(int32_t, const text::OutputPiece &piece, const service::Output *) override {
    if (piece.kind == Kind::ToolName)
      return open({Kind::ToolName, newId("fc_"), "", piece.text, newId("call_")});
    const Kind kind = piece.kind == Kind::ToolArguments ? Kind::ToolName : piece.kind;
    if (!isOpen || items.back().kind != kind)
      open({kind, newId(kind == Kind::Content ? "msg_" : "rs_"), "", "", ""});
    items.back().text += piece.text;
    const char *type = kind == Kind::Content     ? "response.output_text.delta"
                       : kind == Kind::Reasoning ? "response.reasoning_text.delta"
                                                 : "response.function_call_arguments.delta";
    numbered(type, [&](JsonText &json) {
      place(json, kind != Kind::ToolName);
      json.key("delta").value(piece.text);
      if (kind == Kind::Content)
        json.key("logprobs").raw("[]");
      if (asked().timingsPerToken) // llama.cpp's
        json.key("timings").raw(timesOf(0).json());
    });
  }

  void choiceEnded(int32_t, const service::Output &output, int32_t) override {
    cut = output.reason == runtime::FinishReason::Length;
    if (items.empty()) // an empty answer is an empty message
      open({Kind::Content, newId("msg_"), "", "", ""});
    close(cut ? "incomplete" : "completed");
  }

  void finished() override {
    if (!asked().stream)
      return response().send(200, "application/json",
                             responseJson(cut ? "incomplete" : "completed"));
    whole(cut ? "response.incomplete" : "response.completed", cut ? "incomplete" : "completed");
    response().finish();
  }

  void failed(const ApiError &error) override {
    numbered("error", [&](JsonText &json) {
      json.key("code")
          .value(error.code)
          .key("message")
          .value(error.message)
          .key("param")
          .raw("null");
    });
    response().finish();
  }

  Echo echo;
  std::string id;
  int64_t created;
  bool parallel;
  std::vector<Item> items;
  bool isOpen = false, cut = false;
  int64_t sequence = 0;
};

/// Writes a call of an earlier answer. It is a call of a function or, with `custom`, of a tool that
/// takes plain text.
void callItem(JsonText &json, const Fields &item, bool custom) {
  item.require("name");
  json.open('{').key("role").value("assistant").key("content").value("").key("tool_calls");
  json.open('[').open('{');
  if (auto id = item.text("call_id", 256); id && !id->empty())
    json.key("id").value(*id);
  json.key("type").value("function").key("function").open('{').key("name");
  json.value(item.text("name", 256).value_or("")).key("arguments");
  if (custom)
    json.open('{').key("input").value(item.text("input", kMostContentBytes).value_or("")).close();
  else
    json.raw(callArguments(item.text("arguments", kMostContentBytes).value_or("")));
  json.close().close().close().close();
}

/// Reads the items of "input": messages, calls and their outputs. Items of tools that OpenAI runs
/// on its own side are left out. Earlier reasoning is left out too, because it is not shown to the
/// model again.
void inputItems(JsonText &json, const Fields &body, bool &toolMessages) {
  for (const Fields &item : body.objects("input", 0, kMostMessages)) {
    const std::string type(item.has("type") ? item.text("type", 256).value_or("") : "message");
    if (type == "message") {
      item.require("role");
      item.require("content");
      auto role = item.oneOf("role", {"system", "developer", "user", "assistant"});
      if (!role)
        return;
      json.open('{').key("role").value(role == "developer" ? "system" : *role).key("content");
      json.value(readContent(item, "content")).close();
    } else if (type == "function_call" || type == "custom_tool_call") {
      toolMessages = true;
      callItem(json, item, type == "custom_tool_call");
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      item.require("call_id");
      item.require("output");
      toolMessages = true;
      json.open('{').key("role").value("tool").key("tool_call_id");
      json.value(item.text("call_id", 256).value_or("")).key("content");
      json.value(readContent(item, "output")).close();
    } else if (type == "item_reference") {
      item.fail("type", "is \"item_reference\": the server stores nothing, send the item itself");
      return;
    } else if (type != "reasoning") {
      item.leaveOut("", type);
    }
  }
}

void readParallel(const Fields &body, Tools &tools) {
  tools.parallel = body.boolean("parallel_tool_calls").value_or(true);
}

/// Reads this route's tools, which have the fields of their function at the top level.
void readFlatTools(const Fields &body, Tools &tools) {
  JsonText json;
  json.open('[');
  for (const Fields &tool : body.objects("tools", 0, kMostTools)) {
    if (!isFunctionTool(tool))
      continue;
    tool.require("name");
    auto name = tool.filledText("name", 64);
    auto description = tool.text("description", 64 << 10);
    auto parameters = tool.object("parameters");
    if (!name)
      return;
    if (std::ranges::find(tools.names, *name) != tools.names.end())
      tool.fail("name", "is a duplicate");
    tools.names.emplace_back(*name);
    tools.schemaFields.emplace(*name, tool.path("parameters"));
    if (tool.boolean("strict") == true)
      tools.strict.emplace_back(*name);
    json.open('{').key("type").value("function").key("function").open('{').key("name").value(*name);
    if (description && !description->empty())
      json.key("description").value(*description);
    if (parameters)
      json.key("parameters").raw(parameters->json());
    json.close().close();
  }
  if (!tools.names.empty()) {
    tools.json = json.close().text();
    tools.choice = Tools::Choice::Auto;
  }
  if (auto wanted = body.element("tool_choice")) {
    if (wanted->is_string()) {
      auto word = body.oneOf("tool_choice", {"none", "auto", "required"});
      tools.choice = word == "none"       ? Tools::Choice::None
                     : word == "required" ? Tools::Choice::Required
                                          : tools.choice;
    } else if (auto named = body.object("tool_choice")) {
      named->require("type");
      if (choosesLeftOut(*named, {"function", "allowed_tools"}))
        return;
      if (named->text("type", 64) == "allowed_tools") {
        tools.allow(*named);
        return readParallel(body, tools);
      }
      named->require("name");
      tools.forced = named->text("name", 64).value_or("");
      tools.choice = Tools::Choice::Required;
      if (std::ranges::find(tools.names, tools.forced) == tools.names.end())
        named->fail("name", "is not one of the tools");
    }
    if (tools.choice == Tools::Choice::Required && tools.names.empty())
      body.fail("tool_choice", "needs tools");
  }
  readParallel(body, tools);
}

std::optional<AskedGrammar> readFormat(const Fields &body) {
  auto holder = body.object("text");
  auto format = holder ? holder->object("format") : std::nullopt;
  if (!format || format->json() == "{}")
    return std::nullopt;
  format->require("type");
  auto type = format->oneOf("type", {"text", "json_object", "json_schema"});
  if (type == "json_object")
    return AskedGrammar{text::GrammarKind::JsonObject, "", format->path("type")};
  if (type != "json_schema")
    return std::nullopt;
  format->require("schema");
  (void)format->text("name", 64);
  if (!format->object("schema"))
    return std::nullopt;
  const bool strict = format->boolean("strict").value_or(false);
  return AskedGrammar{text::GrammarKind::JsonSchema,
                      strict ? withClosedObjects(format->json("schema")) : format->json("schema"),
                      format->path("schema")};
}

ChatInput readInput(const Fields &body, Generation &generation) {
  body.require("input");
  ChatInput input;
  JsonText json;
  json.open('[');
  if (auto system = body.text("instructions", kMostContentBytes); system && !system->empty())
    json.open('{').key("role").value("system").key("content").value(*system).close();
  if (auto given = body.element("input")) {
    simdjson::dom::array list;
    if (!given->get(list) && list.size() == 0) // Codex sends an empty list to check for a server
      json.open('{').key("role").value("user").key("content").value("").close();
    else if (given->is_array())
      inputItems(json, body, input.toolMessages);
    else if (auto text = body.text("input", kMostContentBytes))
      json.open('{').key("role").value("user").key("content").value(*text).close();
  }
  input.messages = json.close().text();
  readFlatTools(body, input.tools);
  readTemplateFields(body, *generation.model, input);
  readReasoning(body, ReasoningApi::Responses, input, generation);
  return input;
}

} // namespace

std::optional<ApiError> countResponse(Call &call) {
  const ChatInput input = readInput(*call.body, call.generation);
  return countPrompt(call, input, "input");
}

std::optional<ApiError> responses(Call &call) {
  const Fields &body = *call.body;
  Generation &generation = call.generation;
  readGeneration(body, generation, {"max_output_tokens"});
  if (generation.request.promptOnly)
    body.fail("max_output_tokens", "is 0; allowed: 1 to 1073741824");
  generation.choices = 1;
  ChatInput input = readInput(body, generation);
  refuseUnsupported(body, "previous_response_id",
                    "is not supported: the server stores nothing, send the whole conversation",
                    {"\"\""});
  refuseUnsupported(body, "conversation", "is not supported: send the whole conversation",
                    {"\"\"", "{}"});
  refuseUnsupported(body, "background", "is not supported", {"false"});
  input.grammar = readFormat(body);
  if (auto other = readGrammar(body)) {
    if (input.grammar)
      body.fail(other->field, "cannot be given together with text.format");
    input.grammar = std::move(other);
  }
  (void)body.object("metadata");
  if (call.document.error())
    return call.document.error();
  auto prompt = prepareChat(generation, input);
  if (!prompt)
    return prompt.error();
  Echo echo;
  auto repeat = [&](std::string &to, std::string_view name) {
    if (body.has(name))
      to = body.json(name);
  };
  repeat(echo.instructions, "instructions");
  repeat(echo.tools, "tools");
  repeat(echo.toolChoice, "tool_choice");
  repeat(echo.metadata, "metadata");
  repeat(echo.maxOutputTokens, "max_output_tokens");
  repeat(echo.user, "user");
  repeat(echo.reasoning, "reasoning");
  if (auto text = body.object("text"); text && text->has("format"))
    echo.format = text->json("format");
  auto stream = std::make_shared<ResponseStream>(generation, call.responder, *prompt,
                                                 input.tools.parallel, std::move(echo));
  return submitChat(call, std::move(*prompt), std::move(stream), "input");
}

} // namespace ingot::api
