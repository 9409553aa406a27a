//===- ChatAnswer.cpp - Prompts from messages, pieces from text ------------===//
#include "runtime/server/api/ChatAnswer.h"

#include "runtime/server/api/PlainTools.h"
#include "runtime/server/api/Prompts.h"
#include "runtime/server/api/ReasoningFields.h"

#include "runtime/json/JsonText.h"
#include "runtime/text/OutputFormats.h"

#include <algorithm>
#include <simdjson.h>

namespace ingot::api {

using runtime::JsonText;

std::string joinObjects(std::string_view first, std::string_view later) {
  auto inside = [](std::string_view object) {
    if (object.find_first_not_of("{} \t\r\n") == std::string_view::npos)
      return std::string_view();
    const size_t begin = object.find('{') + 1;
    return object.substr(begin, object.rfind('}') - begin);
  };
  const std::string_view left = inside(first), right = inside(later);
  if (left.empty() && right.empty())
    return "";
  return "{" + std::string(left) + (left.empty() || right.empty() ? "" : ",") + std::string(right) +
         "}";
}

void readTemplateFields(const Fields &body, const service::ServedModel &model, ChatInput &input) {
  if (body.object("chat_template_kwargs"))
    input.templateVariables = body.json("chat_template_kwargs");
  if (body.has("documents") && !body.objects("documents", 0, kMostMessages).empty()) { // as vLLM
    input.templateVariables =
        joinObjects("{\"documents\":" + body.json("documents") + "}", input.templateVariables);
  }
  input.generationPrompt = body.boolean("add_generation_prompt").value_or(true);
  input.continueLast = body.boolean("continue_final_message").value_or(false);
  if (input.continueLast && input.generationPrompt && body.has("add_generation_prompt"))
    body.fail("continue_final_message", "cannot be given together with add_generation_prompt");
  if (auto source = body.text("chat_template", 1 << 20); source && !source->empty()) {
    if (!model.rules().ownTemplates)
      body.fail(
          "chat_template",
          "is not accepted from requests: --trust-request-chat-template of `ingot serve` allows "
          "it");
    input.ownTemplate = *source;
  }
}

void continueLast(const Call &call, ChatInput &input) {
  const Fields &body = *call.body;
  if (body.has("add_generation_prompt") || body.has("continue_final_message") ||
      !endsInAssistantText(body))
    return;
  input.continueLast = !call.request->path.starts_with("/v1/");
  if (!input.continueLast)
    body.leaveOut("continue_final_message",
                  "the last message is from the assistant, but a new answer is started");
}

ChatInput readChat(Call &call, bool mayContinue) {
  const Fields &body = *call.body;
  ChatInput input;
  input.messages = readMessages(body, input.toolMessages);
  input.tools = readTools(body);
  readTemplateFields(body, *call.generation.model, input);
  if (mayContinue)
    continueLast(call, input);
  readReasoning(body, ReasoningApi::Chat, input, call.generation);
  return input;
}

Result<std::shared_ptr<const text::ChatTemplate>> templateOf(const service::ServedModel &model,
                                                             const ChatInput &input) {
  if (!input.ownTemplate.empty()) {
    auto parsed = text::ChatTemplate::parse(input.ownTemplate);
    if (!parsed)
      return parsed.error();
    return std::shared_ptr<const text::ChatTemplate>(std::move(*parsed));
  }
  const bool tools = input.tools.choice != Tools::Choice::None;
  if (const text::ChatTemplate *own = model.chatTemplate(tools)) // the model outlives the request
    return std::shared_ptr<const text::ChatTemplate>(std::shared_ptr<void>(), own);
  return Error{
      ExitCode::Usage, "E0521", "this model has no chat template",
      "the checkpoint that it was made from had none; `ingot serve --chat-template FILE.jinja` "
      "sets one, and /v1/completions accepts plain text",
      "give one: ingot serve --chat-template FILE.jinja"};
}

/// Returns whether the tools must be described in the messages, because the template does not read
/// them.
static bool needsPlainTools(const text::ChatTemplate &own, const ChatInput &input) {
  return (input.tools.choice != Tools::Choice::None || input.toolMessages) && !own.uses("tools");
}

namespace {
/// A template and all of its inputs.
struct Rendering {
  std::shared_ptr<const text::ChatTemplate> own;
  std::string messages;
  text::ChatTemplate::Options options;
};
} // namespace

static Result<Rendering> renderingOf(const service::ServedModel &model, const ChatInput &input) {
  auto found = templateOf(model, input);
  if (!found)
    return found.error();
  Rendering made{*found, input.messages, model.templateTokens()};
  made.options.continueFinalMessage = input.continueLast;
  made.options.addGenerationPrompt = input.generationPrompt;
  made.options.extraJson = joinObjects(model.templateVariables(), input.templateVariables);
  const bool tools = input.tools.choice != Tools::Choice::None;
  if (needsPlainTools(*made.own, input)) {
    made.messages = plainToolMessages(*made.own, input.messages, tools ? input.tools.json : "");
  } else if (tools) {
    made.options.extraJson =
        joinObjects("{\"tools\":" + input.tools.json + "}", made.options.extraJson);
  }
  return made;
}

Result<std::string> renderChat(const service::ServedModel &model, const ChatInput &input) {
  auto made = renderingOf(model, input);
  if (!made)
    return made.error();
  return made->own->render(made->messages, made->options);
}

Result<text::ChatTemplate::Encoded> encodeChat(const service::ServedModel &model,
                                               const ChatInput &input, bool toFit) {
  auto made = renderingOf(model, input);
  if (!made)
    return made.error();
  if (!model.rules().trustContent) {
    const size_t most = toFit ? size_t(model.session().context()) : SIZE_MAX;
    auto encoded = made->own->encode(*model.tokenizer(), made->messages, made->options, most);
    if (encoded && encoded->tooLong)
      return model.session().tooLong(encoded->text.size());
    return encoded;
  }
  auto text = made->own->render(made->messages, made->options);
  if (!text)
    return text.error();
  auto ids = toFit ? model.session().encodeToFit(*text, runtime::PromptText::Rendered)
                   : model.tokenizer()->encode(*text, /*parseSpecial=*/true);
  if (!ids)
    return ids.error();
  return text::ChatTemplate::Encoded{std::move(*text), std::move(*ids)};
}

/// Returns the body of a Lark rule that is equivalent to a request's grammar; "": there is none.
static std::string larkOf(const AskedGrammar &asked) {
  using text::GrammarKind;
  switch (asked.kind) {
  case GrammarKind::JsonObject:
    return "%json {\"type\":\"object\"}";
  case GrammarKind::JsonSchema:
    return "%json " + asked.source;
  case GrammarKind::Lark:
    return "%lark {\n" + asked.source + "\n}";
  case GrammarKind::Choice: {
    simdjson::dom::parser parser;
    simdjson::dom::array choices;
    std::string any;
    if (!parser.parse(simdjson::padded_string(asked.source)).get(choices))
      for (simdjson::dom::element one : choices)
        any += (any.empty() ? "" : " | ") + std::string(simdjson::minify(one));
    return any;
  }
  case GrammarKind::Regex:
    return text::larkRegex(asked.source);
  case GrammarKind::Gbnf:
    break;
  }
  return "";
}

/// Checks a tool's schema. An error names the tool and the position in the schema.
static std::optional<ApiError> schemaError(std::string_view schema, std::string_view tool,
                                           const std::string &field) {
  auto checked = text::checkSchema(schema);
  if (checked)
    return std::nullopt;
  ApiError error = apiError(checked.error(), field);
  error.message = field + ": the schema of the tool '" + std::string(tool) +
                  "' cannot be used: " + checked.error().why;
  return error;
}

/// Which schemas are checked one by one, and not only as part of the common grammar.
enum class Check : uint8_t { None, Strict, All };

/// Returns the tools for a grammar. Objects in strict tools are closed, as in OpenAI's API.
static Outcome<std::string> closedTools(const Tools &tools, Check check) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(simdjson::padded_string(tools.callable())).get(list))
    return tools.callable();
  runtime::JsonText json;
  json.open('[');
  for (simdjson::dom::element tool : list) {
    simdjson::dom::element parameters;
    std::string_view name;
    if (tool["function"]["name"].get(name))
      continue;
    const bool strict = std::ranges::find(tools.strict, name) != tools.strict.end();
    json.open('{').key("type").value("function").key("function").open('{').key("name").value(name);
    json.key("strict").value(strict);
    if (!tool["function"]["parameters"].get(parameters) && parameters.is_object() &&
        parameters.get_object().size() > 0) {
      std::string schema = simdjson::minify(parameters);
      bool closed = true;
      if (strict)
        if (auto made = text::closeObjects(schema); (closed = bool(made)))
          schema = std::move(*made);
      if (!closed || check == Check::All || (strict && check == Check::Strict))
        if (auto at = tools.schemaFields.find(name); at != tools.schemaFields.end())
          if (auto error = schemaError(schema, name, at->second))
            return *error;
      json.key("parameters").raw(schema);
    }
    json.close().close();
  }
  return json.close().text();
}

