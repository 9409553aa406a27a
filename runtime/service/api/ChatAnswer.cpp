//===- ChatAnswer.cpp - From messages to a prompt, from text to pieces -----===//
#include "runtime/service/api/ChatAnswer.h"

#include "runtime/service/api/PlainTools.h"

namespace ingot::api {

/// Whether the prompt has to say itself what tools there are.
static bool needsPlainTools(const ServedModel &model, const ChatInput &input) {
  return (input.tools.choice != Tools::Choice::None || input.toolMessages) &&
         !model.chatTemplate()->uses("tools");
}

Result<std::string> renderChat(const ServedModel &model, const ChatInput &input) {
  if (!model.chatTemplate())
    return Error{ExitCode::Usage, "E0521", "this model has no chat template",
                 "the checkpoint it was made from had none",
                 "give one: ingot serve --chat-template FILE.jinja"};
  text::ChatTemplate::Options options = model.templateTokens();
  options.continueFinalMessage = input.continueLast;
  options.addGenerationPrompt = input.generationPrompt;
  const bool tools = input.tools.choice != Tools::Choice::None;
  if (needsPlainTools(model, input)) {
    options.extraJson = input.templateVariables;
    return model.chatTemplate()->render(
        plainToolMessages(input.messages, tools ? input.tools.json : ""), options);
  }
  options.extraJson = input.templateVariables;
  if (tools) {
    const std::string field = "\"tools\":" + input.tools.json;
    options.extraJson = input.templateVariables.size() <= 2
                            ? "{" + field + "}"
                            : "{" + field + "," + input.templateVariables.substr(1);
  }
  return model.chatTemplate()->render(input.messages, options);
}

/// The grammar that a request asks for. JSON may come after reasoning, if the model reasons; the
/// other kinds are of the whole answer, and leave no room for it.
static Outcome<std::shared_ptr<const text::Grammar>>
grammarOf(ServedModel &model, AskedGrammar asked, text::OutputFormat &format) {
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
  ServedModel &model = *generation.model;
  auto text = renderChat(model, input);
  if (!text)
    return apiError(text.error(), "messages");
  auto ids = model.session().encodeToFit(*text, runtime::PromptText::Rendered);
  if (!ids)
    return apiError(ids.error(), "messages");
  ChatPrompt prompt;
  prompt.ids = std::move(*ids);
  prompt.format = model.outputFormat();
  prompt.format.reasoningOpen = text::endsInReasoning(prompt.format, *text);
  if (input.grammar) {
    auto grammar = grammarOf(model, *input.grammar, prompt.format);
    if (!grammar)
      return grammar.error();
    generation.request.grammar = std::move(*grammar);
  }
  const bool tools = input.tools.choice != Tools::Choice::None;
  if (tools && (prompt.format.tools.empty() || needsPlainTools(model, input)))
    prompt.format.tools = kPlainToolFormat;
  generation.request.showSpecial = tools || !prompt.format.reasoning.empty();
  if (!tools)
    return prompt;
  prompt.tools = input.tools.names;
  if (input.tools.choice != Tools::Choice::Required)
    return prompt;
  if (generation.request.grammar)
    return ApiError{400, "tool_choice: cannot be given together with response_format",
                    "tool_choice", ""};
  auto grammar =
      text::toolGrammar(prompt.format, input.tools.json, input.tools.forced,
                        input.tools.parallel && input.tools.forced.empty(), model.tokenizer());
  if (!grammar)
    return apiError(grammar.error(), "tool_choice");
  auto compiled = model.grammar(text::GrammarKind::Lark, grammar->lark);
  if (!compiled)
    return apiError(compiled.error(), "tools");
  generation.request.grammar = std::move(*compiled);
  return prompt;
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
      tools(prompt.tools) {}

text::ChatOutputParser &ChatAnswer::parserOf(int32_t choice) {
  if (parsers.empty())
    parsers.resize(size_t(choices()));
  auto &parser = parsers[size_t(choice)];
  if (!parser)
    parser = std::make_unique<text::ChatOutputParser>(format, tools);
  return *parser;
}

void ChatAnswer::token(const service::Output &output) {
  auto pieces = parserOf(output.choice).push(output.text);
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
  for (const text::OutputPiece &one : parser.finish())
    piece(output.choice, one, nullptr);
  choiceEnded(output.choice, output, parser.toolCalls());
}

} // namespace ingot::api
