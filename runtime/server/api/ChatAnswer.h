//===- ChatAnswer.h - A chat's answer as content, reasoning and calls ------===//
//
// What /v1/chat/completions, /v1/responses and /v1/messages share: messages become a prompt, and
// the text that comes back becomes pieces (text/ChatOutput.h). How pieces are written is the
// route's.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/AnswerStream.h"
#include "runtime/server/api/ChatMessages.h"
#include "runtime/server/api/Routes.h"

namespace ingot::api {

/// What goes into a chat's prompt.
struct ChatInput {
  std::string ownTemplate; ///< of the request; "": the model's
  std::string messages;    ///< JSON array
  Tools tools;
  std::string templateVariables; ///< a JSON object of more variables, or ""
  bool toolMessages = false;     ///< the messages hold calls of tools, or their results
  bool generationPrompt = true;
  bool continueLast = false;           ///< the last message is the assistant's, to be gone on with
  std::optional<AskedGrammar> grammar; ///< of the answer
};

/// The fields of two JSON objects ("" is an empty one) as one. A template that reads a name twice
/// takes the later.
std::string joinObjects(std::string_view first, std::string_view later);

/// chat_template, chat_template_kwargs, documents, add_generation_prompt, continue_final_message.
void readTemplateFields(const Fields &body, const service::ServedModel &model, ChatInput &input);

/// Whether the answer goes on with the assistant's last message, where neither add_generation_prompt
/// nor continue_final_message says so: on llama.cpp's paths it does, on OpenAI's it does not, which
/// the log says.
void continueLast(const Call &call, ChatInput &input);
/// A chat as OpenAI's bodies have it: messages, tools, fields of the template, switches for
/// reasoning. `mayContinue`: as continueLast().
ChatInput readChat(Call &call, bool mayContinue);

/// The template of a chat: the request's own, or the model's, which the model outlives.
Result<std::shared_ptr<const text::ChatTemplate>> templateOf(const service::ServedModel &model,
                                                             const ChatInput &input);

/// The prompt as text. E0521 if the model has no chat template.
Result<std::string> renderChat(const service::ServedModel &model, const ChatInput &input);
/// And as ids. Control tokens that messages hold are text, unless the server trusts them. `toFit`:
/// E0505 where they are more than the context, which shows early (Session::encodeToFit).
Result<text::ChatTemplate::Encoded> encodeChat(const service::ServedModel &model,
                                               const ChatInput &input, bool toFit);

/// A chat that is ready to be answered.
struct ChatPrompt {
  std::vector<int32_t> ids;
  text::ChatReading reading; ///< of the answer; stop strings are those of the generation
};
/// Renders and tokenizes, and sets what tools and reasoning ask of the generation.
Outcome<ChatPrompt> prepareChat(Generation &generation, const ChatInput &input);
/// Answers {"input_tokens": n}: the ids of a chat's prompt. `field`: what errors name.
std::optional<ApiError> countPrompt(Call &call, const ChatInput &input, const char *field);
/// Hands the stream to the engine. `field`: what errors of the prompt's length name.
std::optional<ApiError> submitChat(Call &call, ChatPrompt prompt,
                                   std::shared_ptr<AnswerStream> stream, const char *field);

class ChatAnswer : public AnswerStream {
protected:
  ChatAnswer(Generation generation, std::shared_ptr<http::Responder> responder,
             const ChatPrompt &prompt);

  /// `output` is what the piece came with: its id and log-probabilities belong to the first piece
  /// of an output. Null at the end.
  virtual void piece(int32_t choice, const text::OutputPiece &piece,
                     const service::Output *output) = 0;
  /// An output that gave no piece (held back, or part of a mark).
  virtual void silent(int32_t choice, const service::Output &output) {}
  /// After the last piece. `toolCalls`: calls that the answer holds.
  virtual void choiceEnded(int32_t choice, const service::Output &output, int32_t toolCalls) = 0;

private:
  void token(const service::Output &output) final;
  void ended(const service::Output &output) final;
  /// What is left to write of pieces, where reasoning is hidden or comes in one piece.
  void settleReasoning(int32_t choice, std::vector<text::OutputPiece> &pieces, bool last);

  /// Of a choice whose reasoning is hidden.
  struct Shown {
    std::vector<service::Output> silent; ///< without pieces, since the last one that had some
    bool reasoned = false;               ///< that one ended in reasoning
  };
  void give(const service::Output &output); ///< its pieces, or that there are none
  void hideLogprobs(service::Output &output);
  void giveSilent(Shown &shown, bool hidden);

  std::vector<std::string> heldReasoning; ///< of each choice
  std::vector<Shown> shownOf;             ///< likewise
};

} // namespace ingot::api