/// Returns whether calls in this format are JSON that matches a tool's schema directly.
static bool writesJson(const text::OutputFormat &format) {
  const text::ToolMarks *marks = text::toolMarks(format.tools);
  return marks &&
         (marks->syntax == text::CallSyntax::Object || marks->syntax == text::CallSyntax::Json);
}

/// Compiles the combined grammar of the tools and the request's own grammar:
///
///   - a call is required: the grammar allows calls only
///   - a call is allowed and the request has a grammar: a call, or an answer that matches it
///   - a call is allowed, the request has no grammar, but a tool is strict: any text with calls
///   - no call is allowed: the request's grammar
///
/// If the model reasons, JSON may follow the reasoning. If no call is allowed, grammars of other
/// kinds than JSON apply to the whole answer and leave no room for reasoning.
static std::optional<ApiError> addGrammar(Generation &generation, const ChatInput &input,
                                          text::OutputFormat &format) {
  using text::GrammarKind;
  service::ServedModel &model = *generation.model;
  const bool mustCall = input.tools.choice == Tools::Choice::Required;
  const bool mayCall = input.tools.choice != Tools::Choice::None;
  const bool anyText = !input.grammar && !mustCall;
  const auto mayBeCalled = [&](const std::string &name) {
    return std::ranges::find(input.tools.names, name) != input.tools.names.end();
  };
  if (anyText && (!mayCall || std::ranges::none_of(input.tools.strict, mayBeCalled)))
    return std::nullopt;
  const bool json = input.grammar && (input.grammar->kind == GrammarKind::JsonObject ||
                                      input.grammar->kind == GrammarKind::JsonSchema);
  if (!mayCall && (!json || format.reasoning.empty())) {
    format.reasoning.clear();
    format.reasoningOpen = false;
    return takeGrammar(input.grammar, generation);
  }
  text::AnswerShape shape;
  shape.mustCall = mustCall;
  shape.anyText = anyText;
  std::string callable;
  if (mayCall) {
    const Check check = writesJson(format) ? Check::None : anyText ? Check::Strict : Check::All;
    auto closed = closedTools(input.tools, check);
    if (!closed)
      return closed.error();
    shape.tools = callable = std::move(*closed);
    shape.tool = input.tools.forced;
    shape.parallel = input.tools.parallel && input.tools.forced.empty();
  }
  if (input.grammar && !mustCall) {
    shape.answer = larkOf(*input.grammar);
    if (shape.answer.empty())
      return ApiError{
          400,
          input.grammar->field +
              ": a grammar of this kind cannot be given together with tools: tool_choice \"none\" "
              "disables them",
          input.grammar->field, ""};
    // Compiled by itself first, so that its errors refer to the request's own grammar.
    if (auto alone = compileGrammar(model, *input.grammar); !alone)
      return alone.error();
  }
  auto grammar = text::answerGrammar(format, shape, model.tokenizer());
  if (!grammar)
    return apiError(grammar.error(), "tool_choice");
  auto compiled = model.grammar(GrammarKind::Lark, *grammar);
  if (!compiled) {
    if (mayCall) // find and name the faulty tool
      if (auto named = closedTools(input.tools, Check::All); !named)
        return named.error();
    return apiError(compiled.error(), mayCall ? "tools" : input.grammar->field);
  }
  generation.request.grammar = std::move(*compiled);
  return std::nullopt;
}

