//===- ChatAnswer.cpp - From messages to a prompt, from text to pieces -----===//
#include "runtime/server/api/ChatAnswer.h"

#include "runtime/server/api/PlainTools.h"
#include "runtime/server/api/Prompts.h"

#include "runtime/json/JsonText.h"

namespace ingot::api {

using runtime::JsonText;

void readTemplateFields(const Fields &body, const service::ServedModel &model, ChatInput &input) {
  if (body.object("chat_template_kwargs"))
    input.templateVariables = body.json("chat_template_kwargs");
  if (body.has("documents") && !body.objects("documents", 0, kMostMessages).empty()) { // as vLLM
    const std::string field = "{\"documents\":" + body.json("documents");
    input.templateVariables = input.templateVariables.size() <= 2
                                  ? field + "}"
                                  : field + "," + input.templateVariables.substr(1);
  }
  input.generationPrompt = body.boolean("add_generation_prompt").value_or(true);
  input.continueLast = body.boolean("continue_final_message").value_or(false);
  if (input.continueLast && input.generationPrompt && body.has("add_generation_prompt"))
    body.fail("continue_final_message", "cannot be given together with add_generation_prompt");
  if (auto source = body.text("chat_template", 1 << 20); source && !source->empty()) {
    if (!model.rules().ownTemplates)
      body.fail("chat_template", "is not taken from requests: --trust-request-chat-template of "
                                 "`ingot serve` allows it");
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
    body.leaveOut("continue_final_message", "the last message is the assistant's, and another "
                                            "answer follows it");
}

Result<std::shared_ptr<const text::ChatTemplate>> templateOf(const service::ServedModel &model,
                                                             const ChatInput &input) {
  if (!input.ownTemplate.empty()) {
    auto parsed = text::ChatTemplate::parse(input.ownTemplate);
    if (!parsed)
      return parsed.error();
    return std::shared_ptr<const text::ChatTemplate>(std::move(*parsed));
  }
  if (model.chatTemplate()) // which outlives the request
    return std::shared_ptr<const text::ChatTemplate>(std::shared_ptr<void>(), model.chatTemplate());
  return Error{
      ExitCode::Usage, "E0521", "this model has no chat template",
      "the checkpoint it was made from had none; `ingot serve --chat-template FILE.jinja` gives "
      "one, and /v1/completions takes a text",
      "give one: ingot serve --chat-template FILE.jinja"};
}

/// Whether the prompt has to say itself what tools there are.
static bool needsPlainTools(const text::ChatTemplate &own, const ChatInput &input) {
  return (input.tools.choice != Tools::Choice::None || input.toolMessages) && !own.uses("tools");
}

namespace {
/// A template and all that it is given.
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
  made.options.extraJson = input.templateVariables;
  const bool tools = input.tools.choice != Tools::Choice::None;
  if (needsPlainTools(*made.own, input)) {
    made.messages = plainToolMessages(input.messages, tools ? input.tools.json : "");
  } else if (tools) {
    const std::string field = "\"tools\":" + input.tools.json;
    made.options.extraJson = input.templateVariables.size() <= 2
                                 ? "{" + field + "}"
                                 : "{" + field + "," + input.templateVariables.substr(1);
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

/// The grammar that a request asks for. JSON may come after reasoning, if the model reasons; the
/// other kinds are of the whole answer, and leave no room for it.
static Outcome<std::shared_ptr<const text::Grammar>>
grammarOf(service::ServedModel &model, AskedGrammar asked, text::OutputFormat &format) {
  using text::GrammarKind;
  const bool json = asked.kind == GrammarKind::JsonObject || asked.kind == GrammarKind::JsonSchema;
  if (json && !format.reasoning.empty()) {
    asked.source = text::reasoningThenJson(format, asked.source, model.tokenizer());
    asked.kind = GrammarKind::Lark;
  } else {
    format.reasoning.clear();
    format.reasoningOpen = false;
  }
  return compileGrammar(model, asked);
}

Outcome<ChatPrompt> prepareChat(Generation &generation, const ChatInput &input) {
  service::ServedModel &model = *generation.model;
  auto encoded = encodeChat(model, input, /*toFit=*/generation.keepPrompt < 0);
  if (!encoded) {
    auto text = encoded.error().code == "E0505" ? renderChat(model, input) : encoded.error();
    return text ? promptError(encoded.error(), "messages", generation, *text)
                : apiError(encoded.error(), "messages");
  }
  ChatPrompt prompt;
  prompt.ids = std::move(encoded->ids);
  truncatePrompt(generation, prompt.ids);
  prompt.format = input.ownTemplate.empty() ? model.outputFormat()
                                            : text::detectOutputFormat(input.ownTemplate);
  prompt.format.reasoningOpen = text::endsInReasoning(prompt.format, encoded->text);
  if (input.grammar) {
    auto grammar = grammarOf(model, *input.grammar, prompt.format);
    if (!grammar)
      return grammar.error();
    generation.request.grammar = std::move(*grammar);
  }
  const bool tools = input.tools.choice != Tools::Choice::None;
  if (auto own = templateOf(model, input);
      tools && (prompt.format.tools.empty() || needsPlainTools(**own, input)))
    prompt.format.tools = kPlainToolFormat;
  generation.request.showSpecial |= tools || !prompt.format.reasoning.empty();
  if (!tools)
    return prompt;
  prompt.tools = input.tools.names;
  if (input.tools.choice != Tools::Choice::Required)
    return prompt;
  if (generation.request.grammar)
    return ApiError{400, "tool_choice: cannot be given together with response_format",
                    "tool_choice", ""};
  auto grammar =
      text::toolGrammar(prompt.format, input.tools.callable(), input.tools.forced,
                        input.tools.parallel && input.tools.forced.empty(), model.tokenizer());
  if (!grammar)
    return apiError(grammar.error(), "tool_choice");
  auto compiled = model.grammar(text::GrammarKind::Lark, grammar->lark);
  if (!compiled)
    return apiError(compiled.error(), "tools");
  generation.request.grammar = std::move(*compiled);
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

ChatAnswer::ChatAnswer(Generation generation, std::shared_ptr<http::Responder> responder,
                       const ChatPrompt &prompt)
    : AnswerStream(std::move(generation), std::move(responder)), format(prompt.format),
      tools(prompt.tools) {
  if (asked().reasoning == Generation::Reasoning::InContent) {
    format.reasoning.clear();
    format.reasoningOpen = false;
  }
}

text::ChatOutputParser &ChatAnswer::parserOf(int32_t choice) {
  if (parsers.empty())
    parsers.resize(size_t(choices()));
  auto &parser = parsers[size_t(choice)];
  if (!parser)
    parser = std::make_unique<text::ChatOutputParser>(format, tools);
  return *parser;
}

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

void ChatAnswer::token(const service::Output &output) {
  auto pieces = parserOf(output.choice).push(output.text);
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
  text::ChatOutputParser &parser = parserOf(output.choice);
  auto pieces = parser.finish();
  settleReasoning(output.choice, pieces, /*last=*/true);
  for (const text::OutputPiece &one : pieces)
    piece(output.choice, one, nullptr);
  choiceEnded(output.choice, output, parser.toolCalls());
}

} // namespace ingot::api
