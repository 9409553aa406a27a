//===- ChatAnswer.h - A chat's answer as content, reasoning and calls ------===//
//
// Code shared by /v1/chat/completions, /v1/responses and /v1/messages. It turns messages into a
// prompt, and the generated text into pieces (text/ChatOutput.h). Each route defines how pieces are
// written.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/AnswerStream.h"
#include "runtime/server/api/ChatMessages.h"
#include "runtime/server/api/Routes.h"

namespace ingot::api {

/// The inputs of a chat's prompt.
struct ChatInput {
  std::string ownTemplate; ///< the request's template; "": the model's
  std::string messages;    ///< JSON array
  Tools tools;
  std::string templateVariables; ///< a JSON object of further variables, or ""
  bool toolMessages = false;     ///< the messages contain tool calls or their results
  bool generationPrompt = true;
  bool continueLast = false;           ///< the answer continues the last message, an assistant's
  std::optional<AskedGrammar> grammar; ///< grammar of the answer
};

/// Joins the fields of two JSON objects; "" counts as an empty object. If a name occurs twice,
/// templates use the later value.
std::string joinObjects(std::string_view first, std::string_view later);

/// Reads chat_template, chat_template_kwargs, documents, add_generation_prompt and
/// continue_final_message.
void readTemplateFields(const Fields &body, const service::ServedModel &model, ChatInput &input);

/// Decides whether the answer continues a final assistant message, if neither add_generation_prompt
/// nor continue_final_message is given. On llama.cpp's paths it does. On OpenAI's it does not, and
/// the log reports that.
void continueLast(const Call &call, ChatInput &input);
/// Reads a chat from a body in OpenAI's format: messages, tools, template fields, switches for
/// reasoning. `mayContinue`: calls continueLast().
ChatInput readChat(Call &call, bool mayContinue);

/// Returns the template of a chat: the request's own, or a pointer to the model's, which the model
/// owns.
Result<std::shared_ptr<const text::ChatTemplate>> templateOf(const service::ServedModel &model,
                                                             const ChatInput &input);

/// Renders the prompt as text. E0521 if the model has no chat template.
Result<std::string> renderChat(const service::ServedModel &model, const ChatInput &input);
/// Renders and encodes the prompt. Control tokens in messages are text unless the server trusts
/// them. `toFit`: fails with E0505 if there are more tokens than the context holds. Encoding then stops
/// early (Session::encodeToFit).
Result<text::ChatTemplate::Encoded> encodeChat(const service::ServedModel &model,
                                               const ChatInput &input, bool toFit);

/// A prepared chat.
struct ChatPrompt {
  std::vector<int32_t> ids;
  text::ChatReading reading; ///< how to read the answer; the generation has the stop strings
};
/// Renders and encodes a chat, and sets the fields of the generation that tools and reasoning
/// require.
Outcome<ChatPrompt> prepareChat(Generation &generation, const ChatInput &input);
/// Answers {"input_tokens": n}, the number of tokens in a chat's prompt. `field`: the field named in
/// errors.
std::optional<ApiError> countPrompt(Call &call, const ChatInput &input, const char *field);
/// Submits the stream to the engine. `field`: the field named in errors about the prompt's length.
std::optional<ApiError> submitChat(Call &call, ChatPrompt prompt,
                                   std::shared_ptr<AnswerStream> stream, const char *field);

class ChatAnswer : public AnswerStream {
protected:
  ChatAnswer(Generation generation, std::shared_ptr<http::Responder> responder,
             const ChatPrompt &prompt);

  /// Writes a piece. `output` is the output that the piece came with. It is passed with the first
  /// piece of an output only, so that its id and log-probabilities are written once. It is null for
  /// the other pieces and at the end.
  virtual void piece(int32_t choice, const text::OutputPiece &piece,
                     const service::Output *output) = 0;
  /// Receives an output without pieces: its text is held back or is part of a mark.
  virtual void silent(int32_t choice, const service::Output &output) {}
  /// Called after the last piece. `toolCalls`: number of calls in the answer.
  virtual void choiceEnded(int32_t choice, const service::Output &output, int32_t toolCalls) = 0;

private:
  void token(const service::Output &output) final;
  void ended(const service::Output &output) final;
  /// Removes or merges reasoning in the pieces if reasoning is hidden or sent in one piece.
  void settleReasoning(int32_t choice, std::vector<text::OutputPiece> &pieces, bool last);

  /// State of a choice that hides its reasoning.
  struct Shown {
    std::vector<service::Output> silent; ///< outputs without pieces since the last one with pieces
    bool reasoned = false;               ///< the last output with pieces ended in reasoning
  };
  void give(const service::Output &output); ///< calls piece() for each piece, or silent()
  void hideLogprobs(service::Output &output);
  void giveSilent(Shown &shown, bool hidden);

  std::vector<std::string> heldReasoning; ///< by choice
  std::vector<Shown> shownOf;             ///< by choice
};

} // namespace ingot::api