Outcome<ChatPrompt> prepareChat(Generation &generation, const ChatInput &input) {
  service::ServedModel &model = *generation.model;
  auto encoded = encodeChat(model, input, /*toFit=*/generation.keepPrompt < 0);
  if (!encoded) {
    auto text =
        encoded.error().code == errors::kBeyondContext ? renderChat(model, input) : encoded.error();
    return text ? promptError(encoded.error(), "messages", generation, *text)
                : apiError(encoded.error(), "messages");
  }
  ChatPrompt prompt;
  prompt.ids = std::move(encoded->ids);
  truncatePrompt(generation, prompt.ids);
  const bool tools = input.tools.choice != Tools::Choice::None;
  text::OutputFormat format = input.ownTemplate.empty()
                                  ? model.outputFormat(tools)
                                  : model.asNamed(text::detectOutputFormat(input.ownTemplate));
  format = text::formatBehind(std::move(format), encoded->text);
  if (auto own = templateOf(model, input); tools && !model.toolFormatIsNamed() &&
                                           (format.tools.empty() || needsPlainTools(**own, input)))
    format.tools = kPlainToolFormat;
  if (auto error = addGrammar(generation, input, format))
    return *error;
  generation.request.showSpecial |= tools || !format.reasoning.empty();
  prompt.reading.format = std::move(format);
  if (tools) {
    prompt.reading.tools = text::ToolSet::parse(input.tools.callable());
    prompt.reading.mustCall = input.tools.choice == Tools::Choice::Required;
    prompt.reading.oneCall = !input.tools.parallel || !input.tools.forced.empty();
  }
  return prompt;
}

