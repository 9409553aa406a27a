//===- ChatOutput.h - Reasoning and tool calls in a model's output ----------===//
//
// A chat model marks its reasoning and its tool calls in its text, each family in its own way. A
// parser takes the text as it streams and returns its parts, without ever showing part of a mark:
//
//   "Let me see.<tool_call>\n{\"name\": \"f\", …"  ->  Content "Let me see."
//                                                     ToolCall 0 name "f", Arguments "{…" as they
//                                                     come
//
// A mark counts only where its format allows it. A reasoning mark counts once, at its place, and a
// call mark only if a call of a known tool follows. Everything else is the model's text, including
// every blank.
//
// The formats are rows of two tables (OutputFormats.h). To add one, see docs/extending.md.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"
#include "runtime/text/ToolSet.h"

namespace ingot::text {

/// A piece of a part of an answer. The pieces of one kind, or of one tool call, joined, form the part.
struct OutputPiece {
  enum class Kind : uint8_t { Content, Reasoning, ToolName, ToolArguments };
  Kind kind;
  int32_t toolCall = -1; ///< 0, 1, … for the last two kinds; a name comes in one piece, before
                         ///< arguments
  std::string text;      ///< ToolArguments: JSON text of an object
};

/// Describes how a model marks tool calls and reasoning. An empty name means that it does not mark them.
struct OutputFormat {
  std::string tools;          ///< a name of toolFormatNames(), or ""
  std::string reasoning;      ///< a name of reasoningFormatNames(), or ""
  bool reasoningOpen = false; ///< the template opens reasoning, so the answer begins inside it
  bool answerOpen = false;    ///< the template writes the mark that opens the answer
};
/// Completes truncated arguments to a valid JSON object.
std::string closedArguments(std::string_view begun);
/// Returns the names of the known formats.
std::span<const std::string_view> toolFormatNames();
std::span<const std::string_view> reasoningFormatNames();
/// Detects the format from the marks that a chat template writes.
OutputFormat detectOutputFormat(std::string_view chatTemplate);
/// Returns, for example, "tools: hermes; reasoning: think". An unknown part is "none known".
std::string describeFormat(const OutputFormat &format);
/// Returns the format of one answer. The end of the rendered prompt shows whether reasoning or the
/// answer is open. The template alone does not, because variables such as enable_thinking decide.
OutputFormat formatBehind(OutputFormat format, std::string_view prompt);
/// The settings with which an answer is parsed.
struct ChatReading {
  OutputFormat format;
  ToolSet tools; ///< tools that may be called; a call of any other name is content. Empty: calls
                 ///< are not parsed
  /// Strings that end the answer when they appear in its content. They are never shown, not even in
  /// part. They have no effect in reasoning and calls.
  std::vector<std::string> stops;
  bool showStop = false; ///< show the stop string that ends the answer
  bool oneCall = false;  ///< the answer ends after its first call
  bool mustCall = false; ///< apart from its reasoning, the whole answer consists of calls
};

class ChatOutputParser {
public:
  explicit ChatOutputParser(std::shared_ptr<const ChatReading> reading);
  ~ChatOutputParser();
  ChatOutputParser(ChatOutputParser &&) noexcept;
  /// Takes the text of the next token (special tokens spelt out). `mayStop`: stop strings are
  /// searched for in it.
  std::vector<OutputPiece> push(std::string_view text, bool mayStop = true);
  /// Ends the answer and returns the text that was held back. A malformed or unfinished call becomes
  /// content. If its name was already returned, its arguments are closed instead, so that they are
  /// JSON. `cut`: the token limit or the client ended the answer. Arguments are then returned as far as they came,
  /// without being closed. If the name of a call is not known yet, its beginning is then returned only if the answer
  /// may be text, that is, if no call precedes it and none is required.
  std::vector<OutputPiece> finish(bool cut = false);
  int32_t toolCalls() const;       ///< calls begun so far
  bool ended() const;              ///< a stop string or the only allowed call has ended the answer;
                                   ///< nothing is returned from then on
  const std::string &stop() const; ///< the stop string that ended it, or ""
  /// Returns the number of reasoning tokens (calls of push()) so far, without the tokens of its marks.
  int64_t reasoningTokens() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The required shape of an answer, for answerGrammar().
struct AnswerShape {
  std::string_view tools{}; ///< a JSON array, in OpenAI's shape, of the tools that may be called;
                            ///< "": no calls
  std::string_view tool{};  ///< name of the tool that must be called; "": any
  bool mustCall = false;    ///< the model must call a tool; otherwise it may answer instead
  /// Any text is an answer, calls may appear anywhere in it, and `answer` is ignored. Arguments of tools
  /// without "strict": true are constrained only in syntaxes that write neither JSON nor bare text.
  bool anyText = false;
  bool parallel = true; ///< allow several calls
  /// The Lark source of the rule body that an answer must match (`%json {…}`, `/…/`); "": any text.
  std::string answer{};
};

/// Returns a regex as a Lark terminal: between slashes, with slashes and line feeds escaped.
std::string larkRegex(std::string_view regex);
/// Returns the Lark source (GrammarKind::Lark, llguidance) that makes a model of that format call a
/// tool or answer in a shape. Calls are spelt as in the format, with arguments according to the
/// tools' schemas. A model that reasons may do so first. `tokenizer`: marks that are its special
/// tokens are written as special tokens. Without it they are written as text, which such a model does
/// not expect. Fails with E0631 if calls are requested but the format has none, and with E0632 if
/// `tools` is malformed or `tool` is not one of them. Errors in a schema are reported when the grammar
/// is compiled.
Result<std::string> answerGrammar(const OutputFormat &format, const AnswerShape &shape,
                                  const Tokenizer *tokenizer = nullptr);

} // namespace ingot::text
