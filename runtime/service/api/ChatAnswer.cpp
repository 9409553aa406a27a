//===- ChatAnswer.cpp - From messages to a prompt, from text to pieces -----===//
#include "runtime/service/api/ChatAnswer.h"

#include "runtime/engine/JsonText.h"

namespace ingot::api {

Result<std::string> renderChat(const ServedModel &model, const ChatInput &input) {
  if (!model.chatTemplate())
    return Error{ExitCode::Usage, "E0521", "this model has no chat template",
                 "the checkpoint it was made from had none",
                 "give one: ingot serve --chat-template FILE.jinja"};
  text::ChatTemplate::Options options = model.templateTokens();
  options.addGenerationPrompt = !input.continueLast;
  std::string more = input.templateVariables;
  const bool tools = input.tools.choice != Tools::Choice::None && !input.tools.json.empty();
  if (tools) {
    std::string field = "\"tools\":" + input.tools.json;
    more = more.size() <= 2 ? "{" + field + "}" : "{" + field + "," + more.substr(1);
  }
  options.extraJson = std::move(more);
  return model.chatTemplate()->render(input.messages, options);
}

std::optional<ApiError> prepareChat(Generation &generation, const ChatInput &input) {
  const ServedModel &model = *generation.model;
  const text::OutputFormat &format = model.outputFormat();
  const bool tools = input.tools.choice != Tools::Choice::None;
  generation.request.showSpecial = tools || !format.reasoning.empty();
  if (!tools)
    return std::nullopt;
  if (format.tools.empty())
    return ApiError{400,
                    "tools: this model's chat template has no tools; --tool-format names a format "
                    "if the model knows one",
                    "tools", "unsupported_field"};
  if (input.tools.choice != Tools::Choice::Required)
    return std::nullopt;
  if (generation.request.grammar)
    return ApiError{400, "tool_choice: cannot be given together with response_format",
                    "tool_choice", ""};
  auto grammar =
      text::toolGrammar(format, input.tools.json, input.tools.forced, input.tools.parallel);
  if (!grammar)
    return apiError(grammar.error(), "tool_choice");
  auto vocabulary = generation.model->vocabulary();
  if (!vocabulary)
    return apiError(vocabulary.error(), "tool_choice");
  auto compiled = text::Grammar::compile(**vocabulary, text::GrammarKind::Lark, grammar->lark);
  if (!compiled)
    return apiError(compiled.error(), "tools");
  generation.request.grammar = std::move(*compiled);
  return std::nullopt;
}

std::optional<ApiError> submitChat(Call &call, const ChatInput &input,
                                   std::shared_ptr<AnswerStream> stream) {
  const ServedModel &model = *call.generation.model;
  auto text = renderChat(model, input);
  if (!text)
    return apiError(text.error(), "messages");
  auto ids = model.tokenizer()->encode(*text, /*parseSpecial=*/true);
  if (!ids)
    return apiError(ids.error(), "messages");
  std::vector<std::vector<int32_t>> prompts;
  prompts.push_back(std::move(*ids));
  auto error =
      AnswerStream::submit(std::move(stream), std::move(prompts), std::move(call.place), call.post);
  if (error && error->param == "prompt")
    error->param = "messages";
  return error;
}

ChatAnswer::ChatAnswer(Generation generation, std::shared_ptr<http::Responder> responder,
                       const ChatInput &input)
    : AnswerStream(std::move(generation), std::move(responder)) {
  if (input.tools.choice != Tools::Choice::None)
    tools = input.tools.names;
}

text::ChatOutputParser &ChatAnswer::parserOf(int32_t choice) {
  if (parsers.empty())
    parsers.resize(size_t(choices()));
  auto &parser = parsers[size_t(choice)];
  if (!parser)
    parser = std::make_unique<text::ChatOutputParser>(asked().model->outputFormat(), tools);
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