std::optional<ApiError> countPrompt(Call &call, const ChatInput &input, const char *field) {
  if (call.document.error())
    return call.document.error();
  auto text = renderChat(*call.generation.model, input);
  if (!text)
    return apiError(text.error(), field);
  if (auto error = tooLongToCount(*text))
    return error;
  auto encoded = encodeChat(*call.generation.model, input, /*toFit=*/false);
  if (!encoded)
    return apiError(encoded.error(), field);
  call.responder->send(
      200, "application/json",
      JsonText().open('{').key("input_tokens").value(encoded->ids.size()).close().text());
  return std::nullopt;
}

std::optional<ApiError> submitChat(Call &call, ChatPrompt prompt,
                                   std::shared_ptr<AnswerStream> stream, const char *field) {
  std::vector<std::vector<int32_t>> prompts;
  prompts.push_back(std::move(prompt.ids));
  auto error =
      AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place), call.post);
  if (error && error->param == "prompt")
    error->param = field;
  return error;
}

/// Sets up a generation as a chat. The stop strings then apply to the content only.
static Generation asChat(Generation generation, text::ChatReading reading) {
  if (generation.reasoning == Generation::Reasoning::InContent) {
    reading.format.reasoning.clear();
    reading.format.reasoningOpen = false;
  }
  reading.stops = std::exchange(generation.request.stopStrings, {});
  reading.showStop = generation.request.showStop;
  generation.request.chat = std::make_shared<const text::ChatReading>(std::move(reading));
  return generation;
}

ChatAnswer::ChatAnswer(Generation generation, std::shared_ptr<http::Responder> responder,
                       const ChatPrompt &prompt)
    : AnswerStream(asChat(std::move(generation), prompt.reading), std::move(responder)) {}

void ChatAnswer::settleReasoning(int32_t choice, std::vector<text::OutputPiece> &pieces,
                                 bool last) {
  using Reasoning = Generation::Reasoning;
  using Kind = text::OutputPiece::Kind;
  if (asked().reasoning != Reasoning::Hidden && asked().reasoning != Reasoning::InOnePiece)
    return;
  heldReasoning.resize(size_t(choices()));
  std::string &held = heldReasoning[size_t(choice)];
  std::erase_if(pieces, [&](const text::OutputPiece &piece) {
    if (piece.kind == Kind::Reasoning && asked().reasoning == Reasoning::InOnePiece)
      held += piece.text;
    return piece.kind == Kind::Reasoning;
  });
  if (!held.empty() && (last || !pieces.empty()))
    pieces.insert(pieces.begin(), {Kind::Reasoning, -1, std::exchange(held, {})});
}

/// Hides the log-probabilities of hidden reasoning and of its marks. An output without pieces may
/// be part of a mark; the outputs before and after it decide whether it belongs to reasoning.
void ChatAnswer::hideLogprobs(service::Output &output) {
  using Kind = text::OutputPiece::Kind;
  Shown &shown = shownOf[size_t(output.choice)];
  if (output.pieces.empty()) {
    shown.silent.push_back(std::move(output));
    return;
  }
  auto isReasoning = [](const text::OutputPiece &piece) { return piece.kind == Kind::Reasoning; };
  const bool hidden = std::ranges::any_of(output.pieces, isReasoning);
  giveSilent(shown, shown.reasoned || hidden);
  if (hidden)
    output.logprobs.clear();
  shown.reasoned = isReasoning(output.pieces.back());
}

void ChatAnswer::giveSilent(Shown &shown, bool hidden) {
  for (service::Output &each : std::exchange(shown.silent, {})) {
    if (hidden)
      each.logprobs.clear();
    silent(each.choice, each);
  }
}

void ChatAnswer::token(const service::Output &output) {
  if (asked().reasoning != Generation::Reasoning::Hidden)
    return give(output);
  shownOf.resize(size_t(choices()));
  service::Output shown = output;
  hideLogprobs(shown);
  if (!output.pieces.empty())
    give(shown);
}

void ChatAnswer::give(const service::Output &output) {
  auto pieces = output.pieces;
  settleReasoning(output.choice, pieces, /*last=*/false);
  if (pieces.empty())
    silent(output.choice, output);
  const service::Output *from = &output;
  for (const text::OutputPiece &one : pieces) {
    piece(output.choice, one, from);
    from = nullptr;
  }
}

void ChatAnswer::ended(const service::Output &output) {
  if (!shownOf.empty())
    giveSilent(shownOf[size_t(output.choice)], shownOf[size_t(output.choice)].reasoned);
  std::vector<text::OutputPiece> pieces;
  settleReasoning(output.choice, pieces, /*last=*/true);
  for (const text::OutputPiece &one : pieces)
    piece(output.choice, one, nullptr);
  choiceEnded(output.choice, output, output.toolCalls);
}

} // namespace ingot::api
